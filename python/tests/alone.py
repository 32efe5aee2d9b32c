"""Tests outside a job: they start jobs, and check that no process of them is left. `python
python/tests/test_futures.py`."""

import contextlib
import os
import pathlib
import subprocess
import sys
import time
import unittest

PROGRAMS = pathlib.Path(__file__).with_name("programs")
# The environment of every process that a test starts has this mark.
MARK = f"STARTED_BY_TEST={os.getpid()}"
# Seconds after which a program or a wait has failed.
LIMIT = 120


def in_job() -> bool:
    """Returns true in a rank of the other tests, which leave these tests out."""
    return "CANELE_RANK" in os.environ


def processes(mark: str = MARK) -> dict[int, str]:
    """Returns the command lines of the processes below this one, by their numbers."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if folder.name != str(os.getpid()) and mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            # The process has ended, or is another user's.
            pass
    return found


def wait_until(condition, what: str) -> None:
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain for {what}: {processes()}")
        time.sleep(0.01)


@contextlib.contextmanager
def started(code: str, /, **more):
    """Yields a program of this interpreter that reacts to an interrupt from the keyboard even if the caller
    ignores it. Kills the program if the test has not ended it."""
    code = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{code}"
    with subprocess.Popen([sys.executable, "-c", code], **more) as program:
        try:
            yield program
        finally:
            program.kill()


def python(*words, check: bool = True, **more) -> subprocess.CompletedProcess:
    """Runs this interpreter to its end."""
    done = subprocess.run([sys.executable, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT,
                          **({"stdin": subprocess.DEVNULL} | more))
    if check and done.returncode:
        raise AssertionError(f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done


class AloneTest(unittest.TestCase):
    """A test that must leave no process and no file in memory."""

    def setUp(self) -> None:
        name, value = MARK.split("=")
        os.environ[name] = value
        self.files = set(os.listdir("/dev/shm"))
        self.addCleanup(self.check_that_nothing_is_left)

    def check_that_nothing_is_left(self) -> None:
        wait_until(lambda: not processes(), "all processes to end")
        # Other programs of the machine make and remove files, but none of Canelé's name may exist.
        self.assertEqual([name for name in set(os.listdir("/dev/shm")) - self.files if "canele" in name], [])
