"""Threads that wait while the job is finished get an error, and so do threads that use its objects later."""

import asyncio
import threading

import canele

job = canele.Job()
world = job.world
mailbox = job.create_mailbox(f"box {job.rank}", 4)
channel = job.channel(job.rank, 1)
region = job.region(64)
remote = region.remote()
sender = job.find_mailbox(f"box {job.rank}", timeout=60)
request = world.irecv(-1, 2, bytearray(1))
duplicate = world.duplicate()


async def awaited():
    await world.irecv(job.rank, 3, bytearray(1))


waits = {
    "recv": lambda: world.recv(-1, 4, bytearray(1)),
    "recv with a time": lambda: world.recv(job.rank, 5, bytearray(1), timeout=600),
    "recv_object": lambda: world.recv_object(-1, 6),
    "probe": lambda: world.probe(-1, 7),
    "probe of one": lambda: duplicate.probe(job.rank, 7),
    "wait": request.wait,
    "wait_all": lambda: canele.wait_all([world.irecv(-1, 8, bytearray(1)), world.irecv(-1, 9, bytearray(1))]),
    "send_sync": lambda: world.send_sync(job.rank, 10, b"x"),
    "retrieve": mailbox.retrieve,
    "notice": job.wait_notice,
    "channel": lambda: channel.recv(bytearray(1)),
    "name": lambda: job.find_region("never published"),
    "await": lambda: asyncio.run(awaited()),
}
outcomes = {}


def call(name):
    try:
        waits[name]()
        outcomes[name] = "returned"
    except canele.Error as error:
        outcomes[name] = type(error).__name__


threads = [threading.Thread(target=call, args=(name,)) for name in waits]
for thread in threads:
    thread.start()
# Some threads wait by now, others find the job finished.
threading.Event().wait(0.2)
world.barrier()
job.finish()
for thread in threads:
    thread.join()
assert outcomes == dict.fromkeys(waits, "Finished"), outcomes

uses = {
    "send": lambda: world.send(job.rank, 1, b"x"),
    "recv": lambda: world.recv(job.rank, 1, bytearray(1)),
    "isend": lambda: world.isend(job.rank, 1, b"x"),
    "irecv": lambda: world.irecv(job.rank, 1, bytearray(1)),
    "barrier": world.barrier,
    "object": lambda: duplicate.send_object(job.rank, 1, {}),
    "duplicate": world.duplicate,
    "region": lambda: job.region(64),
    "region read": lambda: region.read(0, bytearray(1)),
    "region write": lambda: region.write(0, b"x"),
    "publish": lambda: region.publish("late"),
    "put": lambda: remote.put(0, b"x"),
    "get": lambda: remote.get(0, bytearray(1)),
    "put_notify": lambda: remote.put_notify(0, b"x", 1),
    "fetch_add": lambda: remote.fetch_add(0, 1),
    "swap": lambda: remote.compare_and_swap(0, 1, 1),
    "fence": remote.fence,
    "channel": lambda: channel.send(b"x"),
    "mailbox": mailbox.try_retrieve,
    "post": lambda: sender.post(b"x"),
    "create": lambda: job.create_mailbox("late", 1),
    "find": lambda: job.find_mailbox("late"),
    "notice": job.try_notice,
    "finish": job.finish,
}
for name, use in uses.items():
    try:
        use()
    except canele.Finished:
        continue
    raise AssertionError(f"{name} was not refused")
print("finished", flush=True)
