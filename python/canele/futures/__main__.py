"""Runs a program whose executors have the other ranks of its job as workers:

  canele run -n 5 python -m canele.futures program.py ARGUMENTS…
  canele run -n 5 python -m canele.futures -m module ARGUMENTS…

Rank 0 runs the program. Add `--on-failure continue` to `canele run` if the job shall go on after a worker's death. Without
`canele run` the program runs as if you had started it alone."""

from __future__ import annotations

import os
import runpy
import sys
import traceback

import canele
from canele import futures
from canele._connection import FlowConnection
from canele._worker import serve
from canele.futures import _ranks

WRONG_USAGE = 2


def run_program(words: list[str]) -> int:
    """Runs the program as the main module. Returns its exit status."""
    is_module = words[0] == "-m"
    sys.argv = words[is_module:]
    # A script finds modules beside it, as if the interpreter had started it.
    sys.path[0] = os.getcwd() if is_module else os.path.dirname(os.path.abspath(words[0]))
    try:
        if is_module:
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def main() -> int:
    words = sys.argv[1:]
    if not words or words == ["-m"]:
        print(__doc__, file=sys.stderr)
        return WRONG_USAGE
    if "CANELE_RANK" not in os.environ:
        return run_program(words)
    with canele.Job() as job:
        # The connection has a flow of its own, because the program may use job.world.
        flow = job.world.duplicate()
        if job.rank != 0:
            return serve(FlowConnection(flow, 0, rings=True))
        _ranks.current = _ranks.WorkerRanks(flow, is_one_host=job.local_size == job.size)
        status = run_program(words)
        futures.finish_all()
        _ranks.current.stop()
        return status


if __name__ == "__main__":
    sys.exit(main())
