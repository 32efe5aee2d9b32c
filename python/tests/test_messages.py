"""Messages of memory."""

import array
import threading

import canele
import numpy
from support import RankTest, at_least, world


class Messages(RankTest):
    def test_memory_of_every_kind_goes_around(self):
        for data in (b"bytes", bytearray(b"bytearray"), memoryview(b"a view of bytes")[2:6], array.array("d", [1.5, 2.5]),
                     numpy.arange(7, dtype=numpy.int16), numpy.asfortranarray(numpy.ones((3, 4))), b""):
            expected = bytes(memoryview(data).tobytes(order="A"))
            into = bytearray(len(expected) + 3)
            request = world.irecv(self.previous, 5, into)
            world.send(self.next, 5, data)
            self.assertEqual(request.wait(), world_status(self.previous, 5, len(expected)))
            self.assertEqual(bytes(into[: len(expected)]), expected)

    def test_arrays_of_every_length_arrive_in_place(self):
        for length in (1, 6, 7, 1000, 2048, 30_000, 1_000_000):
            sent = numpy.arange(length, dtype=numpy.float64) + self.rank
            got = numpy.zeros(length)
            address = got.ctypes.data
            request = world.irecv(self.previous, length, got)
            world.send(self.next, length, sent)
            request.wait()
            self.assertEqual(got.ctypes.data, address)
            numpy.testing.assert_array_equal(got, numpy.arange(length) + self.previous)

    def test_a_status_tells_source_tag_and_length(self):
        world.isend(self.next, 77, bytes(12)).wait()
        self.assertEqual(world.probe(), world_status(self.previous, 77, 12))
        status = world.recv(canele.ANY_SOURCE, canele.ANY_TAG, bytearray(20))
        self.assertEqual((status.source, status.tag, status.bytes), (self.previous, 77, 12))
        self.assertEqual(repr(status), f"Status(source={self.previous}, tag=77, bytes=12)")
        self.assertIsNone(world.iprobe())

    def test_a_probed_message_is_received_once(self):
        world.isend(self.next, 1, b"12345").wait()
        matched = world.mprobe(self.previous, 1)
        self.assertIsNone(world.improbe())
        self.assertEqual(matched.status.bytes, 5)
        self.assertEqual(matched.recv_bytes(), bytearray(b"12345"))
        with self.assertRaisesRegex(canele.Error, "received before"):
            matched.recv_bytes()
        world.barrier()
        request = world.isend(self.next, 1, b"")
        self.assertEqual(world.recv_bytes(), bytearray())
        request.wait()

    def test_what_cannot_be_sent_says_why(self):
        with self.assertRaisesRegex(TypeError, "list does not lend: use the functions with `object`"):
            world.send(self.next, 0, [1])
        with self.assertRaisesRegex(BufferError, "ascontiguousarray"):
            world.send(self.next, 0, numpy.zeros((4, 4))[:, 1])
        with self.assertRaisesRegex(BufferError, "bytes cannot be filled"):
            world.irecv(self.next, 0, b"constant")
        with self.assertRaisesRegex(ValueError, "-2 is no tag"):
            world.send(self.next, -2, b"")
        with self.assertRaisesRegex(canele.NoSuchRank, f"no rank {self.size} in a job of {self.size}") as caught:
            world.send(self.size, 0, b"")
        self.assertEqual(caught.exception.rank, self.size)

    def test_memory_with_objects_is_refused(self):
        kinds = ["O", [("object", "O"), ("number", "i4")], [("inner", [("object", "O")])], [("time", "M8[s]"), ("object", "O")]]
        if hasattr(numpy.dtypes, "StringDType"):
            kinds.append(numpy.dtypes.StringDType())
        for kind in kinds:
            data = numpy.zeros(self.size, kind)
            calls = (world.send, world.isend, world.send_init)
            calls = [lambda call=call: call(self.next, 1, data) for call in calls]
            calls += [
                lambda: world.recv(self.previous, 1, data),
                lambda: world.irecv(self.previous, 1, data),
                lambda: world.broadcast(self.rank, data),
                lambda: world.gather(self.rank, data),
                lambda: world.allgather(data),
                lambda: world.alltoall(data),
                lambda: world.scatter(self.rank, data, data[:1]),
                lambda: world.ireduce(self.rank, data),
            ]
            for number, call in enumerate(calls):
                with self.assertRaisesRegex(TypeError, "holds Python objects.*`object` in their name", msg=f"{kind}, call {number}"):
                    call()
        with self.assertRaisesRegex(TypeError, "this memoryview holds Python objects"):
            world.send(self.next, 1, memoryview(numpy.zeros(2, "O")))
        # These types have no format, or a name that is not a code.
        for data in (numpy.zeros(3, "M8[s]"), numpy.zeros(3, [("O", "f8")])):
            request = world.isend(self.next, 1, data)
            self.assertEqual(world.recv(self.previous, 1, numpy.empty_like(data)).bytes, 24)
            request.wait()

    def test_a_message_that_is_too_long_names_its_length(self):
        request = world.isend(self.next, 3, bytes(100))
        with self.assertRaisesRegex(canele.Truncated, f"100 bytes from rank {self.previous} with tag 3.*buffer of 10 bytes"):
            world.recv(self.previous, 3, bytearray(10))
        request.wait()

    def test_a_deadline_passes_and_the_message_is_still_received(self):
        into = bytearray(4)
        with self.assertRaises(canele.Deadline):
            world.recv(self.previous, 9, into, timeout=0.01)
        with self.assertRaises(TimeoutError):
            world.probe(self.previous, 9, timeout=0)
        world.barrier()
        request = world.isend(self.next, 9, b"late")
        self.assertEqual(world.recv(self.previous, 9, into, timeout=60).bytes, 4)
        self.assertEqual(into, b"late")
        request.wait(timeout=60)
        with self.assertRaisesRegex(ValueError, "makes no sense"):
            request.wait(timeout=-1)

    def test_requests_are_waited_for_in_any_number_and_order(self):
        into = [bytearray(8) for _ in range(10)]
        receives = [world.irecv(self.previous, tag, into[tag]) for tag in range(10)]
        world.barrier()
        for tag in reversed(range(10)):
            world.send(self.next, tag, bytes([tag]) * 8)
        first = canele.wait_any(receives)
        self.assertTrue(receives[first].test())
        self.assertIn(first, canele.wait_some(receives))
        statuses = canele.wait_all(receives, timeout=60)
        self.assertEqual([status.tag for status in statuses], list(range(10)))
        self.assertEqual(into, [bytearray([tag]) * 8 for tag in range(10)])
        with self.assertRaises(ValueError):
            canele.wait_any([])

    def test_a_receive_is_withdrawn(self):
        request = world.irecv(self.previous, 1234, bytearray(4))
        self.assertFalse(request.test())
        self.assertTrue(request.cancel())
        with self.assertRaises(canele.Cancelled):
            request.wait()
        del request
        # A dropped request does not take the next message.
        world.irecv(self.previous, 1234, bytearray(4))
        world.barrier()
        world.send(self.next, 1234, b"here")
        self.assertEqual(world.recv_bytes(self.previous, 1234), b"here")

    def test_a_send_that_is_forgotten_arrives(self):
        data = numpy.full(500_000, self.rank)
        world.isend(self.next, 4, data)
        del data
        got = numpy.zeros(500_000, dtype=int)
        world.recv(self.previous, 4, got)
        self.assertTrue((got == self.previous).all())

    def test_memory_under_way_cannot_go_away(self):
        into = bytearray(8)
        request = world.irecv(self.previous, 6, into)
        with self.assertRaises(BufferError):
            into.clear()
        world.send(self.next, 6, b"12345678")
        request.wait()
        into.clear()

    @at_least(2)
    def test_other_threads_run_while_one_waits(self):
        received = []
        thread = threading.Thread(target=lambda: received.append(world.recv_bytes(self.previous, 21)))
        thread.start()
        world.barrier()
        world.send(self.next, 21, b"to the thread")
        thread.join(60)
        self.assertEqual(received, [b"to the thread"])

    def test_flows_do_not_mix(self):
        flow = world.duplicate()
        world.isend(self.next, 1, b"world").wait()
        flow.isend(self.next, 1, b"flow!").wait()
        into = bytearray(5)
        flow.recv(self.previous, 1, into)
        self.assertEqual(into, b"flow!")
        world.recv(self.previous, 1, into)
        self.assertEqual(into, b"world")
        flow.set_priority(7)
        with self.assertRaises(canele.Error):
            flow.set_priority(8)


def world_status(source, tag, length):
    class Same:
        def __eq__(self, other):
            return (other.source, other.tag, other.bytes) == (source, tag, length)

        def __repr__(self):
            return f"Status(source={source}, tag={tag}, bytes={length})"

    return Same()
