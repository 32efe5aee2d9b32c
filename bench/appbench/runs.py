"""One run of a program: its folder, its command line, its verification and its figures."""

import pathlib
import re
import tempfile
import time

from peerbench.rounds import Failed, output

from .programs import filled

# One thread for each rank: only ranks are measured.
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class Runner:
    """Runs programs over one participant. `folders` has the built programs; `session` is the command that
    begins a session, if there is one."""

    def __init__(self, participant, programs, folders, session, quick):
        self.participant = participant
        self.programs = programs
        self.folders = folders
        self.session = session
        self.quick = quick
        # Pairs of a program and a number of ranks that took too long: another round would take too long, too.
        self.slow = set()

    def run(self, name, ranks):
        """Runs a program once and returns {(figure, 0): (value, unit)}."""
        if (name, ranks) in self.slow:
            return {}
        program = self.programs[name]
        folder = self.folders[name][self.participant.abi]
        values = program.values(ranks, self.quick) | {"folder": folder}
        words = [filled(word, values) for word in program.command]
        words[0] = folder / words[0]
        if self.session:
            words = [self.session, *words]
        with tempfile.TemporaryDirectory(prefix="canele-applications-") as place:
            place = pathlib.Path(place)
            for file, text in program.input.items():
                (place / file).write_text(filled(text, values), encoding="utf-8")
            begin = time.monotonic()
            try:
                text = output(self.participant, ranks, words, program.seconds, place, THREADS)
            except Failed:
                if time.monotonic() - begin > program.seconds:
                    self.slow.add((name, ranks))
                raise
            wall = time.monotonic() - begin
            for file in place.glob(program.output) if program.output else ():
                text += file.read_text(encoding="utf-8", errors="replace")
        verify(program, values, text)
        return {(figure, 0): (measured(pattern, text, wall), unit) for figure, unit, pattern in program.figures}


def verify(program, values, text):
    """Fails unless the program's output says that its results are right."""
    for pattern in program.verify:
        if not re.search(filled(pattern, values), text, re.MULTILINE):
            raise Failed(f"is not verified: it prints nothing like {pattern!r}")
    for pattern, expected, within in program.near:
        pattern = filled(pattern, values)
        found, right = number(pattern, text), float(filled(str(expected), values))
        if not abs(found - right) <= within * abs(right):
            raise Failed(f"is not verified: {found} instead of {right} by {pattern!r}")


def measured(pattern, text, wall):
    """Returns a figure of the program, or the time from its start to its end if it has none."""
    return number(pattern, text) if pattern else wall


def number(pattern, text):
    """Returns the last number that a pattern finds."""
    found = re.findall(pattern, text, re.MULTILINE)
    if not found:
        raise Failed(f"prints nothing like {pattern!r}")
    return float(found[-1])
