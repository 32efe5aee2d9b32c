"""Exchanges in one call, and persistent requests."""

import asyncio

import canele
import numpy
from support import RankTest, world


class Exchanges(RankTest):
    def test_both_halves_go_at_once(self):
        for length in (1, 1000, 300_000):
            mine, got = numpy.full(length, self.rank), numpy.zeros(length, dtype=int)
            status = world.sendrecv(self.next, 11, mine, self.previous, 11, got)
            self.assertEqual((status.source, status.tag, status.bytes), (self.previous, 11, 8 * length))
            self.assertTrue((got == self.previous).all())
        self.assertEqual(world.sendrecv_object(self.next, 11, ["from", self.rank], canele.ANY_SOURCE, 11), ["from", self.previous])

    def test_a_deadline_withdraws_the_receive(self):
        with self.assertRaises(canele.Deadline):
            world.sendrecv(self.next, 12, b"sent", self.previous, 13, bytearray(4), timeout=0.01)
        world.barrier()
        self.assertEqual(world.recv_bytes(self.previous, 12), b"sent")
        world.send(self.next, 13, b"late")
        self.assertEqual(world.recv_bytes(self.previous, 13), b"late")


class Persistent(RankTest):
    def test_requests_are_started_again_and_again(self):
        for length in (1, 100_000):
            mine, got = numpy.zeros(length, dtype=int), numpy.zeros(length, dtype=int)
            send, receive = world.send_init(self.next, 14, mine), world.recv_init(self.previous, 14, got)
            self.assertIn("not started", repr(send))
            self.assertIsNone(send.wait())
            self.assertTrue(receive.test())
            for turn in range(20):
                mine[:] = 100 * turn + self.rank
                canele.start_all([receive, send])
                sent, received = canele.wait_all([send, receive])
                self.assertEqual((sent.source, received.source, received.bytes), (self.next, self.previous, 8 * length))
                self.assertTrue((got == 100 * turn + self.previous).all())

    def test_a_request_under_way_is_not_started(self):
        receive = world.recv_init(self.previous, 15, bytearray(4))
        receive.start()
        with self.assertRaisesRegex(canele.Error, "under way"):
            receive.start()
        self.assertTrue(receive.cancel())
        with self.assertRaises(canele.Cancelled):
            receive.wait()
        world.barrier()
        receive.start()
        world.send(self.next, 15, b"here")
        self.assertEqual(receive.wait().bytes, 4)
        with self.assertRaisesRegex(canele.Error, "only requests of send_init and recv_init"):
            world.ibarrier().start()

    def test_memory_is_free_between_starts(self):
        data = bytearray(b"1")
        send = world.send_init(self.next, 16, data)
        send.start()
        self.assertEqual(world.recv_bytes(self.previous, 16), b"1")
        send.wait()
        data += b"2"
        send.start()
        self.assertEqual(world.recv_bytes(self.previous, 16), b"12")
        send.wait()
        with self.assertRaises(BufferError):
            world.recv_init(self.previous, 16, b"read-only")

    def test_persistent_requests_are_awaited(self):
        mine, got = numpy.zeros(3), numpy.zeros(3)
        send, receive = world.send_init(self.next, 17, mine), world.recv_init(canele.ANY_SOURCE, 17, got)

        async def main():
            for turn in range(10):
                mine[:] = turn + self.rank
                canele.start_all([send, receive])
                await asyncio.gather(send, receive)
                self.assertEqual(got[0], turn + self.previous)

        asyncio.run(main())

    def test_requests_are_tested_together(self):
        requests = [world.irecv(self.previous, 18, bytearray(1)), world.irecv(self.previous, 19, bytearray(1))]
        self.assertIsNone(canele.test_any(requests))
        self.assertFalse(canele.test_all(requests))
        world.barrier()
        world.send(self.next, 19, b"x")
        while (place := canele.test_any(requests)) is None:
            pass
        self.assertEqual(place, 1)
        self.assertFalse(canele.test_all(requests))
        world.barrier()
        world.send(self.next, 18, b"x")
        while not canele.test_all(requests):
            pass
        self.assertTrue(canele.test_all([]))
