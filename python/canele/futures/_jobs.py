"""Workers for a program that is no rank: jobs of `canele run`, whose ranks connect over a socket.

The first job has all workers; later jobs replace workers that died. Owns their processes and connections, and a thread for each."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import Any

from canele._connection import Kind, Listener, SocketConnection
from canele._launch import GRACE, Launch
from canele._packing import unpack_exception
from canele._worker import command
from canele.futures._pool import BrokenWorker, Pool

SIGNAL, STATUS = re.compile(r"signal (\d+)"), re.compile(r"status (\d+)")
# Time limit in seconds for idle workers to end.
EXIT_TIME = 60.0


class SocketSeat:
    """A worker at the other end of a socket."""

    def __init__(self, connection: SocketConnection) -> None:
        self.connection = connection
        self.is_ready = False
        self.is_released = False

    def send_task(self, number: int, buffers: list[Any]) -> None:
        self._send(Kind.TASK, number, buffers)

    def release(self) -> None:
        """Ends the worker."""
        self.is_released = True
        self._send(Kind.STOP, 0, [])

    def _send(self, kind: Kind, number: int, buffers: list[Any]) -> None:
        try:
            self.connection.send(kind, number, buffers)
        except OSError:
            # The thread that receives notices the end, too.
            pass


class WorkerJob:
    """A job of workers. The failure of a worker does not end the others."""

    def __init__(self, ranks: int, options: Sequence[str], setup: list[Any], pool: Pool) -> None:
        self._setup = setup
        self._pool = pool
        self._lock = threading.Lock()
        # Ranks that have neither connected nor ended.
        self._awaited = set(range(ranks))
        self._connections: dict[int, SocketConnection] = {}
        self._listener = Listener(ranks)
        try:
            # All threads start now: an interpreter that ends, after the last line of a program, starts none any more.
            for _ in range(ranks):
                threading.Thread(target=self._serve, daemon=True).start()
            words = ["-n", str(ranks), "--on-failure", "continue", *options]
            self._launch = Launch(words, command(self._listener.name), self._handle_end_of_rank)
        except BaseException:
            self._listener.close()
            raise
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()

    def wait(self) -> None:
        """Waits until the job has ended, after its workers were released; ends it if that takes too long."""
        self._watching.join(EXIT_TIME)
        if self._watching.is_alive():
            self._launch.end()
            self._watching.join(GRACE)

    def has_ended(self) -> bool:
        """Returns True if all processes are gone."""
        return not self._watching.is_alive()

    def _watch(self) -> None:
        status = self._launch.wait()
        self._listener.close()
        for rank in sorted(self._awaited):
            self._handle_not_connected(rank, status)

    def _handle_end_of_rank(self, rank: int) -> None:
        with self._lock:
            connection = self._connections.get(rank)
        if connection:
            # A child of the rank may hold the other end open.
            connection.cut()
        else:
            self._handle_not_connected(rank)

    def _handle_not_connected(self, rank: int, status: int | None = None) -> None:
        with self._lock:
            if rank not in self._awaited:
                return
            self._awaited.remove(rank)
        error = self._error_of(rank)
        ended = error if status is None else f"job {self._launch.pid} ended with status {status}"
        error.args = (f"{ended} before rank {rank} had connected; the last lines:\n{self._launch.last_lines()}",)
        self._pool.handle_not_started(error)

    def _serve(self) -> None:
        """Accepts one worker, and receives from it until it has ended."""
        while connection := self._listener.accept():
            try:
                rank = connection.receive().number
                with self._lock:
                    self._awaited.remove(rank)
                    self._connections[rank] = connection
            except (OSError, EOFError, KeyError, ValueError):
                # The peer was no worker.
                connection.close()
            else:
                return self._receive(connection, rank)
        return None

    def _receive(self, connection: SocketConnection, rank: int) -> None:
        seat = SocketSeat(connection)
        try:
            connection.send(Kind.SETUP, 0, self._setup)
            while True:
                kind, number, buffers = connection.receive()
                if seat.is_ready:
                    self._pool.handle_answer(seat, kind, number, buffers)
                elif kind is Kind.READY:
                    seat.is_ready = True
                    self._pool.handle_ready(seat)
                else:
                    seat.release()
                    self._pool.handle_not_started(setup_failed(rank, buffers), is_final=True)
                del buffers
        # A lack of memory is such an exception, too.
        except Exception:
            self._handle_end(seat, rank)
        finally:
            connection.close()

    def _handle_end(self, seat: SocketSeat, rank: int) -> None:
        if seat.is_released:
            return
        error = self._error_of(rank)
        if seat.is_ready:
            self._pool.handle_lost(seat, error)
        else:
            self._pool.handle_not_started(error)

    def _error_of(self, rank: int) -> BrokenWorker:
        how = self._launch.how_rank_ended(rank)
        error = BrokenWorker(f"rank {rank} of job {self._launch.pid} {how or 'ended without a failure that its launcher knows'}")
        error.rank = rank
        if how:
            killed, exited = SIGNAL.search(how), STATUS.search(how)
            error.set_exit_code(-int(killed[1]) if killed else int(exited[1]) if exited else None)
        return error


def setup_failed(rank: int, buffers: list[Any]) -> BrokenWorker:
    """Makes the error of a worker whose initializer, or whose import of the main module, has raised an exception."""
    cause = unpack_exception(buffers)
    error = BrokenWorker(f"rank {rank} cannot be set up: its initializer, or the import of the main module, raised {cause!r}")
    error.rank = rank
    error.__cause__ = cause
    return error


class JobSource:
    """The jobs of one executor."""

    def __init__(self, setup: list[Any], options: Sequence[str]) -> None:
        self.pool: Pool | None = None
        self._setup = setup
        self._options = list(options)
        self._jobs: list[WorkerJob] = []
        self._lock = threading.Lock()

    def start_workers(self, count: int) -> int:
        """Starts one job of `count` workers. Returns their number, `count`."""
        assert self.pool, "the pool is set when the executor is made"
        job = WorkerJob(count, self._options, self._setup, self.pool)
        with self._lock:
            self._jobs = [job, *(old for old in self._jobs if not old.has_ended())]
        return count

    def release(self, seat: SocketSeat) -> None:
        """Ends a worker."""
        seat.release()

    def wait(self) -> None:
        """Waits until all jobs have ended, after their workers were released."""
        with self._lock:
            jobs = list(self._jobs)
        for job in jobs:
            job.wait()
