"""Assigns tasks to workers. Owns the waiting and the running tasks; never starts a process.

    submit ──▶ waiting ──▶ running (one task for each worker) ──▶ future
                  ▲            │ the worker died
                  └── retries ─┘

Any thread may call the methods: callers, and the threads that receive from workers. The lock protects the lists of tasks and workers; nothing
is sent and no future gets its result while it is held."""

from __future__ import annotations

import collections
import itertools
import threading
from concurrent.futures import BrokenExecutor, Future
from typing import Any, Protocol

from canele._connection import Kind
from canele._packing import unpack, unpack_exception
from canele.errors import Error, Unpicklable


class BrokenWorker(Error, BrokenExecutor):
    """A worker died while it computed a task, or no worker can be started.

    `rank` is the rank of the worker. `signal` is the signal that killed it, and `exit_status` its exit status. Each is None if it is unknown."""

    signal: int | None = None
    exit_status: int | None = None

    def set_exit_code(self, code: int | None) -> None:
        """Stores an exit code, which is negative for a signal, and None if it is unknown."""
        if code is not None:
            self.signal, self.exit_status = (-code, None) if code < 0 else (None, code)


class Seat(Protocol):
    """A place for one worker, as the pool sees it."""

    def send_task(self, number: int, buffers: list[Any]) -> None:
        """Sends a task. If the worker is gone, the thread that receives from it informs the pool."""


class WorkerSource(Protocol):
    """A source that starts workers. For each worker it calls the pool: `handle_ready`, `handle_answer` for each result, and `handle_lost`."""

    def start_workers(self, count: int) -> int:
        """Begins to start `count` workers. Returns the number that it can start."""

    def release(self, seat: Any) -> None:
        """Takes back the seat of an idle worker."""

    def wait(self) -> None:
        """Waits until all released workers have ended."""


class Task:
    """A call, and the future of its result."""

    def __init__(self, number: int, future: Future[Any], name: str, buffers: list[Any], retries: int) -> None:
        self.number = number
        self.future = future
        self.name = name
        self.buffers = buffers
        self.retries = retries
        self._has_begun = False

    def begin(self) -> bool:
        """Returns False if the future was cancelled before."""
        self._has_begun = self._has_begun or self.future.set_running_or_notify_cancel()
        return self._has_begun

    def fail(self, error: BaseException) -> None:
        """Gives the future an error; a cancelled future does not change."""
        if self.begin():
            self.future.set_exception(error)


class Pool:
    """The tasks and workers of one executor."""

    def __init__(self, source: WorkerSource, most_workers: int, retries: int) -> None:
        self._source = source
        self._most_workers = most_workers
        self._retries = retries
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: collections.deque[Task] = collections.deque()
        self._running: dict[Seat, Task] = {}
        self._idle: list[Seat] = []
        self._starting = 0
        self._failed_starts = 0
        self._is_closing = False
        self._broken: BaseException | None = None
        self._has_drained = threading.Event()

    def start(self) -> None:
        """Starts all workers."""
        with self._lock:
            self._starting = self._most_workers
        self._start_workers(self._most_workers)

    def submit(self, name: str, buffers: list[Any]) -> Future[Any]:
        """Queues a packed task. Returns the future of its result."""
        future: Future[Any] = Future()
        with self._lock:
            self.check_open()
            self._waiting.append(Task(next(self._numbers), future, name, buffers, self._retries))
        self._advance()
        return future

    def check_open(self) -> None:
        """Raises RuntimeError if the pool takes no more tasks."""
        if self._is_closing:
            raise RuntimeError("this executor was shut down: make another one")
        if self._broken:
            raise BrokenWorker(f"this executor has no workers: {self._broken}") from self._broken

    def close(self, cancel: bool) -> None:
        """Takes no more tasks. Workers end when no task waits any more."""
        with self._lock:
            self._is_closing = True
            cancelled = list(self._waiting) if cancel else []
            if cancel:
                self._waiting.clear()
        for task in cancelled:
            if task.future.cancel():
                task.begin()
            else:
                task.fail(BrokenWorker(f"a worker died while it computed {task.name}, and the executor was shut down before another one could"))
        self._advance()

    def wait(self) -> None:
        """Waits, after close(), until all tasks and all workers have ended."""
        self._has_drained.wait()
        self._source.wait()

    def handle_ready(self, seat: Seat) -> None:
        """Notes that a worker waits for its first task."""
        with self._lock:
            self._starting -= 1
            self._failed_starts = 0
            self._idle.append(seat)
        self._advance()

    def handle_answer(self, seat: Seat, kind: Kind, number: int, buffers: list[Any]) -> None:
        """Takes the result of a worker's task."""
        with self._lock:
            task = self._running.pop(seat, None)
            self._idle.append(seat)
        # The worker gets its next task before the caller gets this result.
        self._advance()
        if task is None or task.number != number:
            return
        if kind is Kind.ERROR:
            task.future.set_exception(unpack_exception(buffers))
            return
        try:
            result = unpack(buffers)
        except Unpicklable as error:
            task.future.set_exception(error)
        else:
            task.future.set_result(result)

    def handle_lost(self, seat: Seat, error: BrokenWorker) -> None:
        """Notes that a worker that was ready is gone. Its task is computed again or fails."""
        failed = None
        with self._lock:
            task = self._running.pop(seat, None)
            if seat in self._idle:
                self._idle.remove(seat)
            if task and task.retries:
                task.retries -= 1
                self._waiting.appendleft(task)
            else:
                failed = task
        if failed:
            advice = f"It was computed {self._retries + 1} times" if self._retries else "Executor(retries=1) computes such tasks again"
            told = BrokenWorker(f"{error} while it computed {failed.name}. The result is lost; other tasks go on. {advice}")
            told.rank, told.signal, told.exit_status = error.rank, error.signal, error.exit_status
            failed.fail(told)
        self._advance()

    def handle_not_started(self, error: BaseException, count: int = 1, is_final: bool = False) -> None:
        """Notes that workers ended before they were ready. As many such ends in a row as there may be workers break the pool."""
        with self._lock:
            self._starting -= count
            self._failed_starts += count
            if is_final or self._failed_starts >= self._most_workers:
                self._broken = self._broken or error
        self._advance()

    def _advance(self) -> None:
        """Gives tasks to idle workers, starts missing workers, fails tasks that no worker can compute, and ends workers."""
        given, released, failed, missing = [], [], [], 0
        with self._lock:
            while self._idle and self._waiting:
                task = self._waiting.popleft()
                if task.begin():
                    seat = self._idle.pop()
                    self._running[seat] = task
                    given.append((seat, task))
            workers = len(self._running) + len(self._idle) + self._starting
            if self._broken:
                failed = list(self._waiting)
                self._waiting.clear()
            else:
                missing = max(0, min(len(self._waiting) - self._starting, self._most_workers - workers))
                self._starting += missing
            if self._is_closing and not self._waiting:
                released, self._idle = self._idle, []
                if not self._running and not self._starting:
                    self._has_drained.set()
            broken = self._broken
        for seat, task in given:
            seat.send_task(task.number, task.buffers)
        for task in failed:
            error = BrokenWorker(f"no worker can compute {task.name}: {broken}")
            error.__cause__ = broken
            task.fail(error)
        for seat in released:
            self._source.release(seat)
        if missing:
            self._start_workers(missing)

    def _start_workers(self, count: int) -> None:
        try:
            begun = self._source.start_workers(count)
        except (OSError, RuntimeError) as error:
            # An interpreter that ends raises such an error, too: it starts neither threads nor processes any more.
            return self.handle_not_started(error, count, is_final=True)
        if begun < count:
            with self._lock:
                self._starting -= count - begun
                self._most_workers -= count - begun
                if self._most_workers == 0:
                    self._broken = BrokenWorker("all workers are gone, and this job has no rank to replace them: start it with more ranks")
            self._advance()


def describe_call(function: Any) -> str:
    """Returns the name of a call in errors."""
    return f"{getattr(function, '__qualname__', None) or type(function).__qualname__}()"
