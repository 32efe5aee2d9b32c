"""Pictures of the figures. Runs in an environment that has matplotlib, as a program of its own: plot.py FIGURES.json FOLDER."""

import json
import pathlib
import statistics
import sys

COLOURS = {"limit": "#888888", "mpich": "#4477aa", "intel": "#228833", "openmpi": "#cc8800", "canele": "#cc3344", "native": "#882255"}
TITLES = {"limit": "limit", "mpich": "MPICH", "intel": "Intel MPI", "openmpi": "Open MPI", "canele": "Canelé", "native": "own API"}


def main(kept, folder):
    import matplotlib

    matplotlib.use("svg")
    # Text stays text, and the same figures give the same file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "canele", "font.size": 9})
    from matplotlib import pyplot

    kept = json.loads(pathlib.Path(kept).read_text(encoding="utf-8"))
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for program, ranks in dict.fromkeys((entry["program"], entry["ranks"]) for entry in kept["figures"]):
        entries = [entry for entry in kept["figures"] if (entry["program"], entry["ranks"]) == (program, ranks)]
        draw = curves if program == "pingpong" else bars
        figure = draw(pyplot, entries)
        figure.suptitle(f"{program}, {ranks} ranks, {kept['about']['network']}; medians of {kept['rounds']} rounds")
        path = folder / f"{program}-{ranks}.svg"
        figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
        pyplot.close(figure)
        print(path)


def medians(entry):
    """{participant: median} of one figure."""
    values = {name: [value for value in values if value is not None] for name, values in entry["values"].items()}
    return {name: statistics.median(values[name]) for name in COLOURS if values.get(name)}


def curves(pyplot, entries):
    """Time and bandwidth over the size, for each kind of memory."""
    kinds = list(dict.fromkeys(entry["figure"] for entry in entries))
    figure, axes = pyplot.subplots(2, len(kinds), figsize=(5.5 * len(kinds), 7), squeeze=False)
    for column, kind in enumerate(kinds):
        for name in COLOURS:
            points = [(entry["bytes"], medians(entry)) for entry in entries if entry["figure"] == kind and entry["bytes"]]
            points = sorted((bytes_, found[name]) for bytes_, found in points if name in found)
            if not points:
                continue
            sizes, times = zip(*points)
            style = {"color": COLOURS[name], "label": TITLES[name], "marker": ".", "linestyle": "--" if name == "limit" else "-"}
            axes[0][column].loglog(sizes, [ns / 1e3 for ns in times], **style)
            axes[1][column].semilogx(sizes, [bytes_ / ns for bytes_, ns in points], **style)
        for row, label in enumerate(("time one way, µs", "GB/s")):
            axis = axes[row][column]
            axis.set(xlabel=f"bytes, {kind} memory", ylabel=label)
            axis.set_xscale("log", base=2)
            axis.grid(alpha=0.3)
        axes[0][column].legend()
    return figure


def bars(pyplot, entries):
    """A group of bars for each figure, one picture for each unit."""
    units = list(dict.fromkeys(entry["unit"] for entry in entries))
    most = max(sum(entry["unit"] == unit for entry in entries) for unit in units)
    figure, axes = pyplot.subplots(len(units), 1, figsize=(max(6, 0.8 * most), 3.6 * len(units)), squeeze=False)
    for axis, unit in zip(axes[:, 0], units):
        mine = [entry for entry in entries if entry["unit"] == unit and set(entry["values"]) - {"limit"}]
        names = [name for name in COLOURS if any(name in medians(entry) for entry in mine)]
        for number, name in enumerate(names):
            at = [place + (number - len(names) / 2) * 0.8 / len(names) for place in range(len(mine))]
            heights = [medians(entry).get(name, 0) / (1e3 if unit == "ns" else 1) for entry in mine]
            axis.bar(at, heights, 0.8 / len(names), align="edge", color=COLOURS[name], label=TITLES[name])
        labels = [f"{entry['figure']}\n{entry['bytes']}" if entry["bytes"] else entry["figure"] for entry in mine]
        axis.set_xticks(range(len(mine)), labels, rotation=60 if len(mine) > 8 else 0, fontsize=7)
        axis.set_ylabel("µs" if unit == "ns" else unit)
        if unit != "%":
            axis.set_yscale("log")
        axis.grid(axis="y", alpha=0.3)
        axis.legend(fontsize=7)
    return figure


if __name__ == "__main__":
    main(*sys.argv[1:])
