"""Starts jobs from a program or a notebook: `canele.run`."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from canele.errors import Deadline, RankFailed, Unpicklable

Result = TypeVar("Result")
Script = str | os.PathLike[str]

# Exit status of a launcher whose time limit has passed.
TIME_IS_OVER = 124


@overload
def run(
    program: Callable[..., Result], n: int, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None,
    *, timeout: float | None = None, options: Sequence[str] = (),
) -> list[Result]: ...


@overload
def run(
    program: Script, n: int, args: Sequence[Any] = (), kwargs: None = None, *, timeout: float | None = None, options: Sequence[str] = (),
) -> None: ...


def run(
    program: Callable[..., Result] | Script, n: int, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None,
    *, timeout: float | None = None, options: Sequence[str] = (),
) -> list[Result] | None:
    """Runs a function or a script as a job of `n` ranks on this host, and waits for it.

    If `program` is a function, each rank computes `program(*args, **kwargs)`, and the results are returned in the order of ranks. The
    function usually begins with `with canele.Job() as job:`. It is sent to the ranks by pickle, or by cloudpickle if that is installed and
    needed. If `program` is a script, its arguments are `args`, and None is returned. The output of the ranks goes to sys.stdout and
    sys.stderr of this process. `options` are further options of `canele run`.

        def ranks():
            with canele.Job() as job:
                return job.world.allgather_objects(job.rank)

        canele.run(ranks, n=4)

    Raises RankFailed if a rank fails. Its cause is the exception of that rank, with its traceback. Raises Deadline after `timeout` seconds.
    Raises Unpicklable if the function cannot be sent. Raises LauncherError if there is no command `canele`, or this process is a rank."""
    from canele._launch import refuse_in_rank

    refuse_in_rank("canele.run", "call it from a program that is started alone")
    limit = [] if timeout is None else ["--timeout", str(timeout)]
    options = ["-n", str(n), *limit, *options]
    if callable(program):
        return FunctionJob(n, options, (program, tuple(args), dict(kwargs or {}))).results()
    if kwargs:
        raise TypeError("a script takes no keyword arguments: give words in args")
    ScriptJob(n, options, [sys.executable, os.fspath(program), *map(str, args)]).wait()
    return None


class ScriptJob:
    """A job whose ranks run a program."""

    def __init__(self, ranks: int, options: Sequence[str], program: Sequence[str]) -> None:
        from canele._launch import Launch

        self.ranks = ranks
        self.has_time_limit = "--timeout" in options
        self.ended: list[int] = []
        self.launch = Launch(options, program, self.ended.append)

    def wait(self) -> None:
        """Waits until all ranks have ended without a failure. An exception, also KeyboardInterrupt, ends the job."""
        try:
            status = self.launch.wait()
        except BaseException:
            self.launch.end()
            raise
        if status == TIME_IS_OVER and self.has_time_limit:
            raise Deadline(f"the job of {self.ranks} ranks did not end in time; its last lines:\n{self.launch.last_lines()}")
        if status:
            raise self.failure(status)

    def failure(self, status: int) -> RankFailed:
        """Makes the error of a job that ended with a status other than 0."""
        rank = self.ended[0] if self.ended else None
        who = f"the job of {self.ranks} ranks" if rank is None else f"rank {rank} of {self.ranks}"
        how = None if rank is None else self.launch.how_rank_ended(rank)
        error = RankFailed(f"{who} {how or f'failed with exit status {status}'}; its last lines:\n{self.launch.last_lines()}")
        error.rank = rank
        return error


class FunctionJob(ScriptJob):
    """A job whose ranks compute a function. They connect, receive the function, and send back its result."""

    def __init__(self, ranks: int, options: Sequence[str], call: tuple[Any, ...]) -> None:
        from canele._connection import Listener
        from canele._packing import pack, pack_surroundings
        from canele._worker import command

        self._setup = [pack_surroundings(), *pack((None, ()))]
        self._call = pack(call)
        self._results: dict[int, Any] = {}
        self._errors: dict[int, BaseException] = {}
        self._listener = Listener(ranks)
        try:
            super().__init__(ranks, options, command(self._listener.name))
        except BaseException:
            self._listener.close()
            raise
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def results(self) -> list[Any]:
        """Waits for the results of all ranks."""
        failure = None
        try:
            self.wait()
        except RankFailed as error:
            failure = error
        finally:
            self._listener.close()
            self._accepting.join()
            for thread in self._threads:
                thread.join()
        if failure or self._errors:
            raise self._error_of_ranks(failure)
        missing = [rank for rank in range(self.ranks) if rank not in self._results]
        if missing:
            raise RankFailed(f"rank {missing[0]} of {self.ranks} ended with status 0 before it had a result: does the function call os._exit?")
        return [self._results[rank] for rank in range(self.ranks)]

    def _error_of_ranks(self, failure: RankFailed | None) -> RankFailed:
        """Makes the error of the rank that failed first, as the launcher reports it. Other ranks may have failed because of it."""
        from canele._packing import describe

        rank = failure.rank if failure and failure.rank is not None else next(iter(self._errors), None)
        if rank is None or rank not in self._errors:
            assert failure, "else there is an error"
            return failure
        cause = self._errors[rank]
        error = RankFailed(f"rank {rank} of {self.ranks} raised {describe(cause)}")
        error.rank = rank
        error.__cause__ = cause
        return error

    def _accept(self) -> None:
        while connection := self._listener.accept():
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: Any) -> None:
        from canele._connection import Kind
        from canele._packing import unpack, unpack_exception

        try:
            rank = connection.receive().number
            connection.send(Kind.SETUP, 0, self._setup)
            connection.send(Kind.TASK, 0, self._call)
            kind, _, buffers = connection.receive()
            if kind is Kind.READY:
                kind, _, buffers = connection.receive()
            try:
                if kind is Kind.ERROR:
                    self._errors[rank] = unpack_exception(buffers)
                else:
                    self._results[rank] = unpack(buffers)
            except Unpicklable as error:
                self._errors[rank] = error
            connection.send(Kind.STOP, 0 if rank in self._results else 1)
        except (OSError, EOFError):
            # The launcher reports how the rank has ended.
            pass
        finally:
            connection.close()
