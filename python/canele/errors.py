"""Exceptions of Canelé. Each text names the rank and the value that it is about, and what to do."""

from __future__ import annotations

import pickle

__all__ = [
    "Cancelled", "CutOff", "Deadline", "Error", "Finished", "Forked", "LauncherError", "LengthMismatch", "MailboxClosed", "NameTaken",
    "NetworkError", "NoSenderLeft", "NoSuchRank", "OutOfMemory", "OutOfRange", "PeerFailed", "PeerFinished", "PeerLost", "RankFailed",
    "Refused", "RegionLost", "Truncated", "Unpicklable", "Unreachable",
]


class Error(RuntimeError):
    """Any error of Canelé. `rank` is the rank that it is about, or None."""

    rank: int | None = None


class Deadline(Error, TimeoutError):
    """The time-out passed."""


class PeerLost(Error):
    """There is no communication with a rank any more."""


class PeerFailed(PeerLost):
    """The rank died."""


class Unreachable(PeerLost):
    """There is no way to the rank."""


class CutOff(PeerLost):
    """The rank broke the protocol, most likely because its memory is corrupted."""


class PeerFinished(PeerLost):
    """The rank has finished its part of the job in good order."""


class NoSenderLeft(Error):
    """A message of any rank was waited for, and no rank is left that could send one."""


class Truncated(Error, ValueError):
    """The message is longer than the memory to receive it into. It is lost; nothing else is harmed."""


class Cancelled(Error):
    """The operation was withdrawn."""


class RegionLost(Error):
    """A region that a message was copied from or to is gone."""


class NoSuchRank(Error, ValueError):
    """The job has no such rank."""


class LengthMismatch(Error, ValueError):
    """Memory does not have the length or type that the call needs."""


class OutOfRange(Error, IndexError):
    """The range lies outside of the region."""


class OutOfMemory(Error, MemoryError):
    """Memory could not be had."""


class NetworkError(Error, ConnectionError):
    """A peer cannot be connected, or an address not be listened on."""


class LauncherError(Error):
    """The launcher cannot be reached, or this process has joined its job already."""


class NameTaken(Error, ValueError):
    """The name was published before; names are published once in a job."""


class Refused(Error):
    """The owner of memory on another host could not do what it was asked for."""


class MailboxClosed(Error):
    """The owner has closed the mailbox."""


class Forked(Error):
    """The call was made in a forked child, which takes no part in the job."""


class Finished(Error):
    """The job was finished by this rank."""


class RankFailed(Error):
    """A rank of a job that `canele.run` started has failed, and with it the job. Its exception, if it raised one, is the cause."""


class Unpicklable(Error, pickle.PicklingError):
    """An object cannot be sent to another process, or cannot be loaded there."""
