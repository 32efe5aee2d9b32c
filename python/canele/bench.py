"""Measures messages from Python.

  python -m canele.bench                        rounds of jobs of two ranks on this host, beside mpi4py if that can be imported
  canele run -n 2 python -m canele.bench        one round, between ranks 0 and 1 of this job
  canele run -n 2 python -m canele.bench --library mpi4py

A one-way time is half of the shortest mean round trip of several batches. A round starts a job for each library, so that other load of
the machine affects all of them. The table has medians of rounds, and half of the spread of the middle half of them."""

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from canele._launch import find_command
from canele.errors import LauncherError

BATCHES = 20
LARGE = 1 << 20

Exchange = Callable[[], None]


def memory(length: int) -> tuple[object, object]:
    """Returns memory to send and memory to receive into: arrays of numpy if there is numpy."""
    try:
        import numpy
    except ImportError:
        return bytearray(length), bytearray(length)
    return numpy.zeros(length, dtype=numpy.uint8), numpy.zeros(length, dtype=numpy.uint8)


def sample() -> object:
    """Returns an object like those that programs send."""
    return {"step": 17, "values": [1.5, 2.5, 3.5], "name": "residual"}


def of_canele(job: object) -> dict[str, tuple[Exchange, int]]:
    """Returns for each case this rank's part of a round trip, and the number of round trips in a batch."""
    world = job.world  # type: ignore[attr-defined]
    me = world.rank
    send, recv, send_object, recv_object = world.send, world.recv, world.send_object, world.recv_object
    return cases(
        me,
        lambda data: send(1 - me, 1, data),
        lambda into: recv(1 - me, 1, into),
        lambda obj: send_object(1 - me, 2, obj),
        lambda: recv_object(1 - me, 2),
    )


def of_mpi4py() -> dict[str, tuple[Exchange, int]]:
    from mpi4py import MPI  # type: ignore[import-not-found, unused-ignore]

    world = MPI.COMM_WORLD
    me = world.rank
    send, recv, send_object, recv_object = world.Send, world.Recv, world.send, world.recv
    return cases(
        me,
        lambda data: send(data, 1 - me, 1),
        lambda into: recv(into, 1 - me, 1),
        lambda obj: send_object(obj, 1 - me, 2),
        lambda: recv_object(source=1 - me, tag=2),
    )


def cases(
    me: int,
    send: Callable[[object], object],
    recv: Callable[[object], object],
    send_object: Callable[[object], object],
    recv_object: Callable[[], object],
) -> dict[str, tuple[Exchange, int]]:
    def of_memory(length: int) -> Exchange:
        data, into = memory(length)

        def first() -> None:
            send(data)
            recv(into)

        def second() -> None:
            recv(into)
            send(data)

        return second if me else first

    def of_object(obj: object) -> Exchange:
        def first() -> None:
            send_object(obj)
            recv_object()

        def second() -> None:
            recv_object()
            send_object(obj)

        return second if me else first

    return {
        "8 B": (of_memory(8), 1000),
        "1 MB": (of_memory(LARGE), 50),
        f"object of {len(pickle.dumps(sample(), 5))} B": (of_object(sample()), 500),
        "object with 1 MB": (of_object({"array": memory(LARGE)[0]}), 30),
    }


def measure(quick: bool, measured: dict[str, tuple[Exchange, int]]) -> dict[str, float]:
    """Returns the seconds of one way, by case."""
    times = {}
    for name, (exchange, count) in measured.items():
        if quick:
            count = max(1, count // 50)
        batches = []
        for _ in range(BATCHES + 2):
            begin = time.perf_counter()
            for _ in range(count):
                exchange()
            batches.append((time.perf_counter() - begin) / count / 2)
        # The first batches warm up.
        times[name] = min(batches[2:])
    return times


def run_rank(library: str, quick: bool, as_json: bool) -> None:
    if library == "canele":
        import canele

        with canele.Job() as job:
            if job.size < 2:
                sys.exit("canele.bench: two ranks are needed: canele run -n 2 python -m canele.bench")
            times = measure(quick, of_canele(job)) if job.rank < 2 else {}
            me = job.rank
    else:
        measured = of_mpi4py()
        from mpi4py import MPI

        me = MPI.COMM_WORLD.rank
        times = measure(quick, measured) if me < 2 else {}
    if me == 0:
        print(json.dumps(times) if as_json else table({library: [times]}), flush=True)


def table(results: dict[str, list[dict[str, float]]]) -> str:
    """Returns a table of medians of rounds, in microseconds."""
    libraries = list(results)
    names = list(results[libraries[0]][0])
    width = max(map(len, names)) + 2
    lines = ["one way".ljust(width) + "".join(f"{library:>24}" for library in libraries)]
    if len(libraries) == 2:
        lines[0] += f"{'ratio':>12}"
    for name in names:
        line = name.ljust(width)
        for library in libraries:
            line += f"{describe([times[name] for times in results[library]]):>24}"
        if len(libraries) == 2:
            pairs = zip(results[libraries[0]], results[libraries[1]], strict=True)
            line += f"{statistics.median(one[name] / other[name] for one, other in pairs):>12.2f}"
        lines.append(line)
    return "\n".join(lines)


def describe(seconds: list[float]) -> str:
    text = f"{statistics.median(seconds) * 1e6:.2f} µs"
    if len(seconds) >= 4:
        quarters = statistics.quantiles(seconds, n=4)
        text += f" ±{(quarters[2] - quarters[0]) / 2 / quarters[1] * 100:.0f} %"
    return text


def has_mpi4py() -> bool:
    import importlib.util

    return importlib.util.find_spec("mpi4py") is not None


def run_rounds(rounds: int, quick: bool) -> None:
    libraries = ["canele", "mpi4py"] if has_mpi4py() else ["canele"]
    results: dict[str, list[dict[str, float]]] = {library: [] for library in libraries}
    for _ in range(rounds):
        for library in libraries:
            command = [find_command(), "run", "-n", "2", sys.executable, "-m", "canele.bench", "--json", "--library", library]
            done = subprocess.run([*command, *(["--quick"] if quick else [])], check=True, stdout=subprocess.PIPE, text=True, timeout=300)
            results[library].append(json.loads(done.stdout))
    print(table(results))


def main() -> None:
    parser = argparse.ArgumentParser(prog="canele.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=["canele", "mpi4py"], default="canele", help="whose messages this job exchanges [canele]")
    parser.add_argument("--rounds", type=int, default=7, help="rounds [7]")
    parser.add_argument("--quick", action="store_true", help="few messages: to see that it works")
    parser.add_argument("--json", action="store_true", help="print seconds as JSON")
    wanted = parser.parse_args()
    if "CANELE_RANK" in os.environ:
        run_rank(wanted.library, wanted.quick, wanted.json)
    else:
        run_rounds(wanted.rounds, wanted.quick)


if __name__ == "__main__":
    try:
        main()
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired, LauncherError) as error:
        sys.exit(f"canele.bench: {error}")
