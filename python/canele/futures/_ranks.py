"""Workers that are the ranks of this process's own job: `canele run -n 4 python -m canele.futures program.py`.

Rank 0 runs the program, and the other ranks work. Owns the assignment of ranks to executors, and the thread that receives from all ranks.
A free rank takes the place of a rank that died."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

from canele._connection import FlowConnection, Kind
from canele._native import Flow, wait_any
from canele._process_end import close_process, open_process
from canele.errors import PeerLost
from canele.futures._jobs import setup_failed
from canele.futures._pool import BrokenWorker, Pool


class RankSeat:
    """A rank that works for one executor."""

    def __init__(self, rank: int, connection: FlowConnection, pool: Pool) -> None:
        self.rank = rank
        self.pool = pool
        self.is_ready = False
        # Descriptor of the rank's process.
        self.process: int | None = None
        self._connection = connection

    def send_task(self, number: int, buffers: list[Any]) -> None:
        self.send(Kind.TASK, number, buffers)

    def send(self, kind: Kind, number: int, buffers: list[Any]) -> None:
        """Sends a message, unless the rank is gone."""
        try:
            self._connection.send(kind, number, buffers)
        except PeerLost:
            # The thread that receives notices the end, too.
            pass


class WorkerRanks:
    """The ranks that work for this one."""

    def __init__(self, flow: Flow, is_one_host: bool) -> None:
        self._is_one_host = is_one_host
        self._lock = threading.Lock()
        self._connections = {rank: FlowConnection(flow, rank, rings=False) for rank in range(1, flow.size)}
        self._free = list(self._connections)
        self._seats: dict[int, RankSeat] = {}
        self._receiving = threading.Thread(target=self._receive, daemon=True)
        self._receiving.start()

    def count_free(self) -> int:
        """Returns the number of ranks that work for no executor."""
        with self._lock:
            return len(self._free)

    def take(self, count: int, pool: Pool) -> list[RankSeat]:
        """Takes up to `count` free ranks for an executor."""
        with self._lock:
            taken, self._free = self._free[:count], self._free[count:]
            seats = [RankSeat(rank, self._connections[rank], pool) for rank in taken]
            self._seats.update((seat.rank, seat) for seat in seats)
        return seats

    def give_back(self, seat: RankSeat) -> None:
        """Returns a rank, which works for no executor any more, to the free ranks."""
        with self._lock:
            if self._seats.pop(seat.rank, None):
                self._free.append(seat.rank)
            process, seat.process = seat.process, None
        if process is not None:
            os.close(process)

    def stop(self) -> None:
        """Ends all ranks, and waits for their end."""
        for rank, connection in list(self._connections.items()):
            try:
                connection.send(Kind.STOP)
            except PeerLost:
                pass
        self._receiving.join()

    def _receive(self) -> None:
        """Receives from all ranks until each of them has finished or died."""
        requests = {rank: connection.expect() for rank, connection in self._connections.items()}
        while requests:
            ranks = list(requests)
            rank = ranks[wait_any(list(requests.values()))]
            connection = self._connections[rank]
            try:
                requests[rank].wait()
                kind, number, buffers = connection.receive()
                requests[rank] = connection.expect()
            # Memory may run out: the messages of that rank cannot be followed then, and the other ranks go on.
            except Exception as error:
                del requests[rank]
                self._handle_end(rank, error)
            else:
                self._handle(rank, kind, number, buffers)
                del buffers

    def _handle(self, rank: int, kind: Kind, number: int, buffers: list[Any]) -> None:
        with self._lock:
            seat = self._seats.get(rank)
        if seat is None:
            return
        if seat.is_ready:
            seat.pool.handle_answer(seat, kind, number, buffers)
        elif kind is Kind.READY:
            seat.is_ready = True
            seat.process = open_process(number) if self._is_one_host else None
            seat.pool.handle_ready(seat)
        else:
            self.give_back(seat)
            seat.pool.handle_not_started(setup_failed(rank, buffers), is_final=True)

    def _handle_end(self, rank: int, error: Exception) -> None:
        with self._lock:
            seat = self._seats.pop(rank, None)
            if rank in self._free:
                self._free.remove(rank)
            if seat is None:
                return
            process, seat.process = seat.process, None
        code = None if process is None else close_process(process)
        how = describe_end(code) if isinstance(error, PeerLost) else f"sent what cannot be received: {error!r}"
        told = BrokenWorker(f"rank {rank} {how}")
        told.rank = rank
        told.__cause__ = error
        told.set_exit_code(code)
        if seat.is_ready:
            seat.pool.handle_lost(seat, told)
        else:
            seat.pool.handle_not_started(told)


def describe_end(code: int | None) -> str:
    """Returns a description of the end of a process."""
    if code is None:
        return "died (its launcher says on standard error how)"
    return f"was killed by signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"exited with status {code}"


class RankSource:
    """The ranks of one executor."""

    def __init__(self, ranks: WorkerRanks, setup: list[Any]) -> None:
        self.pool: Pool | None = None
        self._ranks = ranks
        self._setup = setup

    def start_workers(self, count: int) -> int:
        """Sets up to `count` free ranks up. Returns their number."""
        assert self.pool, "the pool is set when the executor is made"
        seats = self._ranks.take(count, self.pool)
        for seat in seats:
            seat.send(Kind.SETUP, 0, self._setup)
        return len(seats)

    def release(self, seat: RankSeat) -> None:
        """Gives a rank back to the job."""
        self._ranks.give_back(seat)

    def wait(self) -> None:
        """Returns at once: released ranks go on."""


# The ranks that work for this one, if `python -m canele.futures` runs the program.
current: WorkerRanks | None = None
