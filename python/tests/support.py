"""The job of the tests: one for all of them, as a program has one."""

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
    """Leaves a test out in smaller jobs."""
    return unittest.skipUnless(job.size >= ranks, f"needs {ranks} ranks")
