"""Rank 0 gives out work, the others send back what they have found: `canele run -n 4 python work.py`."""

import canele

WORK, RESULT = 1, 2

with canele.Job() as job:
    world = job.world
    if job.rank == 0:
        numbers, results = iter(range(2, 200)), {}
        workers = list(range(1, job.size))
        for worker in workers:
            world.send_object(worker, WORK, next(numbers))
        while workers:
            matched = world.mprobe(tag=RESULT)
            number, is_prime = matched.recv_object()
            results[number] = is_prime
            following = next(numbers, None)
            world.send_object(matched.status.source, WORK, following)
            if following is None:
                workers.remove(matched.status.source)
        print(f"{sum(results.values())} of {len(results)} numbers are prime")
    else:
        while (number := world.recv_object(0, WORK)) is not None:
            world.send_object(0, RESULT, (number, all(number % n for n in range(2, number))))
