"""Connects a process with the ranks that work for it: by a socket from outside the job, by a flow inside.

Owns the kinds of messages and their shape. Accepts only processes of the same user, because unpickling runs code that the sender chooses."""

from __future__ import annotations

import enum
import os
import pickle
import secrets
import socket
import struct
import threading
from typing import Any, NamedTuple, Protocol

from canele._native import Flow, Request
from canele.errors import LauncherError

HEADER = struct.Struct("<BIQ")
MOST_BUFFERS = 1 << 20
# Buffers up to this many bytes together are copied and sent at once.
SMALL = 1 << 16
UCRED = struct.Struct("3i")


class Kind(enum.IntEnum):
    """The kind of a message. In most kinds the number of the message is the number of a task."""

    HELLO = 1  # from a rank: its number
    SETUP = 2  # to a rank: its surroundings and its initializer
    READY = 3  # from a rank that is set up: its process id
    TASK = 4  # to a rank: function, arguments, keywords
    RESULT = 5  # from a rank: the result of a task
    ERROR = 6  # from a rank: an exception of its setup or of a task
    STOP = 7  # to a rank: the status with which it exits


class Order(NamedTuple):
    """A message."""

    kind: Kind
    number: int
    buffers: list[Any]


class Connection(Protocol):
    """One end of the connection between a rank and the process that it works for."""

    def send(self, kind: Kind, number: int = 0, buffers: list[Any] | None = None) -> None:
        """Sends a message. Raises OSError or canele.Error if the other end is gone."""

    def receive(self) -> Order:
        """Waits for a message. Raises OSError or canele.Error if the other end is gone."""


class SocketConnection:
    """A connection over a stream socket. Any thread may send; one thread receives."""

    def __init__(self, stream: socket.socket) -> None:
        self._socket = stream
        self._sends = threading.Lock()

    def send(self, kind: Kind, number: int = 0, buffers: list[Any] | None = None) -> None:
        views = [memoryview(buffer) for buffer in buffers or ()]
        head = HEADER.pack(kind, len(views), number) + struct.pack(f"<{len(views)}Q", *(view.nbytes for view in views))
        with self._sends:
            if sum(view.nbytes for view in views) <= SMALL:
                self._socket.sendall(b"".join([head, *views]))
            else:
                self._socket.sendall(head)
                for view in views:
                    self._socket.sendall(view)

    def receive(self) -> Order:
        kind, count, number = HEADER.unpack(self._receive_bytes(HEADER.size))
        if count > MOST_BUFFERS:
            raise OSError(f"a message of {count} buffers came, at most {MOST_BUFFERS} are possible")
        lengths = struct.unpack(f"<{count}Q", self._receive_bytes(8 * count))
        return Order(Kind(kind), number, [self._receive_bytes(length) for length in lengths])

    def _receive_bytes(self, length: int) -> bytearray:
        data = bytearray(length)
        view = memoryview(data)
        while view:
            received = self._socket.recv_into(view)
            if received == 0:
                raise EOFError("the other end of the connection has ended")
            view = view[received:]
        return data

    def cut(self) -> None:
        """Ends the connection. A thread that receives from either end gets an error."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self) -> None:
        """Closes the socket. No thread receives any more, and sends fail from now on."""
        self.cut()
        with self._sends:
            self._socket.close()


class FlowConnection:
    """A connection to another rank of the same job. A rank announces its messages, so that one thread can wait for all ranks."""

    ORDER, BELL = 1, 2

    def __init__(self, flow: Flow, peer: int, rings: bool) -> None:
        self._flow = flow
        self._peer = peer
        self._rings = rings

    def send(self, kind: Kind, number: int = 0, buffers: list[Any] | None = None) -> None:
        if self._rings:
            self._flow.send(self._peer, self.BELL, b"!")
        self._flow.send_object(self._peer, self.ORDER, (int(kind), number, [pickle.PickleBuffer(buffer) for buffer in buffers or ()]))

    def receive(self) -> Order:
        kind, number, buffers = self._flow.recv_object(self._peer, self.ORDER)
        return Order(Kind(kind), number, buffers)

    def expect(self) -> Request:
        """Returns a request that ends when the peer sends a message, or is gone."""
        return self._flow.irecv(self._peer, self.BELL, bytearray(1))


def is_own_user(stream: socket.socket) -> bool:
    """Returns True if the process at the other end belongs to this user, or to root."""
    credentials = stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, UCRED.size)
    return UCRED.unpack(credentials)[1] in (os.geteuid(), 0)


class Listener:
    """An abstract socket with a name that cannot be guessed, at which the ranks of a job connect. It leaves no file behind."""

    def __init__(self, ranks: int) -> None:
        self.name = f"canele-python-{secrets.token_hex(16)}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind("\0" + self.name)
        self._socket.listen(ranks)

    def accept(self) -> SocketConnection | None:
        """Waits for the next rank. Returns None once the listener is closed."""
        while True:
            try:
                stream, _ = self._socket.accept()
            except OSError:
                return None
            if is_own_user(stream):
                return SocketConnection(stream)
            stream.close()

    def close(self) -> None:
        """Refuses further connections; a thread in accept() returns."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()


def connect(name: str) -> SocketConnection:
    """Connects to the listener with this name."""
    stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        stream.connect("\0" + name)
    except OSError as error:
        raise LauncherError(f"the process that has started this job cannot be reached ({error}): it has ended, or runs on another host") from error
    if not is_own_user(stream):
        raise LauncherError(f"the socket {name} belongs to another user: start the job again")
    return SocketConnection(stream)
