"""Programs over Canelé's own API that match those of bench/programs over MPI. Owns the list of them, and
their figures."""

import json
import os

from . import places, rounds

# Examples that print figures like the programs of bench/programs.
EXAMPLES = {"cestac": "examples/exchange", "laplace": "examples/sweep"}


def gauss(quick):
    """Yields runs of the application: its words, and the function that makes figures of its output."""
    for size in (256,) if quick else (256, 512):
        for pivoting in ("none", "partial"):
            yield ["gauss", "--size", size, "--pivoting", pivoting], gauss_figures


def gauss_figures(found):
    bytes_ = 8 * found["size"] ** 2
    figures = {(found["pivoting"], bytes_): (found["seconds"] * 1e3, "ms")}
    if found["pivoting"] == "partial":
        figures["exchange", bytes_] = (found["exchange_us"] * 1e3, "ns")
    return figures


def mandelbrot(quick):
    for columns, rows in ((960, 540),) if quick else ((960, 540), (1920, 1080)):
        yield ["mandelbrot", "--size", f"{columns}x{rows}", "--output", os.devnull], mandelbrot_figures


def mandelbrot_figures(found):
    return {("picture", 3 * found["columns"] * found["rows"]): (found["seconds"] * 1e3, "ms")}


# Applications that print JSON.
APPLICATIONS = {"gauss": gauss, "mandelbrot": mandelbrot}


def runner(participant, quick):
    """Returns the function that runs the programs over Canelé's own API; it returns no figures for a program
    without such a form."""

    def run(program, ranks):
        if program in EXAMPLES:
            return rounds.run(participant, places.native(participant.place, EXAMPLES[program]), program, ranks, quick)
        found = {}
        for words, figures in APPLICATIONS.get(program, lambda _: ())(quick):
            binary = places.native(participant.place, words[0])
            line = [binary, *map(str, words[1:]), "--json", "--quiet"]
            out = rounds.output(participant, ranks, line, rounds.limit(program))
            found |= figures(json.loads(out.splitlines()[-1]))
        return found

    return run
