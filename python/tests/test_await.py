"""Requests awaited by tasks of asyncio."""

import asyncio
import threading

import canele
import numpy
from support import RankTest, world


class Await(RankTest):
    def test_tasks_wait_for_messages_beside_others(self):
        async def answer(rank):
            number = numpy.zeros(1, dtype=int)
            for _ in range(50):
                await world.irecv(rank, 1, number)
                await world.isend(rank, 2, number * 2)

        async def ask():
            number = numpy.zeros(1, dtype=int)
            for n in range(50):
                if n % 10 == 0:
                    await asyncio.sleep(0.002)
                await world.isend(0, 1, numpy.array([n]))
                status = await world.irecv(0, 2, number)
                self.assertEqual((status.source, int(number[0])), (0, 2 * n))

        async def main():
            ticks = 0

            async def tick():
                nonlocal ticks
                while True:
                    await asyncio.sleep(0.0005)
                    ticks += 1

            ticking = asyncio.create_task(tick())
            tasks = [ask()] if self.rank else []
            if self.rank == 0:
                tasks = [answer(rank) for rank in range(1, self.size)]
            await asyncio.wait_for(asyncio.gather(*tasks, asyncio.sleep(0.01)), 60)
            ticking.cancel()
            self.assertGreater(ticks, 0)

        asyncio.run(main())

    def test_collectives_are_awaited(self):
        async def main():
            result = numpy.zeros(1)
            barrier = world.ibarrier()
            self.assertIsNone(await world.iallreduce(numpy.ones(1), result))
            await barrier
            self.assertEqual(result[0], self.size)

        asyncio.run(main())

    def test_a_failure_is_raised_where_it_is_awaited(self):
        async def main():
            receive = world.irecv(self.previous, 3, bytearray(1))
            await world.isend(self.next, 3, b"too long")
            with self.assertRaises(canele.Truncated):
                await receive

        asyncio.run(main())

    def test_a_task_that_is_cancelled_leaves_the_request(self):
        into = bytearray(4)

        async def main():
            receive = world.irecv(self.previous, 4, into)
            with self.assertRaises(TimeoutError):
                await asyncio.wait_for(receive, 0.01)
            self.assertFalse(receive.test())
            return receive

        receive = asyncio.run(main())
        world.barrier()
        world.send(self.next, 4, b"here")
        self.assertEqual(receive.wait().bytes, 4)
        self.assertEqual(into, b"here")

    def test_several_tasks_await_one_request(self):
        async def awaited(request):
            return (await request).bytes

        async def main():
            receive = world.irecv(self.previous, 5, bytearray(4))
            tasks = [asyncio.ensure_future(awaited(receive)) for _ in range(4)]
            await asyncio.sleep(0)
            tasks[0].cancel()
            await world.isend(self.next, 5, b"you")
            return await asyncio.wait_for(asyncio.gather(*tasks[1:]), 60)

        self.assertEqual(asyncio.run(main()), [3, 3, 3])

    def test_tasks_of_several_event_loops_await_one_request(self):
        receive = world.irecv(self.previous, 6, bytearray(4))
        waiting = threading.Barrier(3)
        seen = []

        async def awaited():
            asyncio.get_running_loop().call_soon(waiting.wait)
            seen.append((await asyncio.wait_for(receive, 60)).bytes)

        threads = [threading.Thread(target=asyncio.run, args=(awaited(),)) for _ in range(2)]
        for thread in threads:
            thread.start()
        waiting.wait()
        world.send(self.next, 6, b"all")
        for thread in threads:
            thread.join()
        self.assertEqual(seen, [3, 3])

    def test_every_function_that_starts_something_is_awaited(self):
        ranks, counts = range(self.size), [1] * self.size
        one, several, parts = numpy.array([float(self.rank)]), numpy.arange(float(self.size)), numpy.zeros(self.size)

        async def main():
            everything = world.isend(self.next, 8, one), world.irecv(self.previous, 8, numpy.zeros(1))
            for request in (*everything, world.isend_sync(self.next, 8, one), world.irecv(self.previous, 8, numpy.zeros(1))):
                self.assertEqual((await request).bytes, 8)
            await world.isend_object(self.next, 8, "object")
            self.assertEqual(await asyncio.to_thread(world.recv_object, self.previous, 8), "object")
            self.assertEqual((await world.iallgather(one))[:, 0].tolist(), list(ranks))
            self.assertEqual((await world.ialltoall(several)).tolist(), counts_times(self.rank))
            self.assertEqual((await world.iscan(one)).tolist(), [sum(range(self.rank + 1))])
            await world.iexscan(one)
            self.assertEqual((await world.ireduce_scatter(several)).tolist(), [self.size * self.rank])
            for root in ranks:
                is_root = self.rank == root
                await world.ibroadcast(root, bytearray(b"0") if is_root else bytearray(1))
                total = await world.ireduce(root, one)
                gathered = await world.igather(root, one)
                await world.iscatter(root, several if is_root else None, parts[:1])
                self.assertEqual(parts[0], self.rank)
                await world.igatherv(root, one, parts if is_root else None, counts if is_root else None)
                await world.iscatterv(root, several if is_root else None, counts if is_root else None, parts[:1])
                if is_root:
                    self.assertEqual((total.tolist(), gathered.tolist()), ([sum(ranks)], [[rank] for rank in ranks]))
            await world.iallgatherv(one, parts, counts)
            self.assertEqual(parts.tolist(), list(ranks))
            await world.ialltoallv(several, counts, parts, counts)
            self.assertEqual(parts.tolist(), counts_times(self.rank))

        def counts_times(value):
            return [value] * self.size

        asyncio.run(asyncio.wait_for(main(), 60))
