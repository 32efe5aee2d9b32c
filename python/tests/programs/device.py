"""Every call refuses memory of a device; a copy in other memory can be sent."""

import canele

job = canele.Job()
world, me = job.world, job.rank
device = bytearray(b"D" * 64)
calls = (
    lambda: world.send(me, 1, device),
    lambda: world.isend(me, 1, device),
    lambda: world.recv(me, 1, device),
    lambda: world.irecv(me, 1, device),
    lambda: world.broadcast(0, device),
    lambda: job.region(64).write(0, device),
)
for call in calls:
    try:
        call()
    except BufferError as error:
        assert "memory of device 3" in str(error), error
    else:
        raise AssertionError("memory of a device was taken")
into = bytearray(3)
request = world.irecv(me, 1, into)
world.send(me, 1, b"ost")
request.wait()
assert into == b"ost"
job.finish()
print("refused")
