"""Objects that are made and closed, or forgotten, leave no descriptor, mapping or memory behind, in ranks, launcher and supervisor.

LEAK_ROUNDS sets the rounds of each kind."""

import array
import asyncio
import gc
import os
import time

from support import RankTest, job, world

ROUNDS = int(os.environ.get("LEAK_ROUNDS", "100"))
FIRST_ROUNDS = 100
BIG = bytes(100_000)
# Kilobytes by which memory may differ, because allocators keep some for themselves.
SLACK = 1024
# Checks, a hundredth of a second apart, until returned resources are gone; the launcher's report takes a
# while.
LOOKS = 3000


def held_by(process):
    """Descriptors, mappings and kilobytes of memory that is not shared."""
    with open(f"/proc/{process}/maps", encoding="utf-8") as maps, open(f"/proc/{process}/statm", encoding="utf-8") as statm:
        pages = statm.read().split()
        return len(os.listdir(f"/proc/{process}/fd")), sum(1 for _ in maps), (int(pages[1]) - int(pages[2])) * 4


def parent_of(process):
    with open(f"/proc/{process}/stat", encoding="utf-8") as stat:
        return int(stat.read().rsplit(")", 1)[1].split()[1])


def helpers():
    """Returns the processes that hold the ranks; none if the tests run without a launcher."""
    supervisor = os.getppid()
    with open(f"/proc/{supervisor}/comm", encoding="utf-8") as comm:
        return {"supervisor": supervisor, "launcher": parent_of(supervisor)} if "supervisor" in comm.read() else {}


def more_than(before, process):
    """Returns the resources of a process if they stay larger than before, else None."""
    limits = before[0], before[1] + 2, before[2] + SLACK
    for _ in range(LOOKS):
        now = held_by(process)
        if all(is_now <= limit for is_now, limit in zip(now, limits)):
            return None
        # A thread that makes progress reads the launcher's messages.
        world.iprobe(world.rank, 99)
        time.sleep(0.01)
    return now


class Leaks(RankTest):
    def regions(self, n):
        region = job.region(100_000)
        region.publish(f"leak {n} of {self.rank}")
        remote = job.find_region(f"leak {n} of {self.next}")
        remote.put(0, BIG)
        remote.fence()
        world.barrier()
        self.assertEqual(memoryview(region)[:10], BIG[:10])
        del remote
        region.close()
        world.barrier()

    def forgotten_regions(self, n):
        region = job.region(100_000)
        request = world.isend(self.next, 5, memoryview(region))
        self.assertEqual(world.recv(self.previous, 5, job.region(100_000)).bytes, 100_000)
        request.wait()

    def mailboxes(self, n):
        mailbox = job.create_mailbox(f"leak {n} of {self.rank}", 4)
        sender = job.find_mailbox(f"leak {n} of {self.next}")
        sender.post(BIG)
        self.assertEqual(len(mailbox.retrieve().data), len(BIG))
        world.barrier()

    def channels(self, n):
        to, back = job.channel(self.next, n), job.channel(self.previous, n)
        to.send(b"x")
        back.recv(bytearray(1))

    def notices(self, n):
        region = job.region(4096)
        region.publish(f"notice {n} of {self.rank}")
        job.find_region(f"notice {n} of {self.next}").put_notify(0, b"x", n)
        self.assertEqual(job.wait_notice().id, n)
        world.barrier()

    def objects(self, n):
        request = world.isend_object(self.next, 1, [BIG, array.array("d", [n] * 20_000)])
        self.assertEqual(world.recv_object(self.previous, 1)[1][0], n)
        request.wait()

    def requests(self, n):
        request = world.isend(self.next, 2, BIG)
        world.recv_bytes(self.previous, 2)
        request.wait()
        # No call waits for these requests.
        world.irecv(self.previous, 3, bytearray(100_000))
        world.isend(self.next, 4, BIG)
        world.recv_bytes(self.previous, 4)

    def awaited(self, n):
        async def both():
            receive = world.irecv(self.previous, 6, bytearray(100_000))
            await asyncio.gather(receive, world.isend(self.next, 6, BIG))

        asyncio.run(both())

    def taken_messages(self, n):
        request = world.isend(self.next, 7, BIG)
        world.mprobe(self.previous, 7)
        request.wait()

    def flows(self, n):
        flow = world.duplicate()
        if n == 0:
            self.first = repr(flow)
        self.assertEqual(repr(flow), self.first, "the flow of the round before is given back")
        flow.allreduce(array.array("d", [1.0]), array.array("d", [0.0]))
        flow.barrier()

    def flows_of_objects(self, n):
        flow = world.duplicate()
        self.assertEqual(flow.allgather_objects(n), [n] * self.size)
        # No call waits for the requests under way on it.
        flow.irecv(self.previous, 3, bytearray(100_000))
        world.barrier()

    def splits(self, n):
        flow = world.split(self.rank % 2)
        flow.allreduce(array.array("d", [1.0]))
        self.assertEqual(flow.allreduce([n])[0], n)
        world.barrier()

    def persistent(self, n):
        send, receive = world.send_init(self.next, 8, BIG), world.recv_init(self.previous, 8, bytearray(100_000))
        for _ in range(2):
            receive.start()
            send.start()
            receive.wait()
            send.wait()
        # No call waits for this request, which is withdrawn before the next round sends.
        receive.start()
        del receive
        world.barrier()

    def test_nothing_is_left(self):
        kinds = (
            self.regions,
            self.forgotten_regions,
            self.mailboxes,
            self.channels,
            self.notices,
            self.objects,
            self.requests,
            self.awaited,
            self.taken_messages,
            self.flows,
            self.flows_of_objects,
            self.splits,
            self.persistent,
        )
        # Only the first rank checks the helper processes, so each is checked once.
        processes = {"this rank": os.getpid()} | (helpers() if self.rank == 0 else {})
        for kind in kinds:
            with self.subTest(kind.__name__):
                for n in range(FIRST_ROUNDS):
                    kind(n)
                gc.collect()
                world.barrier()
                before = {name: held_by(process) for name, process in processes.items()}
                world.barrier()
                for n in range(FIRST_ROUNDS, FIRST_ROUNDS + ROUNDS):
                    kind(n)
                gc.collect()
                world.barrier()
                for name, process in processes.items():
                    now = more_than(before[name], process)
                    self.assertIsNone(now, f"{name}: {before[name]} has become {now}")
                world.barrier()
