"""Pools of workers, in a program that is started alone and inside of a job."""

import asyncio
import contextlib
import ctypes
import gc
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from concurrent import futures

import canele
import numpy
from alone import LIMIT, MARK, PROGRAMS, AloneTest, in_job, processes, python, started, wait_until
from canele._packing import cloudpickle, pack
from canele.futures import BrokenWorker, Executor

started_with = None


def square(x, plus=0):
    return x * x + plus


def multiply(x, y):
    return x * y


def fail(text):
    raise ValueError(text)


class OddError(Exception):
    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


def fail_oddly():
    raise OddError(1, 2)


def lock():
    return threading.Lock()


def sleep(seconds):
    time.sleep(seconds)
    return seconds


def end(code):
    """Ends the worker: by a signal, a wrong access to memory, or an exit status."""
    if code == -signal.SIGSEGV:
        ctypes.string_at(0)
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


def end_at_first(path):
    """Ends the worker, unless another one was ended before."""
    try:
        pathlib.Path(path).touch(exist_ok=False)
    except FileExistsError:
        return os.getpid()
    os._exit(7)


def array(n):
    return {"numbers": numpy.arange(n), "none": numpy.zeros(0)}


def total(numbers):
    return numbers.sum()


def say(text):
    print(text)
    print(text.upper(), file=sys.stderr)


def set_up(value):
    global started_with
    started_with = value


def get_set_up():
    return started_with


def make_executor():
    return Executor(1)


def fork_and_die():
    """Leaves a child that has the worker's descriptors."""
    if os.fork() == 0:
        time.sleep(LIMIT)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)


class Tasks(AloneTest):
    """Calls and their results."""

    @classmethod
    def setUpClass(cls):
        os.environ.update([MARK.split("=")])
        cls.pool = Executor(2)

    @classmethod
    def tearDownClass(cls):
        cls.pool.shutdown()

    def check_that_nothing_is_left(self):
        """All tests share the pool."""

    def test_results_have_the_order_of_the_calls(self):
        self.assertEqual(self.pool.submit(square, 3, plus=1).result(), 10)
        expected = [x * (x + 1) for x in range(50)]
        for chunksize in (1, 7, 1000):
            got = self.pool.map(multiply, range(50), range(1, 60), chunksize=chunksize, timeout=LIMIT)
            self.assertEqual(list(got), expected)
            got = self.pool.starmap(multiply, zip(range(50), range(1, 51)), chunksize=chunksize)
            self.assertEqual(list(got), expected)
            got = self.pool.map(multiply, range(50), range(1, 60), chunksize=chunksize, unordered=True)
            self.assertEqual(sorted(got), sorted(expected))
        self.assertEqual(list(self.pool.map(square, [])), [])
        with self.assertRaisesRegex(ValueError, "chunksize is 0"):
            self.pool.map(square, [1], chunksize=0)

    def test_ten_thousand_small_tasks(self):
        tasks = [self.pool.submit(square, x) for x in range(10_000)]
        self.assertEqual([task.result(LIMIT) for task in tasks], [x * x for x in range(10_000)])

    def test_the_functions_of_concurrent_futures_take_the_tasks(self):
        tasks = {self.pool.submit(square, x): x for x in range(20)}
        for task in futures.as_completed(tasks, LIMIT):
            self.assertEqual(task.result(), tasks[task] ** 2)

        async def awaited():
            return await asyncio.get_running_loop().run_in_executor(self.pool, square, 4)

        self.assertEqual(asyncio.run(awaited()), 16)
        called = threading.Event()
        self.pool.submit(square, 1).add_done_callback(lambda _: called.set())
        self.assertTrue(called.wait(LIMIT))

    def test_exceptions_come_with_their_traceback(self):
        with self.assertRaisesRegex(ValueError, "the text") as raised:
            self.pool.submit(fail, "the text").result(LIMIT)
        self.assertIn("in fail", str(raised.exception.__cause__))
        with self.assertRaisesRegex(Exception, "OddError: 1 and 2") as raised:
            self.pool.submit(fail_oddly).result(LIMIT)
        self.assertIn("in fail_oddly", str(raised.exception.__cause__))
        with self.assertRaises(SystemExit):
            self.pool.submit(sys.exit, 3).result(LIMIT)
        self.assertEqual(self.pool.submit(square, 2).result(LIMIT), 4)

    def test_what_cannot_be_pickled_is_named(self):
        for call in ((lock().acquire,), (square, lock()), (lock,)):
            with self.assertRaisesRegex(canele.Unpicklable, "cannot be sent to another process.*lock"):
                self.pool.submit(*call).result(LIMIT)
        self.assertEqual(self.pool.submit(square, 2).result(LIMIT), 4)

    @unittest.skipIf(cloudpickle(), "cloudpickle takes lambdas")
    def test_a_lambda_is_refused_with_advice(self):
        with self.assertRaisesRegex(canele.Unpicklable, "install cloudpickle"):
            self.pool.submit(lambda: 1).result(LIMIT)

    @unittest.skipUnless(cloudpickle(), "needs cloudpickle")
    def test_a_lambda_is_sent_by_cloudpickle(self):
        self.assertEqual(list(self.pool.map(lambda x: x + 1, range(3))), [1, 2, 3])

    def test_arrays_travel_beside_the_pickle_and_are_writable(self):
        numbers = numpy.arange(1_000_000)
        packed = pack(numbers)
        self.assertLess(len(packed[0]), 1000)
        self.assertTrue(numpy.shares_memory(numpy.frombuffer(packed[1], numbers.dtype), numbers))
        got = self.pool.submit(array, 1_000_000).result(LIMIT)
        numpy.testing.assert_array_equal(got["numbers"], numbers)
        self.assertTrue(got["numbers"].flags.writeable)
        self.assertEqual(got["none"].size, 0)
        self.assertEqual(self.pool.submit(total, numbers[::2]).result(LIMIT), numbers[::2].sum())

    def test_a_map_has_a_time_limit(self):
        with self.assertRaises(TimeoutError):
            list(self.pool.map(sleep, [0.5, 0.5], timeout=0.01))

    def test_a_task_cannot_have_a_pool(self):
        with self.assertRaisesRegex(canele.LauncherError, "A task cannot have a pool of its own"):
            self.pool.submit(make_executor).result(LIMIT)

    def test_wrong_numbers_are_refused(self):
        with self.assertRaisesRegex(ValueError, "max_workers is 0"):
            Executor(0)
        with self.assertRaisesRegex(ValueError, "retries is -1"):
            Executor(1, retries=-1)


class Ends(AloneTest):
    """Ends of workers and executors."""

    def test_a_task_whose_worker_dies_raises_and_others_go_on(self):
        with Executor(2) as pool:
            for code in (-signal.SIGKILL, -signal.SIGSEGV, 3):
                others = [pool.submit(square, x) for x in range(20)]
                with self.assertRaisesRegex(BrokenWorker, r"rank \d of job \d+ .* while it computed end\(\).*retries=1") as raised:
                    pool.submit(end, code).result(LIMIT)
                error = raised.exception
                self.assertIn(error.rank, (0, 1))
                self.assertEqual((error.exit_status, error.signal), (code, None) if code > 0 else (None, -code))
                self.assertIsInstance(error, futures.BrokenExecutor)
                self.assertEqual([task.result(LIMIT) for task in others], [x * x for x in range(20)])
            with self.assertRaises(BrokenWorker):
                pool.submit(end, 0).result(LIMIT)
            # Two tasks that sleep at once show that both workers are there again.
            self.assertEqual(list(pool.map(sleep, [0.1] * 4)), [0.1] * 4)

    def test_a_worker_whose_child_keeps_its_descriptors_is_dead(self):
        with Executor(1) as pool:
            with self.assertRaisesRegex(BrokenWorker, "signal 9"):
                pool.submit(fork_and_die).result(LIMIT)
            self.assertEqual(pool.submit(square, 2).result(LIMIT), 4)

    def test_lost_tasks_are_computed_again(self):
        with tempfile.TemporaryDirectory() as folder, Executor(2, retries=1) as pool:
            tasks = [pool.submit(end_at_first, f"{folder}/{n}") for n in range(3)]
            self.assertTrue(all(task.result(LIMIT) for task in tasks))
            with self.assertRaisesRegex(BrokenWorker, "status 5 .* computed 2 times"):
                pool.submit(end, 5).result(LIMIT)

    def test_each_worker_is_set_up(self):
        with Executor(2, initializer=set_up, initargs=(17,)) as pool:
            self.assertEqual({pool.submit(get_set_up).result(LIMIT) for _ in range(20)}, {17})
            with self.assertRaises(BrokenWorker):
                pool.submit(end, 1).result(LIMIT)
            self.assertEqual({task.result(LIMIT) for task in [pool.submit(get_set_up) for _ in range(20)]}, {17})

    def test_a_pool_whose_workers_cannot_be_set_up_is_broken(self):
        with Executor(2, initializer=fail, initargs=("no licence",)) as pool:
            with self.assertRaisesRegex(BrokenWorker, r"rank \d cannot be set up.*no licence") as raised:
                pool.submit(square, 1).result(LIMIT)
            self.assertIn("in fail", str(raised.exception.__cause__.__cause__.__cause__))
            with self.assertRaisesRegex(BrokenWorker, "has no workers"):
                pool.submit(square, 1)

    def test_a_pool_whose_job_cannot_start_is_broken(self):
        with contextlib.redirect_stderr(io.StringIO()) as printed, Executor(2, options=["--no-such-option"]) as pool:
            with self.assertRaisesRegex(BrokenWorker, "ended with status 2 (.|\n)*--no-such-option"):
                pool.submit(square, 1).result(LIMIT)
        self.assertIn("--no-such-option", printed.getvalue())

    def test_waiting_tasks_are_cancelled(self):
        pool = Executor(1)
        tasks = [pool.submit(sleep, 0.3) for _ in range(6)]
        wait_until(tasks[0].running, "the first task to run")
        self.assertFalse(tasks[0].cancel())
        self.assertTrue(tasks[1].cancel())
        self.assertEqual(tasks[2].result(LIMIT), 0.3)
        pool.shutdown(cancel_futures=True)
        self.assertEqual(tasks[0].result(), 0.3)
        self.assertTrue(all(task.done() for task in tasks))
        self.assertTrue(tasks[5].cancelled())
        with self.assertRaisesRegex(RuntimeError, "was shut down"):
            pool.submit(square, 1)

    def test_an_iterator_that_is_left_cancels_its_tasks(self):
        with Executor(1) as pool:
            got = pool.map(sleep, [0.01] * 1000)
            self.assertEqual(next(got), 0.01)
            got.close()

    def test_an_executor_that_is_forgotten_ends(self):
        pool = Executor(2)
        task = pool.submit(square, 5)
        del pool
        gc.collect()
        self.assertEqual(task.result(LIMIT), 25)
        wait_until(lambda: not processes(), "the workers to end")

    def test_what_workers_print_is_the_callers(self):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            with Executor(2) as pool:
                list(pool.map(say, ["one", "two"]))
        self.assertEqual(sorted(out.getvalue().split()), ["one", "two"])
        self.assertEqual(sorted(err.getvalue().split()), ["ONE", "TWO"])


class Programs(AloneTest):
    """Pools of programs that end, are killed, or are ranks."""

    def test_a_program_that_ends_without_shutdown_computes_its_tasks(self):
        text = "from canele.futures import Executor; task = Executor(2).submit(pow, 2, 5); task.add_done_callback(lambda task: print(task.result()))"
        self.assertEqual(python("-c", text).stdout, "32\n")

    def test_a_program_whose_worker_dies_at_the_end_ends(self):
        text = (
            "import os; from canele.futures import Executor; pool = Executor(1)\n"
            "for call in ((os._exit, 3), (pow, 2, 5)):\n"
            "    pool.submit(*call).add_done_callback(lambda task: print(type(task.exception() or task.result()).__name__))\n"
        )
        lines = python("-c", text).stdout.split()
        # Python 3.12 and newer replace no worker after the last line.
        self.assertIn(lines, (["BrokenWorker", "int"], ["BrokenWorker", "BrokenWorker"]))

    def test_nothing_is_left_of_a_program_that_is_killed(self):
        text = "import time; from canele.futures import Executor; pool = Executor(2); list(pool.map(time.sleep, [600] * 4))"
        with started(text, stderr=subprocess.DEVNULL) as program:
            # The program, launcher, supervisor, and the workers.
            wait_until(lambda: len(processes()) >= 5, "the workers")
            program.kill()

    def test_an_interrupt_is_the_programs(self):
        text = (
            "import time; from canele.futures import Executor\n"
            "with Executor(2) as pool:\n"
            "    try:\n"
            "        print('ready', pool.submit(pow, 2, 3).result(), flush=True); time.sleep(600)\n"
            "    except KeyboardInterrupt: print(pool.submit(pow, 2, 4).result())\n"
        )
        with started(text, stdout=subprocess.PIPE, text=True, process_group=0) as program:
            self.assertEqual(program.stdout.readline(), "ready 8\n")
            os.killpg(program.pid, signal.SIGINT)
            self.assertEqual(program.communicate(timeout=LIMIT)[0], "16\n")

    def test_functions_of_a_session_need_cloudpickle(self):
        text = "from canele.futures import Executor\ndef f(): return 'sent'\nwith Executor(1) as pool: print(pool.submit(f).result())\n"
        done = python("-", check=False, stdin=None, input=text)
        if cloudpickle():
            self.assertEqual((done.stdout, done.returncode), ("sent\n", 0), done.stderr)
        else:
            self.assertIn("need cloudpickle", done.stderr)

    def test_ranks_of_a_job_are_workers(self):
        for options, words in ([], []), (["--on-failure", "continue"], ["die"]):
            done = python("-m", "canele", "run", "-n", "4", *options, sys.executable, "-m", "canele.futures", PROGRAMS / "pool.py", *words,
                          check=not words)
            self.assertEqual(done.stdout, "pool\n", done.stderr)

    def test_the_exit_status_of_a_program_is_that_of_its_job(self):
        with tempfile.TemporaryDirectory() as folder:
            for text, status in (("raise SystemExit(7)", 7), ("import canele.futures, sys; sys.exit()", 0), ("1 / 0", 1)):
                program = pathlib.Path(folder, "program.py")
                program.write_text(text)
                done = python("-m", "canele", "run", "-n", "2", sys.executable, "-m", "canele.futures", program, check=False)
                self.assertEqual(done.returncode, status, done.stderr)

    def test_a_program_without_launcher_starts_its_workers(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "program.py").write_text(
                "from canele.futures import Executor\ndef f(x): return x + 1\n"
                "if __name__ == '__main__':\n    with Executor(2) as pool: print(list(pool.map(f, range(3))))\n"
            )
            self.assertEqual(python("-m", "canele.futures", f"{folder}/program.py").stdout, "[1, 2, 3]\n")
            self.assertEqual(python("-m", "canele.futures", "-m", "program", cwd=folder).stdout, "[1, 2, 3]\n")

    def test_ranks_cannot_have_a_pool(self):
        done = python("-m", "canele", "run", "-n", "2", sys.executable, "-c", "from canele.futures import Executor; Executor(2)", check=False)
        self.assertIn("python -m canele.futures program.py", done.stderr)


def load_tests(loader, tests, pattern):
    """Excludes these tests from jobs: they start programs themselves."""
    return unittest.TestSuite() if in_job() else tests


if __name__ == "__main__":
    unittest.main(verbosity=1)
