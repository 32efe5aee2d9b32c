"""Reductions of numbers, arrays and objects by every operation, compared with plain Python."""

import array
import functools
import operator

import canele
import numpy
from canele import Op
from support import RankTest, world

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

PLAIN = {
    Op.SUM: operator.add, Op.PROD: operator.mul, Op.MIN: min, Op.MAX: max,
    Op.LAND: lambda a, b: int(bool(a) and bool(b)), Op.LOR: lambda a, b: int(bool(a) or bool(b)), Op.LXOR: lambda a, b: int(bool(a) != bool(b)),
    Op.BAND: operator.and_, Op.BOR: operator.or_, Op.BXOR: operator.xor,
}


class Reductions(RankTest):
    def of(self, rank):
        """A rank's numbers."""
        return [(rank + 1) * (place + 1) % 4 for place in range(5)]

    def reduced(self, combine, ranks):
        """Reduces the numbers of some ranks, place by place, in plain Python."""
        return [functools.reduce(combine, column) for column in zip(*(self.of(rank) for rank in ranks))]

    def test_every_operation_on_numbers(self):
        for op, combine in PLAIN.items():
            for dtype in "bhilqBHILQ":
                data = numpy.array(self.of(self.rank), dtype=dtype)
                result = world.allreduce(data, op=op)
                self.assertEqual((result.dtype, result.tolist()), (data.dtype, self.reduced(combine, range(self.size))), (op, dtype))
        for op in (Op.SUM, Op.PROD, Op.MIN, Op.MAX):
            for dtype in ("e", "f", "d", "g"):
                result = world.allreduce(numpy.array(self.of(self.rank), dtype=dtype), op=op)
                self.assertEqual((result.dtype.char, result.tolist()), (dtype, self.reduced(PLAIN[op], range(self.size))), (op, dtype))

    def test_every_operation_on_objects(self):
        for op, combine in PLAIN.items():
            values = [rank + 3 for rank in range(self.size)]
            result = world.allreduce(values[self.rank], op=op)
            expected = functools.reduce(combine, values) if self.size > 1 else values[0]
            self.assertEqual(result, expected, op)
        self.assertEqual(world.allreduce(str(self.rank)), "".join(map(str, range(self.size))))
        self.assertEqual(world.allreduce([self.rank]), list(range(self.size)))
        self.assertEqual(world.allreduce(1.5), 1.5 * self.size)
        self.assertEqual(world.allreduce(2j, op=Op.PROD), functools.reduce(operator.mul, [2j] * self.size))

    def test_a_scalar_of_numpy_stays_one(self):
        result = world.allreduce(numpy.float32(self.rank))
        self.assertIsInstance(result, numpy.float32)
        self.assertEqual(result, sum(range(self.size)))
        result = world.allreduce(array.array("h", [self.rank, 1]))
        self.assertEqual(result, array.array("h", [sum(range(self.size)), self.size]))

    def test_complex_numbers(self):
        for dtype in (numpy.complex64, numpy.complex128):
            of = [numpy.array([rank + 1j, 1 - rank * 1j], dtype=dtype) for rank in range(self.size)]
            for op, combine in ((Op.SUM, operator.add), (Op.PROD, operator.mul)):
                result = world.allreduce(of[self.rank], op=op)
                self.assertEqual(result.dtype, dtype)
                numpy.testing.assert_array_equal(result, functools.reduce(combine, of))
        with self.assertRaisesRegex(TypeError, "not defined for ComplexF64"):
            world.iallreduce(numpy.zeros(1, complex), op=Op.MAX)

    def test_truth_values_of_numpy(self):
        of = [numpy.array([True, rank % 2 == 0, False]) for rank in range(self.size)]
        for op, function in ((Op.LAND, numpy.logical_and), (Op.LOR, numpy.logical_or), (Op.LXOR, numpy.logical_xor),
                             (Op.BAND, operator.and_), (Op.BXOR, operator.xor), (Op.SUM, operator.add), (Op.MAX, numpy.maximum)):
            result = world.allreduce(of[self.rank], op=op)
            self.assertEqual((result.dtype, result.tolist()), (of[0].dtype, functools.reduce(function, of).tolist()), op)
        into = numpy.zeros(3, dtype=bool)
        self.assertIsNone(world.allreduce(of[self.rank], into, Op.SUM))
        self.assertEqual(into.tolist(), functools.reduce(operator.add, of).tolist())

    def test_half_precision(self):
        data = numpy.array([self.rank + 0.5, 1e-7], dtype=numpy.float16)
        self.assertEqual(world.allreduce(data)[0], sum(rank + 0.5 for rank in range(self.size)))
        if ml_dtypes is None:
            self.skipTest("needs ml_dtypes")
        of = [numpy.array([rank + 1, 0.5, -3], dtype=ml_dtypes.bfloat16) for rank in range(self.size)]
        for op, combine in ((Op.SUM, operator.add), (Op.PROD, operator.mul), (Op.MAX, numpy.maximum)):
            result = world.allreduce(of[self.rank], op=op)
            self.assertEqual((result.dtype, result.tolist()), (of[0].dtype, functools.reduce(combine, of).tolist()), op)
        with self.assertRaisesRegex(canele.LengthMismatch, "another type"):
            world.allreduce(of[self.rank], numpy.zeros(3, numpy.float16))

    def test_places_of_the_smallest_and_the_largest(self):
        values = [(rank * 2 % 3, rank) for rank in range(self.size)]
        smallest = min(values)
        largest = max(values, key=lambda pair: (pair[0], -pair[1]))
        self.assertEqual(world.allreduce(values[self.rank], op=Op.MINLOC), smallest)
        self.assertEqual(world.allreduce(values[self.rank], op=Op.MAXLOC), largest)
        # With indices of 4 bytes, for which the library has a kernel, and of 8 bytes, for which it has none.
        for index in ("i4", "i8"):
            data = numpy.array([values[self.rank], (1.5, self.rank)], dtype=[("value", "f8"), ("index", index)])
            for op, expected in ((Op.MINLOC, smallest), (Op.MAXLOC, largest)):
                result = world.allreduce(data, op=op)
                self.assertEqual(result.dtype, data.dtype)
                self.assertEqual(result.tolist(), [expected, (1.5, 0)])
        nan = float("nan")
        self.assertEqual(world.allreduce((nan if self.rank else 1.0, self.rank), op=Op.MAXLOC), (1.0, 0))

    def test_a_number_is_taken_before_a_nan(self):
        for at in range(self.size):
            others = [float(rank) for rank in range(self.size) if rank != at]
            mine = float("nan") if self.rank == at else float(self.rank)
            for op, choose in ((Op.MIN, min), (Op.MAX, max)):
                # Values, and arrays that the library or Python reduces.
                result = world.allreduce(mine, op=op)
                of_arrays = [world.allreduce(numpy.array([mine, 1], dtype=kind), op=op)[0] for kind in ("f8", ">f8", object)]
                for value in (result, *of_arrays):
                    if others:
                        self.assertEqual(value, choose(others), (op, at))
                    else:
                        self.assertNotEqual(value, value)
        if hasattr(numpy.dtypes, "StringDType"):
            data = numpy.array([str(self.rank)], dtype=numpy.dtypes.StringDType())
            self.assertEqual(world.allreduce(data, op=Op.MAX)[0], str(self.size - 1))

    def test_results_keep_the_byte_order(self):
        for kind in ("<f8", ">f8", ">i4"):
            data = numpy.arange(3, dtype=kind) + numpy.array(self.rank, dtype=kind)
            data = data.astype(kind)
            # Rank 0 combines nothing in a scan.
            for result in (world.allreduce(data), world.scan(data), world.allreduce(data, op=Op.LAND)):
                self.assertEqual(result.dtype, numpy.dtype(kind))
        pairs = numpy.array([(1.0, self.rank)], dtype=[("value", ">f8"), ("index", ">i4")])
        result = world.allreduce(pairs, op=Op.MINLOC)
        self.assertEqual((result.dtype, result.tolist()), (pairs.dtype, [(1.0, 0)]))

    def test_how_an_array_lies_in_memory_does_not_matter(self):
        whole = numpy.arange(24.0).reshape(4, 6) + self.rank
        expected = sum(numpy.arange(24.0).reshape(4, 6)[:, :3] + rank for rank in range(self.size))
        # Some ranks give a slice, the others a contiguous array.
        data = whole[:, :3] if self.rank % 2 == 0 else whole[:, :3].copy()
        for result in (world.allreduce(data), world.iallreduce(data).wait(), world.reduce(0, data)):
            if result is not None:
                numpy.testing.assert_array_equal(result, expected)
        self.assertEqual(world.scan(data)[0].tolist(), sum(numpy.arange(3.0) + rank for rank in range(self.rank + 1)).tolist())
        columns = numpy.asfortranarray(whole)
        data = columns[:2] if self.rank % 2 else numpy.asfortranarray(columns[:2])
        numpy.testing.assert_array_equal(world.allreduce(data), sum(numpy.arange(12.0).reshape(2, 6) + rank for rank in range(self.size)))
        turned = numpy.arange(24).reshape(2, 3, 4).transpose(1, 0, 2)
        data = turned if self.rank % 2 == 0 else numpy.ascontiguousarray(turned)
        numpy.testing.assert_array_equal(world.allreduce(data), turned * self.size)
        self.assertEqual(world.reduce_scatter(numpy.ones((2 * self.size, 2))[::2]).tolist(), [self.size] * 2)
        with self.assertRaisesRegex(BufferError, "not contiguous"):
            world.allreduce(memoryview(array.array("d", [1, 2, 3]))[::2])
        into = numpy.zeros((2, 6))
        for call in (world.allreduce, world.scan, world.exscan, lambda data, result: world.reduce(self.rank, data, result)):
            with self.assertRaisesRegex(BufferError, "different orders"):
                call(columns[:2].copy(order="F"), into)
        into = numpy.asfortranarray(into)
        world.allreduce(columns[:2].copy(order="F"), into)
        self.assertEqual(into[0, 1], sum(1.0 + rank for rank in range(self.size)))

    def test_a_result_may_take_the_place_of_the_data(self):
        for length in (1, 1000, 100_000):
            of = [numpy.arange(length) % 7 + rank for rank in range(self.size)]
            for call, expected in (
                (world.allreduce, sum(of)),
                (world.scan, sum(of[: self.rank + 1])),
                (world.exscan, sum(of[: self.rank]) if self.rank else of[0]),
                (lambda data, result: world.iallreduce(data, result).wait(), sum(of)),
                (lambda data, result: world.reduce(0, data, result), of[self.rank] if self.rank else sum(of)),
            ):
                data = of[self.rank].copy()
                self.assertIsNone(call(data, data))
                numpy.testing.assert_array_equal(data, expected)

    def test_own_functions_keep_the_order_of_ranks(self):
        def joined(left, right):
            return left + "," + right

        expected = ",".join(map(str, range(self.size)))
        self.assertEqual(world.allreduce(str(self.rank), op=joined), expected)
        for root in range(self.size):
            self.assertEqual(world.reduce(root, str(self.rank), op=joined), expected if self.rank == root else None)
        self.assertEqual(world.scan(str(self.rank), op=joined), ",".join(map(str, range(self.rank + 1))))
        self.assertEqual(world.exscan(str(self.rank), op=joined), ",".join(map(str, range(self.rank))) if self.rank else None)
        matrices = [numpy.array([[1, rank + 1], [1, 0]]) for rank in range(self.size)]
        product = functools.reduce(operator.matmul, matrices)
        self.assertEqual(world.allreduce(matrices[self.rank], op=operator.matmul).tolist(), product.tolist())
        into = numpy.zeros((2, 2), dtype=int)
        self.assertIsNone(world.allreduce(matrices[self.rank], into, operator.matmul))
        self.assertEqual(into.tolist(), product.tolist())

    def test_an_error_of_an_own_function_is_raised(self):
        def fails(left, right):
            raise KeyError("mine")

        if self.size == 1:
            self.skipTest("nothing is combined")
        # All ranks get the error, also those that combine nothing themselves.
        with self.assertRaisesRegex(KeyError, "mine"):
            world.allreduce(1, op=fails)
        with self.assertRaisesRegex(TypeError, "unsupported operand"):
            world.allreduce({})
        if self.rank == 1:
            with self.assertRaisesRegex(KeyError, "mine"):
                world.reduce(1, 1, op=fails)
            with self.assertRaisesRegex(KeyError, "mine"):
                world.scan(1, op=fails)
        else:
            self.assertIsNone(world.reduce(1, 1, op=fails))
            if self.rank == 0:
                self.assertEqual(world.scan(1, op=fails), 1)
            else:
                self.assertRaises(KeyError, world.scan, 1, op=fails)

    def test_prefixes(self):
        for op, combine in PLAIN.items():
            data = numpy.array(self.of(self.rank))
            self.assertEqual(world.scan(data, op=op).tolist(), self.reduced(combine, range(self.rank + 1)), op)
            before = world.exscan(data, op=op)
            if self.rank == 0:
                self.assertIsNone(before)
            else:
                self.assertEqual(before.tolist(), self.reduced(combine, range(self.rank)), op)
        self.assertEqual(world.scan(self.rank), sum(range(self.rank + 1)))
        self.assertEqual(world.exscan(self.rank), sum(range(self.rank)) if self.rank else None)
        into = numpy.full(5, -1)
        world.exscan(numpy.array(self.of(self.rank)), into)
        self.assertEqual(into.tolist(), self.reduced(operator.add, range(self.rank)) if self.rank else [-1] * 5)

    def test_each_rank_gets_its_part_of_the_reduction(self):
        data = numpy.arange(3 * self.size) * (self.rank + 1)
        factor = sum(rank + 1 for rank in range(self.size))
        expected = numpy.arange(3 * self.size) * factor
        mine = expected[3 * self.rank : 3 * self.rank + 3].tolist()
        self.assertEqual(world.reduce_scatter(data).tolist(), mine)
        self.assertEqual(world.reduce_scatter(data.astype(object)).tolist(), mine)
        into = numpy.zeros(3, dtype=int)
        self.assertIsNone(world.reduce_scatter(data, into))
        self.assertEqual(into.tolist(), mine)
        counts = list(range(self.size))
        begin, total = sum(counts[: self.rank]), sum(counts)
        for kind in (int, object):
            result = world.reduce_scatter(numpy.arange(total).astype(kind) * (self.rank + 1), counts=counts)
            self.assertEqual(result.tolist(), (numpy.arange(total) * factor)[begin : begin + self.rank].tolist())
        self.assertEqual(world.reduce_scatter([f"{self.rank}>{to} " for to in range(self.size)]),
                         "".join(f"{rank}>{self.rank} " for rank in range(self.size)))
        with self.assertRaisesRegex(canele.LengthMismatch, "counts of items"):
            world.reduce_scatter(data, counts=[1] * (self.size + 1))
        with self.assertRaisesRegex(canele.LengthMismatch, "items to reduce"):
            world.reduce_scatter(data, counts=[1] * self.size)

    def test_started_reductions_give_their_result(self):
        data = numpy.array(self.of(self.rank))
        requests = [world.iallreduce(data), world.iscan(data, op=Op.MAX), world.iexscan(data), world.ireduce(0, data, op=Op.BOR)]
        everything, prefix, before, of_root = canele.wait_all(requests)
        self.assertEqual(everything.tolist(), self.reduced(operator.add, range(self.size)))
        self.assertEqual(prefix.tolist(), self.reduced(max, range(self.rank + 1)))
        self.assertEqual(before is None, self.rank == 0)
        self.assertEqual(of_root is None, self.rank != 0)
        parts = world.ireduce_scatter(numpy.ones(self.size)).wait()
        self.assertEqual(parts.tolist(), [self.size])
        with self.assertRaisesRegex(TypeError, "the call without `i`"):
            world.iallreduce(data, op=operator.add)
        self.assertEqual(requests[0].wait().tolist(), everything.tolist())
