"""Regions as arrays, and slices of the regions of other ranks, compared with slices of a numpy array."""

import canele
import numpy
from support import RankTest, job, world

turns = iter(range(1000))
KEYS = [
    0, -1, slice(None), slice(1, 3), slice(None, None, 2), slice(None, None, -1), ..., (2, 1), (2, 1, 3), (slice(1, 3), 2), (..., 1), (..., slice(1, 4)),
    (slice(None), slice(1, 3)), (1, slice(None), slice(0, 5, 2)), (slice(3, 1),), (slice(0, 2), slice(None), 4), (1, ..., 2),
    (numpy.int64(1), slice(0, 2)),
]


class Slices(RankTest):
    SHAPE = (4, 3, 5)

    def setUp(self):
        super().setUp()
        name = f"slices {next(turns)}"
        self.region = job.region(16 + 8 * 60)
        self.local = self.region.array("f8", self.SHAPE, 16)
        self.local[:] = numpy.arange(60).reshape(self.SHAPE) + 1000 * self.rank
        self.region.publish(f"{name} {self.rank}")
        self.remote = job.find_region(f"{name} {self.next}", timeout=60).array("f8", self.SHAPE, 16)
        world.barrier()

    def test_a_region_is_an_array(self):
        self.assertEqual((self.local.shape, self.local.dtype), (self.SHAPE, numpy.float64))
        self.assertEqual(self.region.array("f8", offset=16)[1], 1000 * self.rank + 1)
        self.assertEqual(len(self.region.array("u1")), 496)
        self.assertEqual(len(self.region.array("i4", 3)), 3)
        for arguments in (("f8", 63), ("f8", (4, 3, 6)), ("f8", None, 500), ("f8", 1, -8)):
            with self.assertRaises((canele.OutOfRange, OverflowError)):
                self.region.array(*arguments)

    def test_slices_are_read(self):
        expected = numpy.arange(60.0).reshape(self.SHAPE) + 1000 * self.next
        self.assertEqual((self.remote.shape, len(self.remote), self.remote.owner), (self.SHAPE, 4, self.next))
        for key in KEYS:
            got = self.remote[key]
            self.assertEqual(numpy.shape(got), numpy.shape(expected[key]), key)
            numpy.testing.assert_array_equal(got, expected[key], str(key))
        self.assertIsInstance(self.remote[0, 0, 0], numpy.float64)

    def test_slices_are_written(self):
        expected = numpy.arange(60.0).reshape(self.SHAPE) + 1000 * self.rank
        # Each rank writes the next one's array, and knows the data written to its own.
        for number, key in enumerate(KEYS):
            shape = numpy.shape(expected[key])
            values = numpy.arange(float(numpy.prod(shape))).reshape(shape) - 100 * number
            self.remote[key] = values
            expected[key] = values
            world.barrier()
            numpy.testing.assert_array_equal(self.local, expected, str(key))
            world.barrier()
        self.remote[1] = 7
        expected[1] = 7
        self.remote.put((2, 0), numpy.arange(5))
        expected[2, 0] = numpy.arange(5)
        world.barrier()
        numpy.testing.assert_array_equal(self.local, expected)
        self.assertEqual(self.remote.get((2, 0)).tolist(), [0, 1, 2, 3, 4])

    def test_what_does_not_fit_is_refused(self):
        for key in (4, -5, (0, 3), (0, 0, 0, 0)):
            with self.assertRaises(IndexError, msg=str(key)):
                self.remote[key]
        with self.assertRaisesRegex(IndexError, "not a list"):
            self.remote[[0, 1]]
        with self.assertRaises(ValueError):
            self.remote[0] = numpy.zeros((2, 2))
        with self.assertRaisesRegex(canele.LengthMismatch, "complex128"):
            self.remote[0] = numpy.zeros((3, 5), dtype=complex)
        for kind in ("O", [("object", "O"), ("number", "i4")]):
            with self.assertRaisesRegex(TypeError, "hold Python objects"):
                self.region.array(kind, 2)
            with self.assertRaisesRegex(TypeError, "hold Python objects"):
                self.remote.remote.array(kind, 2)
        longer = self.remote.remote.array("f8", (500, 3, 5), 16)
        with self.assertRaisesRegex(canele.OutOfRange, "outside of the region"):
            longer[499]
