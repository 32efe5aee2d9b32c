"""A program for `canele run -n 4 --on-failure continue python -m canele.futures`: rank 0 runs it, three ranks are workers."""

import os
import signal
import sys

import numpy
from canele.errors import LauncherError
from canele.futures import BrokenWorker, Executor


def square(x):
    return x * x


def rank():
    return int(os.environ["CANELE_RANK"])


def array(n):
    return numpy.arange(n)


def fail(text):
    raise ValueError(text)


def make_executor():
    return Executor(1)


def end(code):
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


def main():
    with Executor() as pool:
        assert pool.num_workers == 3
        assert list(pool.map(square, range(10_000))) == [x * x for x in range(10_000)]
        assert {pool.submit(rank).result() for _ in range(100)} <= {1, 2, 3}
        got = pool.submit(array, 1_000_000).result()
        assert got.flags.writeable and (got == numpy.arange(1_000_000)).all()
        try:
            pool.submit(fail, "the text").result()
        except ValueError as error:
            assert error.args == ("the text",) and "in fail" in str(error.__cause__), error.__cause__
        try:
            pool.submit(make_executor).result()
        except LauncherError as error:
            assert "a task cannot have a pool of its own" in str(error).lower(), error
        else:
            raise AssertionError("a task has made a pool")
        try:
            Executor(options=["--label"])
        except ValueError as error:
            assert "give them to its `canele run`" in str(error), error
        else:
            raise AssertionError("options were taken")
        try:
            Executor()
        except BrokenWorker as error:
            assert "no rank is free" in str(error), error
    with Executor(1) as one, Executor() as others:
        assert (one.num_workers, others.num_workers) == (1, 2)
        ranks = {one.submit(rank).result()}
        assert ranks.isdisjoint(others.submit(rank).result() for _ in range(20))
    if "die" in sys.argv:
        with Executor(1) as pool:
            for code in (3, -signal.SIGKILL):
                try:
                    pool.submit(end, code).result()
                except BrokenWorker as error:
                    assert error.rank in (1, 2, 3), error
                    known = (error.exit_status, error.signal)
                    # Kernels before Linux 6.15 do not report it.
                    assert known in ((None, None), (code, None) if code > 0 else (None, -code)), known
                # A free rank becomes a worker in its place.
                assert pool.submit(square, 3).result() == 9
            try:
                pool.submit(end, 4).result()
            except BrokenWorker:
                pass
            try:
                pool.submit(square, 3).result()
            except BrokenWorker as error:
                assert "start it with more ranks" in str(error), error
            else:
                raise AssertionError("a dead worker has computed")
    print("pool", flush=True)


if __name__ == "__main__":
    main()
