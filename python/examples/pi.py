"""π as a sum over all ranks: `canele run -n 4 python pi.py`."""

import canele
import numpy

INTERVALS = 1_000_000

with canele.Job() as job:
    middle = (numpy.arange(job.rank, INTERVALS, job.size) + 0.5) / INTERVALS
    part = numpy.array([numpy.sum(4 / (1 + middle**2)) / INTERVALS])
    pi = numpy.zeros(1)
    job.world.reduce(0, part, pi)
    if job.rank == 0:
        print(f"π is about {pi[0]:.9f}")
