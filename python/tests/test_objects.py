"""Objects as messages."""

import pickle
import tracemalloc

import canele
import numpy
from support import RankTest, at_least, job, world


class Unpicklable:
    def __reduce__(self):
        raise RuntimeError("cannot be pickled")


def load_unless_at(rank):
    if job.rank == rank:
        raise RuntimeError("cannot be loaded")
    return "loaded"


class Unloadable:
    """Pickles to a text, but fails to load on one rank."""

    def __init__(self, rank):
        self.rank = rank

    def __reduce__(self):
        return load_unless_at, (self.rank,)


class Objects(RankTest):
    def exchange(self, obj, tag=1):
        request = world.isend_object(self.next, tag, obj)
        got = world.recv_object(self.previous, tag)
        request.wait()
        return got

    def test_any_object_goes_around(self):
        for obj in (None, 1, "text", b"bytes", [1, {"a": (2.5, None)}], {1, 2}, "x" * 3000, b"y" * 100_000, list(range(50_000))):
            self.assertEqual(self.exchange(obj), obj)
        self.assertEqual(self.exchange(self.rank), self.previous)

    def test_arrays_travel_beside_the_pickle_and_are_writable(self):
        obj = {"small": numpy.arange(3), "large": numpy.ones((300, 1000)), "columns": numpy.asfortranarray(numpy.eye(5)),
               "empty": numpy.zeros(0), "text": "and more"}
        got = self.exchange(obj)
        for name in ("small", "large", "columns", "empty"):
            numpy.testing.assert_array_equal(got[name], obj[name])
            self.assertTrue(got[name].flags.writeable and got[name].ctypes.data % 16 == 0, name)
        self.assertTrue(got["columns"].flags.f_contiguous)
        got["large"] += 1

    def test_memory_is_allocated_once(self):
        array = numpy.zeros(4_000_000, dtype=numpy.uint8)
        request = world.isend_object(self.next, 2, array)
        tracemalloc.start()
        try:
            got = world.recv_object(self.previous, 2)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        request.wait()
        self.assertEqual(got.nbytes, array.nbytes)
        self.assertLess(peak, 1.1 * array.nbytes)

    def test_objects_and_memory_are_told_apart(self):
        world.isend(self.next, 3, bytes(40)).wait()
        with self.assertRaisesRegex(canele.Error, f"40 bytes from rank {self.previous} with tag 3 is no object"):
            world.recv_object(self.previous, 3)
        request = world.isend_object(self.next, 3, "later")
        self.assertEqual(world.mprobe(self.previous, 3).recv_object(), "later")
        request.wait()

    def test_what_cannot_be_pickled_is_not_sent(self):
        with self.assertRaisesRegex(RuntimeError, "cannot be pickled"):
            world.send_object(self.next, 4, Unpicklable())
        self.assertEqual(self.exchange("the next", 4), "the next")

    def test_forged_messages_are_refused(self):
        good = pickle.dumps(7, 5)
        for data in (b"", good, good + b"\0" * 8, good + (2**32 - 1).to_bytes(4, "little") + b"cpy1", b"\xff" * 8 + bytes(4) + b"cpy1"):
            request = world.isend(self.next, 5, data)
            with self.assertRaisesRegex(canele.Error, "is no object"):
                world.recv_object(self.previous, 5)
            request.wait()

    def test_a_deadline_passes(self):
        with self.assertRaises(canele.Deadline):
            world.recv_object(self.previous, 99, timeout=0.01)


class Collectives(RankTest):
    def test_a_broadcast_object_is_everyones(self):
        for root in range(self.size):
            obj = {"from": root, "array": numpy.arange(1000) * root}
            got = world.broadcast_object(root, obj if self.rank == root else None)
            self.assertEqual(got["from"], root)
            numpy.testing.assert_array_equal(got["array"], obj["array"])
            self.assertIsNone(world.broadcast_object(root))

    def test_objects_are_gathered_in_the_order_of_ranks(self):
        for root in range(self.size):
            got = world.gather_objects(root, ["rank", self.rank])
            self.assertEqual(got, [["rank", rank] for rank in range(self.size)] if self.rank == root else None)
        self.assertEqual(world.allgather_objects(str(self.rank)), [str(rank) for rank in range(self.size)])

    def test_each_rank_gets_its_object(self):
        for root in range(self.size):
            objects = [(root, rank, "x" * 10_000 * rank) for rank in range(self.size)]
            self.assertEqual(world.scatter_objects(root, objects if self.rank == root else None), objects[self.rank])
        got = world.alltoall_objects([(self.rank, to) for to in range(self.size)])
        self.assertEqual(got, [(rank, self.rank) for rank in range(self.size)])
        with self.assertRaisesRegex(ValueError, "one for each rank"):
            world.alltoall_objects([])

    @at_least(2)
    def test_what_cannot_be_loaded_is_not_left_to_the_next_call(self):
        failing = Unloadable(0)
        calls = (
            lambda: world.gather_objects(0, failing),
            lambda: world.allgather_objects(failing),
            lambda: world.alltoall_objects([failing] * self.size),
            lambda: world.reduce(0, failing, op=lambda a, b: a),
        )
        for number, call in enumerate(calls):
            if self.rank == 0:
                with self.assertRaisesRegex(RuntimeError, "cannot be loaded", msg=f"call {number}"):
                    call()
            else:
                call()
            self.assertEqual(world.allgather_objects(self.rank), list(range(self.size)), number)
            self.assertEqual(world.reduce(0, self.rank), sum(range(self.size)) if self.rank == 0 else None, number)

    @at_least(2)
    def test_what_cannot_be_pickled_is_sent_to_no_rank(self):
        parts = [(self.rank, to) for to in range(self.size)]
        expected = [(rank, self.rank) for rank in range(self.size)]
        # Only the last object is pickled; a rank's own part is not.
        failing = [*parts]
        failing[self.previous] = Unpicklable()
        with self.assertRaisesRegex(RuntimeError, "cannot be pickled"):
            world.alltoall_objects(failing)
        self.assertEqual(world.alltoall_objects(parts), expected)
        if self.rank == 0:
            with self.assertRaisesRegex(RuntimeError, "cannot be pickled"):
                world.scatter_objects(0, [0, *[1] * (self.size - 2), Unpicklable()])
        self.assertEqual(world.scatter_objects(0, parts if self.rank == 0 else None), (0, self.rank))
        # A call that sent nothing can be repeated.
        if self.rank == 0:
            with self.assertRaisesRegex(RuntimeError, "cannot be pickled"):
                world.allgather_objects(Unpicklable())
        self.assertEqual(world.allgather_objects(self.rank), list(range(self.size)))
