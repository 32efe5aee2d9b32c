"""Jobs that a program starts: `canele.run`, and `python -m canele`."""

import contextlib
import io
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import canele
import numpy
from alone import LIMIT, AloneTest, in_job, processes, python, started, wait_until
from canele import __main__ as command
from canele._packing import cloudpickle


def gather(factor, plus=0):
    with canele.Job() as job:
        return job.world.allgather_objects(job.rank * factor + plus)


def array(n):
    with canele.Job() as job:
        return numpy.full(n, job.rank)


def fail_on_one(text):
    with canele.Job() as job:
        if job.rank == 1:
            raise KeyError(text)
        job.world.barrier()


def die_on_one():
    with canele.Job() as job:
        if job.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        job.world.barrier()


def exit_on_one():
    if os.environ["CANELE_RANK"] == "1":
        os._exit(0)


def say():
    print("from rank", os.environ["CANELE_RANK"])
    print("error", file=sys.stderr)


def run_again():
    return canele.run(gather, 2, [1])


def lock():
    import threading

    return threading.Lock()


class Functions(AloneTest):
    """Functions as jobs."""

    def test_results_have_the_order_of_ranks(self):
        self.assertEqual(canele.run(gather, 3, [10], {"plus": 1}), [[1, 11, 21]] * 3)
        self.assertEqual(canele.run(gather, n=1, args=(10,)), [[0]])
        got = canele.run(array, 2, [500_000])
        self.assertEqual([(len(numbers), set(numbers)) for numbers in got], [(500_000, {0}), (500_000, {1})])
        # A function need not use the job.
        self.assertEqual(canele.run(pow, 2, [2, 5]), [32, 32])

    def test_the_exception_of_a_rank_is_the_cause(self):
        with self.assertRaisesRegex(canele.RankFailed, "rank 1 of 3 raised KeyError: 'the key'") as raised, contextlib.redirect_stderr(io.StringIO()):
            canele.run(fail_on_one, 3, ["the key"])
        self.assertEqual(raised.exception.rank, 1)
        self.assertIsInstance(raised.exception.__cause__, KeyError)
        self.assertIn("in fail_on_one", str(raised.exception.__cause__.__cause__))

    def test_a_rank_that_dies_is_named(self):
        with self.assertRaisesRegex(canele.RankFailed, "rank 1 of 3 was killed by signal 9") as raised, contextlib.redirect_stderr(io.StringIO()):
            canele.run(die_on_one, 3)
        self.assertEqual(raised.exception.rank, 1)
        with self.assertRaisesRegex(canele.RankFailed, "rank 1 of 2 ended with status 0 before it had a result"):
            canele.run(exit_on_one, 2)

    def test_what_ranks_print_is_the_callers(self):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            canele.run(say, 2)
        self.assertEqual(sorted(out.getvalue().splitlines()), ["from rank 0", "from rank 1"])
        self.assertEqual(err.getvalue(), "error\nerror\n")

    def test_a_time_limit_ends_the_job(self):
        with self.assertRaisesRegex(canele.Deadline, "2 ranks did not end in time"), contextlib.redirect_stderr(io.StringIO()):
            canele.run(time.sleep, 2, [LIMIT], timeout=1)
        # In this case the launcher's status may also be that of a rank.
        with self.assertRaisesRegex(canele.RankFailed, "exited with status 124"), contextlib.redirect_stderr(io.StringIO()):
            canele.run(os._exit, 1, [124])

    def test_options_are_the_launchers(self):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            canele.run(say, 1, options=["--label"])
        self.assertEqual(out.getvalue(), "[0] from rank 0\n")
        with self.assertRaisesRegex(canele.RankFailed, "status 2"), contextlib.redirect_stderr(io.StringIO()):
            canele.run(say, 1, options=["--no-such-option"])

    def test_what_cannot_be_sent_is_named(self):
        with self.assertRaisesRegex(canele.Unpicklable, "cannot be sent"):
            canele.run(lock().acquire, 1)
        with self.assertRaisesRegex(canele.RankFailed, "cannot be sent"), contextlib.redirect_stderr(io.StringIO()):
            canele.run(lock, 1)

    @unittest.skipUnless(cloudpickle(), "needs cloudpickle")
    def test_a_lambda_is_sent_by_cloudpickle(self):
        self.assertEqual(canele.run(lambda: 7, 2), [7, 7])

    def test_a_rank_cannot_start_a_job(self):
        with self.assertRaisesRegex(canele.RankFailed, "this process is rank 0 of 1 of one"), contextlib.redirect_stderr(io.StringIO()):
            canele.run(run_again, 1)

    def test_an_interrupt_ends_the_job(self):
        text = "import canele, time\ntry: canele.run(time.sleep, 2, [600])\nexcept KeyboardInterrupt: print('interrupted')\n"
        with started(text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as program:
            wait_until(lambda: len(processes()) >= 5, "the ranks")
            program.send_signal(signal.SIGINT)
            self.assertEqual(program.communicate(timeout=LIMIT)[0], "interrupted\n")

    def test_nothing_is_left_of_a_program_that_is_killed(self):
        with started("import canele, time; canele.run(time.sleep, 2, [600])", stderr=subprocess.DEVNULL) as program:
            wait_until(lambda: len(processes()) >= 5, "the ranks")
            program.kill()


class Scripts(AloneTest):
    """Scripts as jobs."""

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.script = pathlib.Path(folder.name, "script.py")
        self.script.write_text(
            "import sys, canele\nwith canele.Job() as job: print(job.rank, job.size, sys.argv[1:], sys.executable)\nsys.exit(int(sys.argv[1]))\n"
        )

    def test_a_script_runs_by_this_interpreter(self):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertIsNone(canele.run(self.script, 2, [0, "a b"]))
        self.assertEqual(sorted(out.getvalue().splitlines()), [f"{rank} 2 ['0', 'a b'] {sys.executable}" for rank in range(2)])
        with self.assertRaisesRegex(canele.RankFailed, r"rank \d of 2 exited with status 5"), contextlib.redirect_stderr(io.StringIO()):
            with contextlib.redirect_stdout(io.StringIO()):
                canele.run(str(self.script), 2, [5])
        with self.assertRaisesRegex(TypeError, "takes no keyword arguments"):
            canele.run(self.script, 2, [], {"a": 1})

    def test_the_command_runs_scripts_by_this_interpreter(self):
        done = python("-m", "canele", "run", "-n", "2", self.script, "0", "x.py", env=os.environ | {"PATH": f"/usr/bin:{os.environ['PATH']}"})
        self.assertEqual(sorted(done.stdout.splitlines()), [f"{rank} 2 ['0', 'x.py'] {sys.executable}" for rank in range(2)])
        self.assertEqual(python("-m", "canele", "run", "-n1", self.script, "5", check=False).returncode, 5)
        self.assertIn(canele.__version__, python("-m", "canele", "--version").stdout)

    def test_nothing_is_left_of_a_program_that_is_killed(self):
        self.script.write_text("import time, canele\nwith canele.Job() as job: time.sleep(600)\n")
        with started(f"import canele; canele.run({str(self.script)!r}, 2)", stderr=subprocess.DEVNULL) as program:
            wait_until(lambda: len(processes()) >= 5, "the ranks")
            program.kill()

    def test_without_the_command_the_error_names_the_places(self):
        done = python("-m", "canele", "info", env=os.environ | {"PATH": "/nowhere"}, check=False)
        if done.returncode:
            self.assertRegex(done.stderr, "^canele: there is no command canele, neither in .*bin nor in PATH")


class Words(unittest.TestCase):
    """The words of `canele run`, some of which are programs."""

    def test_programs_are_found_among_options(self):
        me = sys.executable
        for words, expected in (
            ("-n 2 a.py b.py", f"-n 2 {me} a.py b.py"),
            ("-n2 --label a.py", f"-n2 --label {me} a.py"),
            ("--wd x.py -n 2 --env A=b.py a.py", f"--wd x.py -n 2 --env A=b.py {me} a.py"),
            ("--env=A=b.py --label=%r.py -n 2 a.py", f"--env=A=b.py --label=%r.py -n 2 {me} a.py"),
            ("-n 1 ./main a.py : -n 3 b.py --fast", f"-n 1 ./main a.py : -n 3 {me} b.py --fast"),
            ("-n 2 -- a.py -- b.py", f"-n 2 -- {me} a.py -- b.py"),
            ("-n 2 python3 a.py", "-n 2 python3 a.py"),
        ):
            self.assertEqual(" ".join(command.with_interpreter(words.split())), expected)

    def test_options_without_a_value_are_the_launchers(self):
        text = python("-m", "canele", "run", "--help").stdout
        options = re.findall(r"^ +(?:(-\w), )?(--[\w-]+)(.*)$", text, re.M)
        self.assertGreater(len(options), 20)
        without = {name for short, long, rest in options if " <" not in rest for name in (short, long) if name}
        self.assertEqual(without, command.WITHOUT_VALUE)


def load_tests(loader, tests, pattern):
    """Excludes these tests from jobs."""
    return unittest.TestSuite() if in_job() else tests


if __name__ == "__main__":
    unittest.main(verbosity=1)
