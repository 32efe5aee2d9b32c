"""Heat on a rod: each rank puts the values at its ends into its neighbours' regions: `canele run -n 4 python halo.py`."""

import canele
import numpy

CELLS, STEPS = 100, 200

with canele.Job() as job:
    world, ends = job.world, {-1: 0, 1: 8}
    # Two values for every step's parity, so that a neighbour that is ahead does not overwrite what is still read.
    region = job.region(2 * 16)
    outside = numpy.frombuffer(region, dtype=numpy.float64).reshape(2, 2)
    region.publish(f"ends of {job.rank}")
    neighbours = {side: job.find_region(f"ends of {job.rank + side}") for side in (-1, 1) if 0 <= job.rank + side < job.size}
    rod = numpy.zeros(CELLS)
    early: dict[int, int] = {}
    for step in range(STEPS):
        for side, neighbour in neighbours.items():
            # My left end is the left neighbour's right outside.
            offset = 16 * (step % 2) + ends[-side]
            neighbour.put_notify(offset, rod[:1].copy() if side < 0 else rod[-1:].copy(), step)
        while early.get(step, 0) < len(neighbours):
            notice = job.wait_notice()
            early[notice.id] = early.get(notice.id, 0) + 1
        left = outside[step % 2][0] if -1 in neighbours else 1.0
        right = outside[step % 2][1] if 1 in neighbours else 0.0
        padded = numpy.concatenate(([left], rod, [right]))
        rod += 0.4 * (padded[:-2] - 2 * rod + padded[2:])
    heat = numpy.zeros(1)
    world.reduce(0, numpy.array([rod.sum()]), heat)
    world.barrier()
    if job.rank == 0:
        print(f"the rod holds {heat[0]:.3f}")
