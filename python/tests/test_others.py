"""Regions, notices, channels, mailboxes."""

import sys
import threading

import canele
import numpy
from support import RankTest, at_least, job, world

turns = iter(range(1000))


class Regions(RankTest):
    def test_a_region_is_an_array_that_peers_write(self):
        name = f"table {next(turns)}"
        with job.region(80) as region:
            table = numpy.frombuffer(region, dtype=numpy.float64)
            table[:] = -1
            region.publish(f"{name} {self.rank}")
            world.barrier()
            theirs = job.find_region(f"{name} {self.next}", timeout=60)
            self.assertEqual(theirs.owner, self.next)
            theirs.put_notify(8, numpy.array([self.rank + 0.5]), 7)
            notice = job.wait_notice(timeout=60)
            self.assertEqual((notice.source, notice.id), (self.previous, 7))
            self.assertEqual(list(table[:3]), [-1, self.previous + 0.5, -1])
            got = numpy.zeros(1)
            theirs.fence()
            theirs.get(8, got)
            self.assertEqual(got[0], self.rank + 0.5)
            self.assertIsNone(job.try_notice())
            with self.assertRaisesRegex(canele.OutOfRange, "outside of the region of 80 bytes"):
                region.write(76, bytes(8))
            with self.assertRaises(canele.NameTaken):
                region.publish(f"{name} {self.rank}")
            world.barrier()
        table[0] = 5
        with self.assertRaisesRegex(canele.Error, "closed"):
            region.remote()

    @at_least(2)
    def test_other_threads_run_while_a_region_is_published(self):
        name = f"beside {next(turns)} {self.rank}"
        region = job.region(8)
        has_run = threading.Event()
        gate = threading.Lock()
        interval = sys.getswitchinterval()

        def run():
            with gate:
                has_run.set()

        gate.acquire()
        thread = threading.Thread(target=run)
        thread.start()
        # From here on the other thread runs only when this one waits.
        sys.setswitchinterval(1000)
        try:
            gate.release()
            for number in range(500):
                region.publish(f"{name} {number}")
                if has_run.is_set():
                    break
            did_run = has_run.is_set()
        finally:
            sys.setswitchinterval(interval)
        thread.join()
        self.assertTrue(did_run)

    def test_words_are_counted_atomically(self):
        name = f"counter {next(turns)}"
        region = job.region(16)
        if self.rank == 0:
            region.publish(name)
        counter = job.find_region(name, timeout=60)
        for _ in range(100):
            counter.fetch_add(8, 1)
        world.barrier()
        self.assertEqual(counter.fetch_add(8, 0), 100 * self.size)
        winners = world.allgather_objects(counter.compare_and_swap(0, 0, self.rank + 1) == 0)
        self.assertEqual(winners.count(True), 1)
        self.assertEqual(len(region), 16)

    def test_messages_are_sent_from_and_received_into_regions(self):
        region = job.region(2_000_000)
        data = numpy.frombuffer(region, dtype=numpy.uint8)
        data[:1_000_000] = self.rank + 1
        request = world.irecv(self.previous, 8, data[1_000_000:])
        world.send(self.next, 8, data[:1_000_000])
        request.wait()
        self.assertTrue((data[1_000_000:] == self.previous + 1).all())


class Channels(RankTest):
    def test_lists_travel_as_one_message(self):
        to, source = job.channel(self.next, 3), job.channel(self.previous, 3)
        self.assertEqual((to.peer, to.number), (self.next, 3))
        to.send_list([b"two ", b"parts"])
        head, rest = bytearray(3), bytearray(6)
        self.assertEqual(source.recv_list([head, rest], timeout=60), 9)
        self.assertEqual((head, rest), (b"two", b" parts"))
        to.send(numpy.arange(4))
        got = numpy.zeros(10, dtype=int)
        self.assertEqual(source.recv(got), 32)
        self.assertEqual(list(got[:4]), [0, 1, 2, 3])
        with self.assertRaises(canele.Deadline):
            source.recv(got, timeout=0.01)
        with self.assertRaises(canele.NoSuchRank):
            job.channel(self.size, 0)


class Mailboxes(RankTest):
    def test_all_ranks_post_to_one(self):
        name = f"orders {next(turns)}"
        mailbox = job.create_mailbox(name, 2) if self.rank == 0 else None
        sender = job.find_mailbox(name, timeout=60)
        self.assertEqual(sender.owner, 0)

        def post():
            for n in range(5):
                sender.post_object({"from": self.rank, "n": n})
            sender.post(b"the end")

        thread = threading.Thread(target=post)
        thread.start()
        if mailbox:
            ends, seen = 0, []
            while ends < self.size:
                message = mailbox.retrieve(timeout=60)
                if message.data == b"the end":
                    ends += 1
                    with self.assertRaisesRegex(canele.Error, "no object"):
                        message.object()
                else:
                    obj = message.object()
                    self.assertEqual(obj["from"], message.sender)
                    seen.append((message.sender, obj["n"]))
            self.assertEqual(sorted(seen), [(rank, n) for rank in range(self.size) for n in range(5)])
            for rank in range(self.size):
                self.assertEqual([n for sender, n in seen if sender == rank], list(range(5)))
            self.assertIsNone(mailbox.try_retrieve())
            with self.assertRaises(canele.Deadline):
                mailbox.retrieve(timeout=0.01)
        thread.join(60)
        world.barrier()
        if mailbox:
            self.assertTrue(sender.try_post(b"1") and sender.try_post(b"2"))
            self.assertFalse(sender.try_post(b"3"))
            with self.assertRaises(canele.Deadline):
                sender.post(b"3", timeout=0.01)
            mailbox.close()
            with self.assertRaises(canele.MailboxClosed):
                sender.post(b"4")
        world.barrier()


class Jobs(RankTest):
    def test_a_job_says_what_it_is(self):
        self.assertEqual(repr(job), f"<canele.Job: rank {self.rank} of {self.size}>")
        self.assertEqual((job.hosts, job.local_rank, job.local_size), (1, self.rank, self.size))
        self.assertGreater(sum(job.counters().values()), 0)
        job.set_strategy("fifo")
        job.set_strategy("aggregate")
        with self.assertRaisesRegex(canele.Error, "no strategy"):
            job.set_strategy("lifo")
