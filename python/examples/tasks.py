"""Messages awaited by tasks of asyncio, beside a timer: `canele run -n 3 python tasks.py`."""

import asyncio

import canele
import numpy

QUESTION, ANSWER, ROUNDS = 1, 2, 20


async def answer(world: canele.Flow, to: int) -> None:
    number = numpy.zeros(1, dtype=int)
    for _ in range(ROUNDS):
        await world.irecv(to, QUESTION, number)
        await world.isend(to, ANSWER, number**2)


async def ask(world: canele.Flow) -> None:
    number = numpy.zeros(1, dtype=int)
    for n in range(ROUNDS):
        await asyncio.sleep(0.001)
        await world.isend(0, QUESTION, numpy.array([n]))
        await world.irecv(0, ANSWER, number)
        assert number[0] == n**2


async def main(job: canele.Job) -> None:
    if job.rank != 0:
        return await ask(job.world)
    await asyncio.gather(*(answer(job.world, rank) for rank in range(1, job.size)), asyncio.sleep(0.01))
    print(f"answered {ROUNDS * (job.size - 1)} questions")


with canele.Job() as job:
    asyncio.run(main(job))
