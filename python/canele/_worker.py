"""Runs a rank that works for another process: the rank sets itself up, computes tasks one after the other, and stops.

Owns this order. A thread receives, so the rank notices the end of the other process while a task computes."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

from canele._connection import Connection, Kind, Order, connect
from canele._packing import pack, pack_exception, take_surroundings, unpack
from canele.errors import Error

# Exit status of a rank whose caller is gone.
CALLER_GONE = 1


def serve(connection: Connection) -> int:
    """Works until the other process tells the rank to stop. Returns the exit status."""
    # An interrupt ends the rank at once; a task that wants it sets its own handler.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    orders: queue.SimpleQueue[Order] = queue.SimpleQueue()
    threading.Thread(target=receive, args=(connection, orders), daemon=True).start()
    while True:
        kind, number, buffers = orders.get()
        if kind is Kind.STOP:
            return number
        try:
            if kind is Kind.SETUP:
                take_surroundings(buffers[0])
                initializer, arguments = unpack(buffers[1:])
                if initializer is not None:
                    initializer(*arguments)
                reply, number, answer = Kind.READY, os.getpid(), []
            else:
                reply, answer = Kind.RESULT, pack(compute(buffers))
        except BaseException as error:
            reply, answer = Kind.ERROR, pack_exception(error)
        # The rank keeps no data of a task while it waits for the next one.
        del buffers
        flush()
        try:
            connection.send(reply, number, answer)
        except (OSError, Error):
            os._exit(CALLER_GONE)
        del answer


def compute(buffers: list[Any]) -> Any:
    function, arguments, keywords = unpack(buffers)
    return function(*arguments, **keywords)


def receive(connection: Connection, orders: queue.SimpleQueue[Order]) -> None:
    """Receives until the message that stops the rank. Ends the rank if its caller is gone."""
    while True:
        try:
            order = connection.receive()
        except (OSError, EOFError, Error):
            flush()
            os._exit(CALLER_GONE)
        orders.put(order)
        if order.kind is Kind.STOP:
            return


def flush() -> None:
    """Passes on the output so far. A stream that fails loses only the text."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass


# Without -P the current folder would come first, and a file there could take the place of a module; the package is found last.
START = "import sys; sys.path.append(sys.argv.pop(1)); from canele._worker import main; main()"


def command(name: str) -> Sequence[str]:
    """Returns the program of a rank for the listener with this name."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return [sys.executable, "-P", "-c", START, folder, name]


def main() -> None:
    """Works for the process whose listener the only argument names."""
    connection = connect(sys.argv[1])
    connection.send(Kind.HELLO, int(os.environ["CANELE_RANK"]))
    sys.exit(serve(connection))
