"""Canelé: message passing between processes, as fast as the hardware allows.

A job is a number of processes, its ranks, which `canele run` starts together. Ranks exchange messages with tags on flows, put data into
each other's regions, post to mailboxes, and take part in collectives:

    import canele, numpy

    with canele.Job() as job:
        world = job.world
        total = world.allreduce(numpy.full(3, job.rank, dtype=float))
        print(job.rank, total)

    $ canele run -n 4 python program.py

The module sends and receives memory (bytes, bytearray, memoryview, numpy.ndarray …) where it lies. The functions with `object` in their
name take any picklable object. Tasks of asyncio can await the requests of the functions that begin with `i`.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):
    raise ImportError("the module canele needs Python 3.11 or newer: older ones have no stable interface to buffers")

from canele import errors
from canele._native import (
    ANY_SOURCE,
    ANY_TAG,
    Channel,
    Flow,
    Job,
    Mailbox,
    MailboxSender,
    Matched,
    Message,
    Notice,
    Op,
    Region,
    RemoteRegion,
    Request,
    Status,
    __version__,
    start_all,
    test_all,
    test_any,
    wait_all,
    wait_any,
    wait_some,
)
from canele._run import run
from canele.cart import Cart, choose_dims
from canele.errors import (
    Cancelled,
    CutOff,
    Deadline,
    Error,
    Finished,
    Forked,
    LauncherError,
    LengthMismatch,
    MailboxClosed,
    NameTaken,
    NetworkError,
    NoSenderLeft,
    NoSuchRank,
    OutOfMemory,
    OutOfRange,
    PeerFailed,
    PeerFinished,
    PeerLost,
    RankFailed,
    Refused,
    RegionLost,
    Truncated,
    Unpicklable,
    Unreachable,
)
from canele.remote_array import RemoteArray

__all__ = [
    "ANY_SOURCE", "ANY_TAG", "Cart", "Channel", "Flow", "Job", "Mailbox", "MailboxSender", "Matched", "Message", "Notice", "Op", "Region",
    "RemoteArray", "RemoteRegion", "Request", "Status", "__version__", "choose_dims", "errors", "run", "start_all", "test_all", "test_any",
    "wait_all", "wait_any", "wait_some", *errors.__all__,
]
