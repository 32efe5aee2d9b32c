"""Pools of workers: `concurrent.futures.Executor` over the ranks of a job.

    from canele.futures import Executor

    if __name__ == "__main__":
        with Executor(max_workers=4) as pool:
            print(list(pool.map(abs, range(-3, 3))))

    $ python program.py                                     starts a job of four workers
    $ canele run -n 5 python -m canele.futures program.py   rank 0 runs the program, the other ranks are the workers

Functions, arguments and results are pickled. Large arrays in them travel beside the pickle."""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
from typing import Any, TypeVar

from canele._launch import refuse_in_rank
from canele._packing import pack, pack_surroundings
from canele.errors import Unpicklable
from canele.futures import _ranks
from canele.futures._jobs import JobSource
from canele.futures._pool import BrokenWorker, Pool, describe_call

__all__ = ["BrokenWorker", "Executor"]

Result = TypeVar("Result")

IN_RANK = (
    "start the program alone, or as `canele run -n 4 python -m canele.futures program.py`. A task cannot have a pool of its own: it returns what "
    "is still to be computed to its caller. In a script, make the executor below `if __name__ == \"__main__\":`"
)

# Pools whose tasks are computed before the interpreter ends.
_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


class Executor(futures.Executor):
    """Computes calls in workers, which are ranks of a job.

    In a program that is started alone, the executor starts a job of `max_workers` ranks on this host, by default one for each processor.
    `options` are further options of `canele run`. Under `python -m canele.futures` the workers are the free ranks of the program's job, at
    most `max_workers`.

    Each worker calls `initializer(*initargs)` first. In a program that is started alone a new worker replaces a dead one, otherwise a free
    rank does. The task of a dead worker raises BrokenWorker, or is computed again, at most `retries` times."""

    def __init__(
        self, max_workers: int | None = None, *, initializer: Callable[..., object] | None = None, initargs: Sequence[Any] = (), retries: int = 0,
        options: Sequence[str] = (),
    ) -> None:
        if max_workers is not None and max_workers < 1:
            raise ValueError(f"max_workers is {max_workers}: a pool needs at least one worker")
        if retries < 0:
            raise ValueError(f"retries is {retries}: it says how often a task may be computed again, 0 or more")
        source: JobSource | _ranks.RankSource
        if _ranks.current:
            if options:
                raise ValueError(f"options are {list(options)}: the workers are ranks of this program's job, so give them to its `canele run`")
            free = _ranks.current.count_free()
            if free == 0:
                raise BrokenWorker("no rank is free to work: start the job with more ranks, as in `canele run -n 4`, or shut the other executor down")
            self._workers = min(max_workers or free, free)
            source = _ranks.RankSource(_ranks.current, setup(initializer, initargs))
        else:
            refuse_in_rank("canele.futures.Executor", IN_RANK)
            self._workers = max_workers or len(os.sched_getaffinity(0))
            source = JobSource(setup(initializer, initargs), options)
        self._pool = source.pool = Pool(source, self._workers, retries)
        _pools.add(self._pool)
        weakref.finalize(self, close_later, self._pool).atexit = False
        self._pool.start()

    @property
    def num_workers(self) -> int:
        """The number of workers that compute at a time."""
        return self._workers

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> futures.Future[Result]:
        """Returns the future of `fn(*args, **kwargs)`. The future raises canele.Unpicklable if the call cannot be pickled."""
        self._pool.check_open()
        try:
            buffers = pack((fn, args, kwargs))
        except Unpicklable as error:
            failed: futures.Future[Result] = futures.Future()
            failed.set_exception(error)
            return failed
        return self._pool.submit(describe_call(fn), buffers)

    def map(
        self, fn: Callable[..., Result], *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1, unordered: bool = False,
    ) -> Iterator[Result]:
        """Returns an iterator of `fn(*items)` for the items of all iterables, in their order. With `unordered` the results have the order in
        which they are computed.

        `chunksize` calls are one task. Raises TimeoutError if a result is missing `timeout` seconds after the call of map()."""
        return self.starmap(fn, zip(*iterables), timeout, chunksize, unordered)

    def starmap(
        self, fn: Callable[..., Result], iterable: Iterable[Iterable[Any]], timeout: float | None = None, chunksize: int = 1, unordered: bool = False,
    ) -> Iterator[Result]:
        """Does what map() does, with each item of the iterable as the arguments of one call."""
        if chunksize < 1:
            raise ValueError(f"chunksize is {chunksize}: a task has at least one call")
        end = None if timeout is None else time.monotonic() + timeout
        items = iter(iterable)
        chunks = iter(lambda: [tuple(item) for item in itertools.islice(items, chunksize)], [])
        return results([self.submit(call_each, fn, chunk) for chunk in chunks], end, unordered)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more tasks, and lets the workers end after the last task. With `wait` it also waits for their end. `cancel_futures`
        cancels the tasks that wait for a worker."""
        self._pool.close(cancel_futures)
        if wait:
            self._pool.wait()


def setup(initializer: Callable[..., object] | None, initargs: Sequence[Any]) -> list[Any]:
    """Packs the first work of a worker: its surroundings and its initializer."""
    return [pack_surroundings(), *pack((initializer, tuple(initargs)))]


def close_later(pool: Pool) -> None:
    """Closes the pool of a dropped executor in another thread, because this thread may hold a lock of the pool."""
    threading.Thread(target=pool.close, args=(False,), daemon=True).start()


def call_each(function: Callable[..., Result], calls: list[tuple[Any, ...]]) -> list[Result]:
    """Computes the calls of a chunk."""
    return [function(*arguments) for arguments in calls]


def results(tasks: list[futures.Future[list[Result]]], end: float | None, unordered: bool) -> Iterator[Result]:
    """Yields the results of chunks. Cancels the tasks that are left when the iterator is closed or fails."""
    try:
        if unordered:
            left = None if end is None else max(0.0, end - time.monotonic())
            for task in futures.as_completed(tasks, left):
                yield from task.result()
        else:
            # A result is not kept after it was yielded.
            tasks.reverse()
            while tasks:
                left = None if end is None else max(0.0, end - time.monotonic())
                chunk = tasks[-1].result(left)
                tasks.pop()
                yield from chunk
    finally:
        for task in tasks:
            task.cancel()


def finish_all() -> None:
    """Waits until all tasks are computed and all workers have ended."""
    pools = list(_pools)
    for pool in pools:
        pool.close(cancel=False)
    for pool in pools:
        pool.wait()


atexit.register(finish_all)
