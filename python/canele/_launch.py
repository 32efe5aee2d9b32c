"""Starts jobs from a process that is no rank of them.

Owns the launcher's process, passes on the output of the ranks, and keeps the launcher's reports of how ranks ended. Never talks to a rank."""

from __future__ import annotations

import codecs
import collections
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Sequence
from typing import Literal

from canele.errors import LauncherError

# The launcher's report of a rank that failed.
END_OF_RANK = re.compile(r"canele: rank (\d+) ((?:was|exited|ended) [^;]*)")
# Lines of standard error that an error quotes.
QUOTED_LINES = 8
# Time limit in seconds for a launcher to end its ranks on request.
GRACE = 20.0


def find_command() -> str:
    """Returns the path of the command `canele`. The command of the wheel, beside this interpreter, comes before the first one in PATH."""
    beside = os.path.join(sysconfig.get_path("scripts"), "canele")
    found = beside if os.access(beside, os.X_OK) else shutil.which("canele")
    if found is None:
        raise LauncherError(
            f"there is no command canele, neither in {os.path.dirname(beside)} nor in PATH: install Canelé's wheel, or put the command's folder into PATH"
        )
    return found


def refuse_in_rank(what: str, advice: str) -> None:
    """Raises LauncherError if this process is a rank of a job, which cannot start another one by `what`."""
    rank = os.environ.get("CANELE_RANK")
    if rank is not None:
        raise LauncherError(f"{what} starts a job, and this process is rank {rank} of {os.environ.get('CANELE_SIZE')} of one: {advice}")


class Launch:
    """A running `canele run`, whose ranks print on this process's standard output and error."""

    def __init__(self, options: Sequence[str], program: Sequence[str], on_end: Callable[[int], None] | None = None) -> None:
        """Starts the launcher. A thread of this object calls `on_end` with each rank that the launcher reports as failed."""
        # The launcher has a process group of its own: an interrupt from the keyboard reaches this process alone, which decides about the job.
        self._process = subprocess.Popen(
            [find_command(), "run", "--end-with", str(os.getpid()), *options, *program],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, process_group=0,
        )
        self._on_end = on_end
        self._ends: dict[int, str] = {}
        self._last_lines: collections.deque[str] = collections.deque(maxlen=QUOTED_LINES)
        self._changed = threading.Condition()
        self._has_ended = False
        self._forwarders = [threading.Thread(target=self._forward, args=(name,), daemon=True) for name in ("stdout", "stderr")]
        try:
            for forwarder in self._forwarders:
                forwarder.start()
        except RuntimeError:
            # The interpreter ends, and no thread could forward the output of the ranks.
            self._process.kill()
            self._process.wait()
            raise

    @property
    def pid(self) -> int:
        """The process number of the launcher."""
        return self._process.pid

    def how_rank_ended(self, rank: int, timeout: float = 2.0) -> str | None:
        """Returns the launcher's report of how a rank failed. It may follow the end of the rank's connection a little later."""
        with self._changed:
            self._changed.wait_for(lambda: rank in self._ends or self._has_ended, timeout)
            return self._ends.get(rank)

    def last_lines(self) -> str:
        """Returns the last lines that the launcher and the ranks wrote to standard error."""
        return "\n".join(self._last_lines)

    def wait(self, timeout: float | None = None) -> int:
        """Waits until the launcher and the ranks have ended and their output was passed on. Returns the exit status.

        Raises subprocess.TimeoutExpired."""
        status = self._process.wait(timeout)
        for forwarder in self._forwarders:
            forwarder.join(timeout)
        return status

    def end(self) -> int:
        """Ends the job. Returns the exit status."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            return self.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self.wait(GRACE)

    def _forward(self, name: Literal["stdout", "stderr"]) -> None:
        stream = self._process.stdout if name == "stdout" else self._process.stderr
        assert stream is not None, "both are pipes"
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        line = ""
        with stream:
            while data := stream.read(1 << 16):
                text = decoder.decode(data)
                write(name, text)
                if name == "stderr":
                    *lines, line = (line + text).split("\n")
                    for complete in lines:
                        self._note(complete)
        if name == "stderr":
            self._process.wait()
            with self._changed:
                self._has_ended = True
                self._changed.notify_all()

    def _note(self, line: str) -> None:
        self._last_lines.append(line)
        if found := END_OF_RANK.match(line):
            rank = int(found[1])
            with self._changed:
                self._ends.setdefault(rank, found[2])
                self._changed.notify_all()
            if self._on_end:
                self._on_end(rank)


def write(name: Literal["stdout", "stderr"], text: str) -> None:
    """Writes to the current stream of this process, which notebooks and tests may replace. A stream that fails loses only the text."""
    stream = getattr(sys, name)
    try:
        stream.write(text)
        stream.flush()
    except (AttributeError, OSError, ValueError):
        pass
