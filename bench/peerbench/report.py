"""The report: tables in Markdown, and JSON. Owns the format of numbers."""

import datetime
import json
import math
import os
import platform
import statistics

from . import places, programs
from .medians import best, median, paired, spread, there

NOISY = 0.10


def about(wanted, canele):
    """Under what circumstances it was measured."""
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        models = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.machine(),
        "processors": len(os.sched_getaffinity(0)),
        "date": datetime.date.today().isoformat(),
        "system": f"{platform.system()} {platform.release()}",
        "network": "tcp" if wanted.tcp else "shared memory",
        "file": f"{wanted.megabytes} MB in {wanted.directory.resolve()}" if "io" in wanted.programs else None,
        "bound": not wanted.unbound,
        "load": wanted.load,
        "participants": {name: places.PEERS.get(name, canele) for name in wanted.only},
    }


def to_json(circumstances, figures):
    return json.dumps(
        {"about": circumstances, "rounds": figures.rounds, "failures": figures.failures, "figures": figures.json()},
        indent=1,
    )


def markdown(circumstances, figures):
    """Everything, one table for each program and number of ranks."""
    names = [name for name in places.PARTICIPANTS if name in circumstances["participants"]]
    load = circumstances.get("load", 0)
    lines = [
        f"{circumstances['processors']} processors ({circumstances['processor']}), {circumstances['system']}, "
        f"{circumstances['network']}; medians of {figures.rounds} rounds in which all took turns, `!` where the rounds "
        f"spread by more than {NOISY:.0%}; ratios are medians of ratios within a round.",
    ]
    if not circumstances.get("bound", True):
        lines[0] += " No rank is bound to a processor."
    if circumstances.get("file"):
        lines[0] += f" The file of the program io: {circumstances['file']}."
    if load:
        lines[0] += f" Beside {load} computing processes; in parentheses the worst round."
    for program, ranks in dict.fromkeys((key[0], key[1]) for key in figures.all):
        entries = {key[2:]: entry for key, entry in figures.all.items() if key[:2] == (program, ranks)}
        # The limits also measure figures that the program does not have.
        entries = {key: entry for key, entry in entries.items() if set(entry[1]) - {"limit"}}
        lines += ["", f"### {programs.ALL[program].title}, {ranks} ranks", "", *of_program(entries, names, program, load > 0)]
        lines += [part for text in [standing(entries, names)] if text for part in ("", text)]
        unable = {name: why for name, why in programs.ALL[program].unable.items() if name in names}
        for name, why in unable.items():
            lines += ["", f"Without {places.TITLES[name]}: {why}."]
    if figures.failures:
        lines += ["", "Failed:", "", *(f"- {text}" for text in figures.failures)]
    return "\n".join(lines) + "\n"


def of_program(entries, names, program, loaded):
    """Returns the lines of the table of a program."""
    return table(entries, names, program in programs.TRANSFERS, loaded, programs.ALL[program].number)


def table(entries, names, transfers, loaded, number="bytes"):
    """Returns the lines of a table; entries are {(figure, number): (unit, {participant: values})}."""
    limited = any("limit" in values for _, values in entries.values())
    # Few programs have a form over Canelé's own API.
    names = [name for name in names if name != "native" or any(name in values for _, values in entries.values())]
    ours, peers = "canele" in names, [name for name in names if name not in places.OURS]
    columns = (["limit"] if limited else []) + names
    heads = ["", number, *(places.TITLES[name] for name in columns)]
    heads += ["to the best peer"] if ours and peers else []
    heads += [f"{places.TITLES['native']} to the best peer"] if "native" in names and peers else []
    heads += ["to the limit"] if ours and limited else []
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    for (figure, bytes_), (unit, values) in entries.items():
        more = unit in programs.MORE_IS_BETTER
        cells = [figure, size(bytes_) if bytes_ else ""]
        cells += [cell(values.get(name), unit, bytes_ if transfers else 0, loaded) for name in columns]
        for name in [name for name in places.OURS if name in names and peers]:
            peer = best(values, peers, more)
            # The ratio of two shares in percent says nothing.
            ratio = paired(values.get(name), values.get(peer)) if unit != "%" else None
            cells.append(f"{ratio:.2f} × {places.TITLES[peer]}" if ratio is not None else "")
        if ours and limited:
            ratio = paired(values.get("canele"), values.get("limit"))
            cells.append(f"{ratio:.2f}" if ratio is not None else "")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def standing(entries, names):
    """Compares Canelé with the peers of a table, in one sentence: the geometric mean of its times to the best
    peer's, and how many figures are behind. For rates the inverse counts. Returns nothing if there is no peer
    to compare with."""
    peers = [name for name in names if name not in places.OURS]
    ratios = {}
    for (figure, bytes_), (unit, values) in entries.items():
        more = unit in programs.MORE_IS_BETTER
        ratio = paired(values.get("canele"), values.get(best(values, peers, more))) if unit != "%" else None
        if ratio:
            ratios[f"{figure} {size(bytes_)}" if bytes_ else figure] = 1 / ratio if more else ratio
    if not ratios:
        return None
    mean = statistics.geometric_mean(ratios.values())
    behind = sorted((name for name in ratios if ratios[name] > 1), key=ratios.get, reverse=True)
    text = f"{places.TITLES['canele']} to the best peer: geometric mean of times {mean:.2f}, {len(behind)} of {len(ratios)} behind"
    worst_of_all = ", ".join(f"{name} {ratios[name]:.2f}" for name in behind[:3])
    return f"{text}: {worst_of_all}{', …' if len(behind) > 3 else ''}." if behind else f"{text}."


def cell(values, unit, bytes_, loaded):
    middle = median(values)
    if middle is None:
        return "–"
    if loaded:
        return f"{quantity(middle, unit, 0)} ({quantity(worst(values, unit), unit, 0)})"
    mark = " !" if spread(values) > NOISY and unit != "%" else ""
    return quantity(middle, unit, bytes_) + mark


def worst(values, unit):
    return (min if unit in programs.MORE_IS_BETTER else max)(there(values))


def quantity(value, unit, bytes_):
    """Formats a value for readers; a time of a large transfer gets its bandwidth too."""
    if unit == "ns":
        text = f"{digits(value)} ns" if value < 1e3 else f"{digits(value / 1e3)} µs"
        if value >= 1e6:
            text = f"{digits(value / 1e6)} ms"
        return f"{text} ({digits(bytes_ / value)} GB/s)" if bytes_ >= 1 << 16 and value > 0 else text
    if unit == "%":
        return f"{value:.0f} %"
    return f"{digits(value)} {unit}"


def digits(value):
    """Formats a number with three digits and no exponent."""
    for decimals, from_ in ((0, 100), (1, 10), (2, 1)):
        if abs(value) >= from_:
            return f"{value:.{decimals}f}"
    decimals = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:.{decimals}f}"


def size(bytes_):
    for unit, factor in (("MB", 1 << 20), ("KB", 1 << 10)):
        if bytes_ >= factor and bytes_ % factor == 0:
            return f"{bytes_ // factor} {unit}"
    return str(bytes_)
