"""Exceptions of Canelé. Each text names the rank and the value that it is about, and what to do."""

from __future__ import annotations

import pickle

__all__ = [
    "Cancelled", "CutOff", "Deadline", "Error", "Finished", "Forked", "LauncherError", "LengthMismatch", "MailboxClosed", "NameTaken",
    "NetworkError", "NoSenderLeft", "NoSuchRank", "OutOfMemory", "OutOfRange", "PeerFailed", "PeerFinished", "PeerLost", "RankFailed",
    "Refused", "RegionLost", "Truncated", "Unpicklable", "Unreachable",
]


class Error(RuntimeError):
    """The base of all errors of Canelé. `rank` is the rank that the error is about, or None."""

    rank: int | None = None


class Deadline(Error, TimeoutError):
    """The time-out passed."""


class PeerLost(Error):
    """This rank can no longer communicate with another rank."""


class PeerFailed(PeerLost):
    """The rank died."""


class Unreachable(PeerLost):
    """No connection to the rank is possible."""


class CutOff(PeerLost):
    """The rank broke the protocol, most likely because its memory is corrupted."""


class PeerFinished(PeerLost):
    """The rank has finished its part of the job."""


class NoSenderLeft(Error):
    """The call waits for a message of any rank, but no rank is left that could send one."""


class Truncated(Error, ValueError):
    """The message is longer than the memory that receives it. Only this message is lost."""


class Cancelled(Error):
    """The program has withdrawn the operation."""


class RegionLost(Error):
    """The region of a message in transfer is gone."""


class NoSuchRank(Error, ValueError):
    """The job has no such rank."""


class LengthMismatch(Error, ValueError):
    """Memory does not have the length or type that the call needs."""


class OutOfRange(Error, IndexError):
    """The range lies outside of the region."""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory."""


class NetworkError(Error, ConnectionError):
    """This process cannot connect to a peer, or cannot listen on an address."""


class LauncherError(Error):
    """The launcher cannot be reached, or this process has joined its job already."""


class NameTaken(Error, ValueError):
    """A rank has published this name before. A name can be published once in a job."""


class Refused(Error):
    """The owner of memory on another host could not do the requested operation."""


class MailboxClosed(Error):
    """The owner has closed the mailbox."""


class Forked(Error):
    """A forked child has made the call, but takes no part in the job."""


class Finished(Error):
    """This rank has finished the job."""


class RankFailed(Error):
    """A rank of a job that `canele.run` started has failed, and so has the job. If the rank raised an exception, this is the cause."""


class Unpicklable(Error, pickle.PicklingError):
    """An object cannot be sent to another process, or cannot be loaded there."""
