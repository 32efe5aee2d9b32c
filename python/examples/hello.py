"""Each rank greets the next one around a ring, and all tell their names: `canele run -n 4 python hello.py`."""

import canele
import numpy

with canele.Job() as job:
    world = job.world
    following, previous = (job.rank + 1) % job.size, (job.rank - 1) % job.size
    theirs = numpy.zeros(1, dtype=int)
    receive = world.irecv(previous, 1, theirs)
    world.send(following, 1, numpy.array([job.rank]))
    receive.wait()

    greetings = world.allgather_objects(f"rank {job.rank}")  # Any object.
    print(f"rank {job.rank} of {job.size}: greeted by rank {theirs[0]}, and all are {', '.join(greetings)}")
