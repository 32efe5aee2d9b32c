"""Pictures of the figures. Runs in an environment that has matplotlib, as a program of its own: plot.py FIGURES.json FOLDER."""

import json
import pathlib
import sys

# The program runs isolated from installed packages, this one included.
sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from peerbench import medians, places, programs, report  # noqa: E402

# A participant has the same colour in every picture.
COLOURS = {"limit": "#888888", "mpich": "#4477aa", "intel": "#228833", "openmpi": "#cc8800", "canele": "#cc3344", "native": "#882255"}
TITLES = {"limit": "limit"} | places.TITLES


def main(kept, folder):
    import matplotlib

    matplotlib.use("svg")
    # Text stays text in SVG, and equal figures give equal files.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "canele", "font.size": 9})
    from matplotlib import pyplot

    kept = json.loads(pathlib.Path(kept).read_text(encoding="utf-8"))
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for program, ranks in dict.fromkeys((entry["program"], entry["ranks"]) for entry in kept["figures"]):
        entries = [entry for entry in kept["figures"] if (entry["program"], entry["ranks"]) == (program, ranks)]
        draw = curves if program == "pingpong" else bars
        figure = draw(pyplot, entries)
        figure.suptitle(f"{program}, {ranks} ranks: {finding(entries)}\n", fontsize=11)
        figure.text(0.5, 0, circumstances(kept), ha="center", va="top", fontsize=7, color="#555555")
        path = folder / f"{program}-{ranks}.svg"
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
        pyplot.close(figure)
        print(path)


def circumstances(kept):
    about = kept["about"]
    words = [f"{about['processors']} processors ({about['processor']})", about["system"], about["network"], about.get("date"),
             None if about["bound"] else "no rank bound", f"beside {about['load']} computing processes" if about["load"] else None,
             f"medians of {kept['rounds']} rounds, from the best to the worst one"]
    return ", ".join(word for word in words if word)


def finding(entries):
    """Returns the caption of a picture: Canelé compared with the best of the others."""
    told = []
    for entry in entries:
        more, values = entry["unit"] in programs.MORE_IS_BETTER, entry["values"]
        best = medians.best(values, places.PEERS, more)
        ratio = medians.paired(values.get("canele"), values.get(best))
        if ratio:
            told.append((entry, 1 / ratio if more else ratio, best))
    if not told:
        return "no two to compare"
    if len(told) <= 2 or entries[0]["program"] == "pingpong":
        ends = [one for one in told if one[0]["figure"] == told[0][0]["figure"]]
        ends = [ends[0], ends[-1]] if len(ends) > 1 else ends
        size = lambda bytes_: f"{report.size(bytes_)}{'' if bytes_ >= 1 << 10 else ' B'}: " if bytes_ else ""
        return "; ".join(f"{size(entry['bytes'])}Canelé {words(ratio)} {TITLES[best]}" for entry, ratio, best in ends)
    ahead = sum(ratio <= 1 for _, ratio, _ in told)
    middle = medians.median([ratio for _, ratio, _ in told])
    return f"Canelé ahead of the best of the others in {ahead} of {len(told)}, usually {words(middle)} it"


def words(ratio):
    return f"{1 / ratio:.1f} times as fast as" if ratio <= 0.95 else f"{ratio:.1f} times as slow as" if ratio >= 1.05 else "as fast as"


def values_of(entry, name):
    return medians.there(entry["values"].get(name))


def is_limit(entry):
    """Returns true if no participant is faster than the limit of this entry. A participant that moves data in another way than the bare
    loop may be."""
    more = entry["unit"] in programs.MORE_IS_BETTER
    limit = medians.median(values_of(entry, "limit"))
    others = [medians.median(values_of(entry, name)) for name in entry["values"] if name != "limit" and values_of(entry, name)]
    return all(limit >= other if more else limit <= other for other in others)


def plain(axis, which, text):
    """Formats an axis in plain numbers instead of powers."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis = getattr(axis, which)
    axis.set_major_formatter(FuncFormatter(text))
    axis.set_minor_formatter(NullFormatter())


def curves(pyplot, entries):
    """Time and bandwidth over the size, for each kind of memory."""
    kinds = list(dict.fromkeys(entry["figure"] for entry in entries))
    figure, axes = pyplot.subplots(2, len(kinds), figsize=(5.5 * len(kinds), 7), squeeze=False)
    for column, kind in enumerate(kinds):
        top, bottom = axes[0][column], axes[1][column]
        top.set_xscale("log", base=2)
        bottom.set_xscale("log", base=2)
        top.set_yscale("log")
        for name in COLOURS:
            mine = sorted((entry for entry in entries if entry["figure"] == kind and entry["bytes"] and values_of(entry, name)),
                          key=lambda entry: entry["bytes"])
            if not mine:
                continue
            sizes = [entry["bytes"] for entry in mine]
            if name == "limit":
                mine = [entry for entry in mine if is_limit(entry)]
                sizes = [entry["bytes"] for entry in mine]
            times = [[value / 1e3 for value in sorted(values_of(entry, name))] for entry in mine]
            middle = [medians.median(values) for values in times]
            style = {"color": COLOURS[name], "label": TITLES[name], "marker": ".", "linestyle": "--" if name == "limit" else "-"}
            top.plot(sizes, middle, **style)
            top.fill_between(sizes, [v[0] for v in times], [v[-1] for v in times], color=COLOURS[name], alpha=0.15, linewidth=0)
            bottom.plot(sizes, [bytes_ / us / 1e3 for bytes_, us in zip(sizes, middle)], **style)
        for axis, label in ((top, "time one way, µs"), (bottom, "GB/s")):
            axis.set(xlabel=f"bytes, {kind} memory", ylabel=label)
            plain(axis, "xaxis", lambda value, _: report.size(int(value)))
            axis.grid(alpha=0.3)
        plain(top, "yaxis", lambda value, _: f"{value:g}")
        bottom.set_yscale("log")
        plain(bottom, "yaxis", lambda value, _: f"{value:g}")
        top.legend()
    return figure


def bars(pyplot, entries):
    """A group of bars for each figure, one picture for each unit."""
    units = list(dict.fromkeys(entry["unit"] for entry in entries))
    most = max(sum(entry["unit"] == unit for entry in entries) for unit in units)
    figure, axes = pyplot.subplots(len(units), 1, figsize=(max(6, 0.8 * most), 3.6 * len(units)), squeeze=False)
    for axis, unit in zip(axes[:, 0], units):
        mine = [entry for entry in entries if entry["unit"] == unit and set(entry["values"]) - {"limit"}]
        names = [name for name in COLOURS if any(values_of(entry, name) for entry in mine)]
        for number, name in enumerate(names):
            there = [(place, entry) for place, entry in enumerate(mine) if values_of(entry, name) and (name != "limit" or is_limit(entry))]
            at = [place + (number - len(names) / 2) * 0.8 / len(names) for place, _ in there]
            values = [[value / (1e3 if unit == "ns" else 1) for value in sorted(values_of(entry, name))] for _, entry in there]
            heights = [medians.median(one) for one in values]
            spread = [[height - one[0] for height, one in zip(heights, values)], [one[-1] - height for height, one in zip(heights, values)]]
            axis.bar(at, heights, 0.8 / len(names), align="edge", color=COLOURS[name], label=TITLES[name], yerr=spread,
                     error_kw={"elinewidth": 0.6, "ecolor": "#333333"})
        labels = [f"{entry['figure']}\n{report.size(entry['bytes'])}" if entry["bytes"] else entry["figure"] for entry in mine]
        axis.set_xticks(range(len(mine)), labels, rotation=60 if len(mine) > 8 else 0, fontsize=7)
        axis.set_ylabel("µs" if unit == "ns" else unit)
        if unit != "%":
            axis.set_yscale("log")
            plain(axis, "yaxis", lambda value, _: f"{value:g}")
        axis.grid(axis="y", alpha=0.3)
        axis.legend(fontsize=7)
    return figure


if __name__ == "__main__":
    main(*sys.argv[1:])
