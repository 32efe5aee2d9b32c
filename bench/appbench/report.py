"""The report: one table in Markdown."""

from peerbench import places
from peerbench.report import NOISY, table


def markdown(circumstances, figures, wanted):
    """Returns the figures of all programs, and the failures."""
    names = [name for name in places.PARTICIPANTS if name in circumstances["participants"]]
    peers = ", ".join(f"{places.TITLES[name]} {of.split('==')[-1]}" for name, of in circumstances["participants"].items() if name != "canele")
    bound = "as the launchers do it" if circumstances["bound"] else "to no processor"
    lines = [
        f"{circumstances['processors']} processors ({circumstances['processor']}), {circumstances['system']}; {peers}; ranks are bound {bound}. "
        f"Medians of {figures.rounds} rounds in which all took turns, `!` where the rounds spread by more than {NOISY:.0%}; ratios are "
        "medians of ratios within a round.",
        "",
    ]
    entries = {}
    for (program, ranks, figure, _), entry in figures.all.items():
        entries[f"{wanted.programs[program].heading(wanted.quick)}: {figure}", ranks] = entry
    lines += table(entries, names, False, False, "ranks")
    if figures.failures:
        lines += ["", "Failed:", "", *(f"- {text}" for text in figures.failures)]
    return "\n".join(lines) + "\n"
