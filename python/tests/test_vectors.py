"""Collectives in which each rank has a part of its own length."""

import array

import canele
import numpy
from support import RankTest, world


class Vectors(RankTest):
    def setUp(self):
        super().setUp()
        # Rank 0 has no elements.
        self.counts = [2 * rank for rank in range(self.size)]
        self.of = [numpy.arange(count) + 100 * rank for rank, count in enumerate(self.counts)]
        self.mine = self.of[self.rank]
        self.everything = numpy.concatenate(self.of)

    def same(self, parts, expected):
        self.assertEqual([part.tolist() for part in parts], [part.tolist() for part in expected])

    def test_parts_are_gathered(self):
        for root in range(self.size):
            for counts in (None, self.counts):
                parts = world.gatherv(root, self.mine, counts=counts)
                if self.rank == root:
                    self.same(parts, self.of)
                else:
                    self.assertIsNone(parts)
            into = numpy.zeros(len(self.everything), dtype=int)
            self.assertIsNone(world.gatherv(root, self.mine, into, self.counts))
            self.assertEqual(into.tolist(), self.everything.tolist() if self.rank == root else [0] * len(into))
        self.same(world.allgatherv(self.mine), self.of)
        into = numpy.zeros(len(self.everything), dtype=int)
        self.assertIsNone(world.allgatherv(self.mine, into, self.counts))
        self.assertEqual(into.tolist(), self.everything.tolist())
        parts = world.allgatherv(array.array("h", [self.rank] * self.rank))
        self.assertEqual(list(parts), [array.array("h", [rank] * rank) for rank in range(self.size)])
        self.assertEqual([bytes(part) for part in world.allgatherv(b"x" * self.rank)], [b"x" * rank for rank in range(self.size)])

    def test_rows_stay_rows(self):
        rows = numpy.full((self.rank + 1, 3), self.rank)
        parts = world.allgatherv(rows)
        self.assertEqual([part.shape for part in parts], [(rank + 1, 3) for rank in range(self.size)])
        self.assertTrue(all((part == rank).all() for rank, part in enumerate(parts)))

    def test_parts_are_scattered(self):
        for root in range(self.size):
            is_root = self.rank == root
            into = numpy.full(len(self.mine), -1)
            world.scatterv(root, self.everything if is_root else None, self.counts if is_root else None, into)
            self.assertEqual(into.tolist(), self.mine.tolist())
            part = world.scatterv(root, self.everything if is_root else None, self.counts if is_root else None)
            self.assertEqual((part.dtype, part.tolist()), (self.mine.dtype, self.mine.tolist()))
            self.assertEqual(world.scatterv(root, self.of if is_root else None).tolist(), self.mine.tolist())
        rows = [numpy.full((rank, 2), rank) for rank in range(self.size)]
        part = world.scatterv(0, rows if self.rank == 0 else None)
        self.assertEqual(part.shape, (self.rank, 2))

    def test_views_of_other_memory_are_scattered(self):
        of = [array.array("i", range(rank + 1)) for rank in range(self.size)]
        part = world.scatterv(0, [memoryview(part) for part in of] if self.rank == 0 else None)
        self.assertEqual(bytes(part), of[self.rank].tobytes())

    def test_rows_may_be_empty(self):
        rows = [numpy.zeros((rank + 2, 0)) for rank in range(self.size)]
        self.assertEqual(world.scatterv(0, rows if self.rank == 0 else None).size, 0)
        self.assertEqual([part.shape for part in world.allgatherv(numpy.zeros((2, 0)))], [(0, 0)] * self.size)

    def test_all_parts_are_exchanged(self):
        counts = [self.rank + to for to in range(self.size)]
        data = numpy.concatenate([numpy.full(count, 10 * self.rank + to) for to, count in enumerate(counts)])
        expected = [numpy.full(rank + self.rank, 10 * rank + self.rank) for rank in range(self.size)]
        self.same(world.alltoallv(data, counts), expected)
        into = numpy.zeros(sum(counts), dtype=int)
        self.assertIsNone(world.alltoallv(data, counts, into, counts))
        self.assertEqual(into.tolist(), numpy.concatenate(expected).tolist())
        parts = numpy.split(data, numpy.cumsum(counts)[:-1])
        self.same(world.alltoallv(parts), expected)
        self.same(world.alltoall(parts), expected)

    def test_what_does_not_fit_is_refused_before_anything_is_sent(self):
        with self.assertRaisesRegex(canele.LengthMismatch, "counts of items, one for each rank"):
            world.iallgatherv(self.mine, self.everything, [1] * (self.size + 1))
        with self.assertRaisesRegex(canele.LengthMismatch, "bytes of memory for all counts"):
            world.iallgatherv(self.mine, self.everything, [100] * self.size)
        with self.assertRaisesRegex(canele.LengthMismatch, "the part of this rank"):
            world.igatherv(self.rank, numpy.zeros(99, dtype=int), self.everything, self.counts)
        with self.assertRaisesRegex(canele.LengthMismatch, "one is missing"):
            world.igatherv(self.rank, self.mine)
        with self.assertRaisesRegex(ValueError, "counts are missing"):
            world.alltoallv(self.everything)
        with self.assertRaisesRegex(ValueError, "one for each rank"):
            world.alltoallv(self.everything, [0] * (self.size + 1))
