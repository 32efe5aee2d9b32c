"""Rounds: in each one every participant measures every program, in turn. Owns the order, the deadlines and the figures."""

import contextlib
import re
import signal
import subprocess
import time

from . import programs

LINE = re.compile(r"^(\S+) (\d+) (\S+) (ns|ms|s|M/s|GB/s|%)$")
BLOCK_MS, QUICK_BLOCK_MS = 20, 10


class Figures:
    """All that was measured: for each figure and participant one value a round, None where there is none."""

    def __init__(self, rounds):
        self.rounds = rounds
        # (program, ranks, figure, bytes) -> its unit, and {participant: values}
        self.all = {}
        self.failures = []

    def put(self, round_, participant, program, ranks, found):
        for (figure, bytes_), (value, unit) in found.items():
            _, values = self.all.setdefault((program, ranks, figure, bytes_), (unit, {}))
            values.setdefault(participant, [None] * self.rounds)[round_] = value

    def json(self):
        keys = ("program", "ranks", "figure", "bytes", "unit", "values")
        return [dict(zip(keys, (*key, unit, values))) for key, (unit, values) in self.all.items()]

    @classmethod
    def from_json(cls, kept, wanted):
        """What was kept of the programs in `wanted`."""
        figures = cls(kept["rounds"])
        for entry in (entry for entry in kept["figures"] if entry["program"] in wanted):
            key = (entry["program"], entry["ranks"], entry["figure"], entry["bytes"])
            figures.all[key] = (entry["unit"], entry["values"])
        figures.failures = kept["failures"]
        return figures


def run_all(wanted, turns, limits, tell):
    """Measures everything, with `turns` as for `take_turns`; `tell` shows the progress."""
    runs = [(name, ranks) for name in wanted.programs for ranks in programs.ranks_of(name, wanted)]
    return take_turns(wanted.rounds, runs, turns, [("limit", limits.figures)] if limits else [], tell)


def take_turns(rounds, runs, turns, last, tell):
    """The figures of `runs`, pairs of a program and a number of ranks. In each round the participants of `turns`, pairs of a name
    and what measures, begin at another one; those of `last` come after them."""
    figures = Figures(rounds)
    for round_ in range(rounds):
        # No program is always the first, or always behind the same one.
        first = round_ % len(turns)
        order = turns[first:] + turns[:first] + last
        for program, ranks in runs:
            for name, measure in order:
                where = f"round {round_ + 1}/{rounds}  {program} on {ranks}: {name}"
                tell(where)
                try:
                    figures.put(round_, name, program, ranks, measure(program, ranks))
                except (Failed, OSError, subprocess.SubprocessError, KeyError, ValueError) as error:
                    # The others go on.
                    figures.failures.append(f"{where}: {error}")
                    tell(f"FAILED {where}: {error}\n")
    return figures


class Failed(Exception):
    """A run came to nothing; the text says why."""


def runner(name, participant, folder, quick, words):
    """What runs the programs of a participant of this name; `words` are those that a program takes beside the block's time, by its name."""

    def run_one(program, ranks):
        variables = programs.ALL[program].variables.get(name)
        return run(participant, folder / program, program, ranks, quick, words.get(program, ()), variables)

    return run_one


def limit(program):
    """Seconds that one run of a program may take."""
    return programs.ALL[program].limit


def arguments(quick, words=()):
    """Those of a program."""
    return [str(QUICK_BLOCK_MS if quick else BLOCK_MS), str(int(quick)), *words]


def figures_of(out):
    """What a program printed: {(figure, bytes): (value, unit)}."""
    found = {}
    for text in out.splitlines():
        if match := LINE.match(text):
            figure, bytes_, value, unit = match.groups()
            found[figure, int(bytes_)] = (float(value), unit)
    if not found:
        raise Failed(f"printed no figures: {out[-200:]}")
    return found


def run(participant, binary, program, ranks, quick, words=(), variables=None):
    """One run of a program: {(figure, bytes): (value, unit)}."""
    begin = time.monotonic()
    with participant.network.crossed() if participant.network else contextlib.nullcontext():
        found = figures_of(output(participant, ranks, [binary, *arguments(quick, words)], limit(program), variables=variables))
    if program == "init":
        found["job", 0] = ((time.monotonic() - begin) * 1e3, "ms")
    return found


def output(participant, ranks, words, limit, folder=None, variables=None):
    """What `words` print on so many ranks within `limit` seconds, in a folder and with more variables if these are given."""
    process = subprocess.Popen(
        participant.line(ranks, words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=participant.environment() | (variables or {}),
        cwd=folder,
        text=True,
        errors="replace",
    )
    try:
        out, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        end(process)
        raise Failed(f"took longer than {limit} s") from None
    except BaseException:
        end(process)
        raise
    if process.returncode:
        raise Failed(f"ended with status {process.returncode}: {' / '.join(out.splitlines()[-3:])}")
    return out


def end(process):
    """Politely: a launcher has ranks to end."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        process.send_signal(number)
        try:
            process.communicate(timeout=10)
            return
        except subprocess.TimeoutExpired:
            pass
