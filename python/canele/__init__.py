"""Canelé: message passing between processes, as fast as the hardware allows.

A job is a number of processes, its ranks, started together with `canele run`. Ranks exchange messages with tags on flows, put data into
each other's regions, post to mailboxes, and take part in collectives:

    import canele, numpy

    with canele.Job() as job:
        world = job.world
        total = numpy.zeros(3)
        world.allreduce(numpy.full(3, job.rank, dtype=float), total)
        print(job.rank, total)

    $ canele run -n 4 python program.py

Memory (bytes, bytearray, memoryview, numpy.ndarray …) is sent and received where it lies; the functions with `object` in their name take
any picklable object. Requests of the functions that begin with `i` can be awaited under asyncio.
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
    wait_all,
    wait_any,
    wait_some,
)
from canele._run import run
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

__all__ = [
    "ANY_SOURCE", "ANY_TAG", "Channel", "Flow", "Job", "Mailbox", "MailboxSender", "Matched", "Message", "Notice", "Op", "Region",
    "RemoteRegion", "Request", "Status", "__version__", "errors", "run", "wait_all", "wait_any", "wait_some", *errors.__all__,
]
