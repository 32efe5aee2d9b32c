"""The job of the tests: all of them share one, like the parts of a program."""

import unittest

import canele

job = canele.Job()
world = job.world


class RankTest(unittest.TestCase):
    """A test that all ranks run together."""

    rank = job.rank
    size = job.size
    next = (job.rank + 1) % job.size
    previous = (job.rank - 1) % job.size

    def setUp(self) -> None:
        world.barrier()


def at_least(ranks: int):
    """Skips a test in smaller jobs."""
    return unittest.skipUnless(job.size >= ranks, f"needs {ranks} ranks")
