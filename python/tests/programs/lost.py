"""A rank dies, the others go on: `canele run -n 3 --on-failure continue`."""

import os
import signal

import canele

job = canele.Job()
world = job.world
world.barrier()
# No other rank may still be in the barrier when this one dies.
if job.rank == 1:
    for other in (0, 2):
        world.recv(other, 3, bytearray(1))
    os.kill(os.getpid(), signal.SIGKILL)
world.send(1, 3, b"x")
try:
    world.recv(1, 1, bytearray(1))
except canele.PeerFailed as error:
    assert error.rank == 1 and isinstance(error, canele.PeerLost) and "rank 1 is gone" in str(error), error
else:
    raise AssertionError("a message of a dead rank came")
try:
    world.barrier()
except canele.PeerFailed as error:
    assert error.rank == 1, error
other = 2 if job.rank == 0 else 0
request = world.isend_object(other, 2, job.rank)
assert world.recv_object(other, 2) == other
request.wait()
job.finish()
print("went on", flush=True)
