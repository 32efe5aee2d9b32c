"""Rounds: each participant measures each program once a round. Owns the order, the deadlines and the
figures."""

import contextlib
import re
import signal
import subprocess
import time

from . import programs

LINE = re.compile(r"^(\S+) (\d+) (\S+) (ns|ms|s|M/s|GB/s|%)$")
BLOCK_MS, QUICK_BLOCK_MS = 20, 10


class Figures:
    """All figures: for each figure and participant one value a round, None for a missing one."""

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
        """Returns the saved figures of the programs in `wanted`."""
        figures = cls(kept["rounds"])
        for entry in (entry for entry in kept["figures"] if entry["program"] in wanted):
            key = (entry["program"], entry["ranks"], entry["figure"], entry["bytes"])
            figures.all[key] = (entry["unit"], entry["values"])
        figures.failures = kept["failures"]
        return figures


def run_all(wanted, turns, limits, tell):
    """Measures all programs, with `turns` as for `take_turns`; `tell` shows the progress."""
    runs = [(name, ranks) for name in wanted.programs for ranks in programs.ranks_of(name, wanted)]
    return take_turns(wanted.rounds, runs, turns, [("limit", limits.figures)] if limits else [], tell)


def take_turns(rounds, runs, turns, last, tell):
    """Returns the figures of `runs`, pairs of a program and a number of ranks. `turns` has pairs of a
    participant's name and its measuring function. Each round begins at another participant; those of `last`
    come after them. Ctrl-C and SIGTERM end the rounds early; the figures so far are returned."""
    figures = Figures(rounds)
    try:
        measure_rounds(figures, runs, turns, last, tell)
    except (KeyboardInterrupt, SystemExit):
        figures.failures.append("interrupted: the last round is not complete")
    return figures


def measure_rounds(figures, runs, turns, last, tell):
    """Fills `figures` round by round."""
    for round_ in range(figures.rounds):
        # No participant is always the first, or always behind the same one.
        first = round_ % len(turns)
        order = turns[first:] + turns[:first] + last
        for program, ranks in runs:
            for name, measure in order:
                where = f"round {round_ + 1}/{figures.rounds}  {program} on {ranks}: {name}"
                tell(where)
                try:
                    figures.put(round_, name, program, ranks, measure(program, ranks))
                except (Failed, OSError, subprocess.SubprocessError, KeyError, ValueError) as error:
                    # The other participants go on.
                    figures.failures.append(f"{where}: {error}")
                    tell(f"FAILED {where}: {error}\n")


class Failed(Exception):
    """A run failed; the text gives the reason."""


def runner(name, participant, folder, quick, words):
    """Returns the function that runs the programs of a participant. `words` are the arguments beside the
    block's time, by program."""

    def run_one(program, ranks):
        variables = programs.ALL[program].variables.get(name)
        return run(participant, folder / program, program, ranks, quick, words.get(program, ()), variables)

    return run_one


def limit(program):
    """Returns the seconds that one run of a program may take."""
    return programs.ALL[program].limit


def arguments(quick, words=()):
    """Returns the arguments of a program."""
    return [str(QUICK_BLOCK_MS if quick else BLOCK_MS), str(int(quick)), *words]


def figures_of(out):
    """Reads the output of a program: {(figure, bytes): (value, unit)}."""
    found = {}
    for text in out.splitlines():
        if match := LINE.match(text):
            figure, bytes_, value, unit = match.groups()
            found[figure, int(bytes_)] = (float(value), unit)
    if not found:
        raise Failed(f"printed no figures: {out[-200:]}")
    return found


def run(participant, binary, program, ranks, quick, words=(), variables=None):
    """Runs a program once and returns {(figure, bytes): (value, unit)}."""
    begin = time.monotonic()
    with participant.network.crossed() if participant.network else contextlib.nullcontext():
        found = figures_of(output(participant, ranks, [binary, *arguments(quick, words)], limit(program), variables=variables))
    if program == "init":
        found["job", 0] = ((time.monotonic() - begin) * 1e3, "ms")
    return found


def output(participant, ranks, words, limit, folder=None, variables=None):
    """Runs `words` on so many ranks within `limit` seconds, in `folder` and with `variables` if these are
    given. Returns the output."""
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
    """Ends a process, first by SIGTERM, because a launcher has ranks to end."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        process.send_signal(number)
        try:
            process.communicate(timeout=10)
            return
        except subprocess.TimeoutExpired:
            pass
