"""A token goes around: `canele run -n 4 python ring.py`."""

import canele
import numpy

with canele.Job() as job:
    world = job.world
    following, previous = (job.rank + 1) % job.size, (job.rank - 1) % job.size
    token = numpy.zeros(1, dtype=int)
    receive = world.irecv(previous, 1, token)
    if job.rank == 0:
        world.send(following, 1, numpy.array([1]))
        receive.wait()
        print(f"the token was at {token[0]} ranks")
    else:
        receive.wait()
        world.send(following, 1, token + 1)
