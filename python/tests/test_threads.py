"""Threads that communicate at the same time, each on a flow of its own; `CANELE_LANES` sets the number of
lanes."""

import threading

import canele
import numpy
from support import RankTest, world

THREADS = 3
ROUNDS = 60
LENGTHS = (1, 100, 4000, 50_000)


class Threads(RankTest):
    def setUp(self) -> None:
        super().setUp()
        self.flows = [world.duplicate(lane) for lane in range(THREADS)]

    def exchange(self, number, failures):
        """Messages of several lengths around the ring, and sums over all ranks."""
        try:
            flow = self.flows[number]
            for turn in range(ROUNDS):
                count = LENGTHS[(turn + number) % len(LENGTHS)]
                mine, theirs = (numpy.full(count, 1000 * turn + number, dtype=numpy.int64) for _ in range(2))
                mine += 100 * self.rank
                requests = [flow.isend(self.next, number, mine), flow.irecv(self.previous, number, theirs)]
                canele.wait_all(requests)
                expected = 1000 * turn + number + 100 * self.previous
                assert (theirs == expected).all(), f"round {turn}: {theirs} instead of {expected}"
                total = numpy.zeros(1, dtype=numpy.int64)
                flow.allreduce(numpy.array([turn + number]), total)
                assert total[0] == self.size * (turn + number), f"round {turn}: {total[0]} in all"
        except BaseException as failure:
            failures.append(f"thread {number}: {failure!r}")

    def test_each_has_the_messages_and_collectives_of_its_flow(self):
        failures = []
        threads = [threading.Thread(target=self.exchange, args=(number, failures)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
            self.assertFalse(thread.is_alive(), "a thread hangs")
        self.assertEqual(failures, [])

    def test_one_wait_may_have_requests_of_several_flows(self):
        for turn in range(ROUNDS):
            arrays = [numpy.zeros(1, dtype=numpy.int64) for _ in self.flows]
            receives = [flow.irecv(self.previous, 7, array) for flow, array in zip(self.flows, arrays)]
            order = [(turn + step) % THREADS for step in range(THREADS)]
            for number in order:
                self.flows[number].send(self.next, 7, numpy.array([turn + number]))
            waited = list(range(THREADS))
            while waited:
                first = canele.wait_any([receives[number] for number in waited], timeout=60)
                number = waited.pop(first)
                receives[number].wait()
                self.assertEqual(arrays[number][0], turn + number)
