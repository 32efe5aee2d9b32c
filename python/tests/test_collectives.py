"""Collectives of memory."""

import array

import canele
import numpy
from support import RankTest, world


class Collectives(RankTest):
    def test_a_broadcast_fills_all(self):
        for root in range(self.size):
            data = numpy.full(1000, self.rank)
            world.broadcast(root, data)
            self.assertTrue((data == root).all())
        data = b"constant" if self.rank == 0 else bytearray(8)
        world.broadcast(0, data)
        self.assertEqual(bytes(data), b"constant")

    def test_numbers_of_every_type_are_reduced(self):
        for dtype in "bhilqBHILQfd":
            data = numpy.arange(5, dtype=dtype) + self.rank
            result = numpy.zeros(5, dtype=dtype)
            world.allreduce(data, result)
            numpy.testing.assert_array_equal(result, sum(numpy.arange(5, dtype=dtype) + rank for rank in range(self.size)))
        for op, expected in ((canele.Op.MIN, 1), (canele.Op.MAX, self.size), (canele.Op.PROD, numpy.prod(range(1, self.size + 1)))):
            result = array.array("d", [0])
            world.allreduce(array.array("d", [self.rank + 1]), result, op)
            self.assertEqual(result[0], expected)

    def test_a_reduction_ends_at_its_root(self):
        for root in range(self.size):
            result = numpy.full(3, -1)
            world.reduce(root, numpy.full(3, self.rank), result)
            expected = sum(range(self.size)) if self.rank == root else -1
            self.assertTrue((result == expected).all())
        world.reduce(0, numpy.ones(1), numpy.zeros(1) if self.rank == 0 else None)

    def test_parts_go_where_they_belong(self):
        mine = numpy.full(2, self.rank)
        in_order = numpy.repeat(numpy.arange(self.size), 2)
        everything = numpy.zeros(2 * self.size, dtype=int)
        world.gather(0, mine, everything if self.rank == 0 else None)
        if self.rank == 0:
            numpy.testing.assert_array_equal(everything, in_order)
        part = numpy.full(2, -1)
        world.scatter(0, in_order if self.rank == 0 else None, part)
        self.assertTrue((part == self.rank).all())
        everything[:] = -1
        world.allgather(mine, everything)
        numpy.testing.assert_array_equal(everything, in_order)
        result = numpy.zeros(2 * self.size, dtype=int)
        world.alltoall(numpy.repeat(numpy.arange(self.size) * 100 + self.rank, 2), result)
        numpy.testing.assert_array_equal(result, in_order + 100 * self.rank)

    def test_several_are_under_way(self):
        results = [numpy.zeros(1, dtype=int) for _ in range(8)]
        requests = [world.iallreduce(numpy.array([n + self.rank]), result) for n, result in enumerate(results)]
        requests.append(world.ibarrier())
        self.assertEqual(canele.wait_all(requests), [None] * 9)
        self.assertEqual([int(result[0]) for result in results], [n * self.size + sum(range(self.size)) for n in range(8)])

    def test_memory_of_another_type_is_refused(self):
        numbers, others = numpy.zeros(self.size), numpy.zeros(self.size, dtype=numpy.int64)
        one = numpy.zeros(1)
        calls = [
            lambda: world.allreduce(numbers, others),
            lambda: world.scan(numbers, others),
            lambda: world.exscan(numbers, others),
            lambda: world.reduce_scatter(numbers, others[:1]),
            lambda: world.reduce(self.rank, numbers, others),
            lambda: world.gather(self.rank, one, others),
            lambda: world.scatter(self.rank, others, one),
            lambda: world.allgather(one, others),
            lambda: world.alltoall(numbers, others),
            lambda: world.igatherv(self.rank, one, others, [1] * self.size),
            lambda: world.iscatterv(self.rank, others, [1] * self.size, one),
            lambda: world.iallgatherv(one, others, [1] * self.size),
            lambda: world.ialltoallv(numbers, [1] * self.size, others, [1] * self.size),
        ]
        for number, call in enumerate(calls):
            with self.assertRaisesRegex(canele.LengthMismatch, "another type", msg=f"call {number}"):
                call()
        with self.assertRaisesRegex(canele.LengthMismatch, "I32.*F64"):
            world.alltoall(numbers, numpy.zeros(2 * self.size, dtype=numpy.int32))
        # A buffer of bytes fits every type.
        everything = bytearray(8 * self.size)
        world.allgather(one + 1, everything)
        self.assertEqual(numpy.frombuffer(everything).tolist(), [1.0] * self.size)

    def test_data_and_result_in_the_same_memory_are_refused(self):
        x, ones = numpy.zeros(self.size + 1), [1] * self.size
        data, last = x[:-1], x[self.size - 1 : self.size]
        ring = world.cart([self.size], True)
        calls = [
            lambda: world.alltoall(data, data),
            lambda: world.allgather(last, data),
            lambda: world.gather(self.rank, last, data),
            lambda: world.scatter(self.rank, data, last),
            lambda: world.reduce_scatter(data, last),
            lambda: world.ialltoallv(data, ones, data, ones),
            lambda: world.iallgatherv(last, data, ones),
            lambda: world.igatherv(self.rank, last, data, ones),
            lambda: world.iscatterv(self.rank, data, ones, last),
            lambda: ring.neighbour_exchange(x[:2], x[:2]),
        ]
        if self.size > 1:
            calls += [lambda call=call: call(data, x[1:]) for call in (world.allreduce, world.scan, world.exscan)]
            calls += [lambda: world.reduce(self.rank, data, x[1:]), lambda: world.alltoall(data, x[1:])]
        for number, call in enumerate(calls):
            with self.assertRaisesRegex(ValueError, "in the same memory", msg=f"call {number}"):
                call()
        # Adjacent memory does not overlap.
        world.allreduce(x[:1], x[1:2])

    def test_parts_of_arrays_in_another_order_are_refused(self):
        rows, columns = numpy.zeros((2 * self.size, 3)), numpy.asfortranarray(numpy.zeros((2 * self.size, 3)))
        part, part_in_columns, counts = rows[:2].copy(), numpy.asfortranarray(rows[:2]), [6] * self.size
        grid = world.cart([self.size], True)
        calls = [
            lambda: world.alltoall(columns),
            lambda: world.alltoall(columns, rows),
            lambda: world.alltoall(rows, columns),
            lambda: world.scatter(self.rank, columns, part),
            lambda: world.scatter(self.rank, rows, part_in_columns),
            lambda: world.gather(self.rank, part, columns),
            lambda: world.gather(self.rank, part_in_columns, rows),
            lambda: world.gather(self.next, part_in_columns),
            lambda: world.allgather(part, columns),
            lambda: world.allgather(part_in_columns, rows),
            lambda: world.reduce_scatter(columns),
            lambda: world.reduce_scatter(columns, counts=counts),
            lambda: world.igatherv(self.rank, part, columns, counts),
            lambda: world.iscatterv(self.rank, columns, counts, part),
            lambda: world.iallgatherv(part, columns, counts),
            lambda: world.ialltoallv(rows, counts, columns, counts),
            lambda: grid.neighbour_exchange(part_in_columns, part),
            lambda: grid.neighbour_exchange(part, part_in_columns),
        ]
        for number, call in enumerate(calls):
            with self.assertRaisesRegex(BufferError, "C's order", msg=f"call {number}"):
                call()

    def test_results_are_returned_where_no_memory_is_given(self):
        mine = numpy.full((2, 3), self.rank)
        gathered = world.gather(self.size - 1, mine)
        everything = world.allgather(mine)
        self.assertEqual(everything.shape, (self.size, 2, 3))
        self.assertTrue(all((everything[rank] == rank).all() for rank in range(self.size)))
        if self.rank == self.size - 1:
            numpy.testing.assert_array_equal(gathered, everything)
        else:
            self.assertIsNone(gathered)
        exchanged = world.alltoall(numpy.arange(self.size) + 10 * self.rank)
        self.assertEqual(exchanged.tolist(), [10 * rank + self.rank for rank in range(self.size)])
        self.assertEqual(world.allgather(array.array("i", [self.rank])), array.array("i", range(self.size)))
        rows = numpy.arange(4 * self.size).reshape(2 * self.size, 2)
        self.assertEqual(world.scatter(0, rows if self.rank == 0 else None).tolist(), rows[2 * self.rank : 2 * self.rank + 2].tolist())
        self.assertEqual(world.scatter(0, array.array("h", range(self.size)) if self.rank == 0 else None)[0], self.rank)
        with self.assertRaisesRegex(BufferError, "C's order"):
            world.allgather(numpy.asfortranarray(numpy.zeros((2, 3))))
        self.assertEqual(world.alltoall([(self.rank, to) for to in range(self.size)]), [(rank, self.rank) for rank in range(self.size)])

    def test_what_does_not_fit_is_refused_before_anything_is_sent(self):
        with self.assertRaisesRegex(canele.LengthMismatch, "8 given, 16 needed"):
            world.allreduce(numpy.zeros(2), numpy.zeros(1))
        with self.assertRaisesRegex(canele.LengthMismatch, "another type"):
            world.allreduce(numpy.zeros(2), numpy.zeros(2, dtype=int))
        with self.assertRaisesRegex(TypeError, "op BAND is not defined for F64"):
            world.iallreduce(numpy.zeros(2), numpy.zeros(2), canele.Op.BAND)
        with self.assertRaisesRegex(TypeError, "op is a str"):
            world.allreduce(numpy.zeros(2), op="sum")
        with self.assertRaises(canele.LengthMismatch):
            world.allgather(bytes(3), bytearray(1))
        with self.assertRaises(canele.NoSuchRank):
            world.broadcast(self.size, bytearray(1))
        world.barrier()
