"""Flows of some ranks, and grids."""

import asyncio

import canele
import numpy
from support import RankTest, at_least, job, world


class Groups(RankTest):
    def test_ranks_of_one_color_have_a_flow(self):
        flow = world.split(self.rank % 2, -self.rank)
        mine = [rank for rank in reversed(range(self.size)) if rank % 2 == self.rank % 2]
        self.assertEqual((flow.size, flow.rank), (len(mine), mine.index(self.rank)))
        self.assertEqual(flow.allgather_objects(self.rank), mine)
        self.assertEqual(flow.allreduce(numpy.array([self.rank])).tolist(), [sum(mine)])
        self.assertEqual(flow.allreduce(str(self.rank)), "".join(map(str, mine)))
        for root in range(len(mine)):
            data = numpy.array([self.rank])
            flow.broadcast(root, data)
            self.assertEqual(data[0], mine[root])
            self.assertEqual(flow.broadcast_object(root, self.rank), mine[root])
            parts = flow.gatherv(root, numpy.full(self.rank, self.rank))
            if flow.rank == root:
                self.assertEqual([part.tolist() for part in parts], [[rank] * rank for rank in mine])
        with self.assertRaisesRegex(canele.NoSuchRank, f"no rank {flow.size} in a job of {flow.size}"):
            flow.broadcast(flow.size, bytearray(1))

    def test_messages_name_the_ranks_of_the_flow(self):
        flow = world.split(0, -self.rank)
        following, previous = (flow.rank + 1) % flow.size, (flow.rank - 1) % flow.size
        for call in (lambda into: flow.recv(previous, 1, into), lambda into: flow.recv(canele.ANY_SOURCE, 1, into),
                     lambda into: flow.mprobe(previous, 1).recv(into), lambda into: flow.irecv(previous, 1, into).wait()):
            send = flow.isend(following, 1, numpy.array([self.rank]))
            into = numpy.zeros(1, dtype=int)
            status = call(into)
            self.assertEqual((status.source, into[0]), (previous, self.size - 1 - previous))
            self.assertEqual(send.wait().source, following)
        send = flow.isend_object(following, 2, "object")
        self.assertEqual(flow.probe(previous, 2).source, previous)
        self.assertEqual(flow.mprobe(tag=2).status.source, previous)
        send.wait()
        self.assertEqual(flow.sendrecv_object(following, 3, self.rank, previous, 3), self.size - 1 - previous)
        with self.assertRaises(canele.NoSuchRank):
            flow.send(flow.size, 1, b"")

    def test_no_color_is_no_member(self):
        flow = world.split(None if self.rank == 0 else 7)
        if self.rank == 0:
            self.assertIsNone(flow)
        else:
            self.assertEqual((flow.rank, flow.size), (self.rank - 1, self.size - 1))
            self.assertEqual(flow.allreduce(1), self.size - 1)

    def test_flows_of_flows(self):
        half = world.split(self.rank // 2)
        copy = half.duplicate()
        self.assertEqual((copy.rank, copy.size), (half.rank, half.size))
        self.assertEqual(copy.allreduce(numpy.array([1])).tolist(), [half.size])
        alone = copy.split(copy.rank)
        self.assertEqual((alone.rank, alone.size, alone.allreduce(5)), (0, 1, 5))
        send = copy.isend((copy.rank + 1) % copy.size, 1, b"copy")
        self.assertEqual(copy.recv_bytes((copy.rank - 1) % copy.size, 1), b"copy")
        send.wait()

    def test_many_splits_leave_no_flow_behind(self):
        for turn in range(100):
            flow = world.split(turn % 3 if self.rank else None)
            if flow is not None:
                flow.barrier()

    def test_collectives_of_a_split_flow_are_awaited(self):
        flow = world.split(self.rank % 2)

        async def main():
            total, _ = await asyncio.gather(flow.iallreduce(numpy.ones(2)), flow.ibarrier())
            return total.tolist()

        self.assertEqual(asyncio.run(main()), [float(flow.size)] * 2)


class Grids(RankTest):
    def test_dimensions_are_chosen(self):
        self.assertEqual(canele.choose_dims(12, 2), (4, 3))
        self.assertEqual(canele.choose_dims(24, 3), (4, 3, 2))
        self.assertEqual(canele.choose_dims(7, 2), (7, 1))
        self.assertEqual(canele.choose_dims(12, [0, 6]), (2, 6))
        self.assertEqual(canele.choose_dims(1, 3), (1, 1, 1))
        with self.assertRaisesRegex(ValueError, "5 does not divide 12"):
            canele.choose_dims(12, [5, 0])

    def test_a_line_ends_and_a_ring_does_not(self):
        line, ring = world.cart([self.size]), world.cart([self.size], True)
        self.assertEqual(line.coords, (self.rank,))
        before = self.rank - 1 if self.rank else None
        behind = self.rank + 1 if self.rank + 1 < self.size else None
        self.assertEqual(line.shift(0), (before, behind))
        self.assertEqual(line.neighbours, (before, behind))
        self.assertEqual(ring.shift(0, 2), ((self.rank - 2) % self.size, (self.rank + 2) % self.size))
        self.assertEqual(ring.rank_of([-1]), self.size - 1)
        self.assertIsNone(line.rank_of([self.size]))
        with self.assertRaisesRegex(ValueError, "no dimension 1"):
            line.shift(1)
        with self.assertRaisesRegex(ValueError, "a grid of"):
            world.cart([self.size + 1])

    def test_neighbours_exchange(self):
        for periods in ((False, False), (True, False), (True, True)):
            grid = world.cart(2, periods)
            mine = numpy.array([100 * self.rank + place for place in range(4)], dtype=float)
            got = grid.neighbour_exchange(mine)
            # Data from the previous rank was sent to the rank behind it.
            expected = [mine[place] if rank is None else 100 * rank + (place ^ 1) for place, rank in enumerate(grid.neighbours)]
            self.assertEqual(got.tolist(), expected, periods)
            rows = numpy.repeat(mine, 3).reshape(4, 3)
            into = rows.copy()
            self.assertIsNone(grid.neighbour_exchange(rows, into))
            self.assertEqual(into.tolist(), numpy.repeat(expected, 3).reshape(4, 3).tolist())
            parts = grid.neighbour_gather(numpy.array([self.rank, self.rank]))
            self.assertEqual([None if part is None else part.tolist() for part in parts],
                             [None if rank is None else [rank, rank] for rank in grid.neighbours])
        with self.assertRaisesRegex(canele.LengthMismatch, "another type"):
            grid.neighbour_exchange(mine, mine.astype(int))
        with self.assertRaisesRegex(ValueError, "4 equal parts"):
            grid.neighbour_exchange(bytes(3), bytearray(3))

    @at_least(2)
    def test_some_ranks_have_no_place(self):
        grid = world.cart([self.size - 1])
        if self.rank == self.size - 1:
            self.assertIsNone(grid)
        else:
            self.assertEqual((grid.flow.size, grid.rank), (self.size - 1, self.rank))

    @at_least(4)
    def test_a_grid_has_rows_and_columns(self):
        grid = world.cart([2, 2])
        row, column = grid.sub([False, True]), grid.sub([True, False])
        self.assertEqual(row.flow.allgather_objects(self.rank), [self.rank // 2 * 2, self.rank // 2 * 2 + 1])
        self.assertEqual(column.flow.allgather_objects(self.rank), [self.rank % 2, self.rank % 2 + 2])
        self.assertEqual((row.dims, column.periods), ((2,), (False,)))

    def test_a_neighbour_exchange_is_awaited(self):
        grid = world.cart([self.size], True)

        async def main():
            mine, got = numpy.array([1.0, 2.0]) + 10 * self.rank, numpy.zeros(2)
            await grid.ineighbour_exchange(mine, got)
            return got.tolist()

        self.assertEqual(asyncio.run(main()), [10 * self.previous + 2.0, 10 * self.next + 1.0])
        self.assertEqual(job.rank, self.rank)
