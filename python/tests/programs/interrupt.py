"""Ctrl-C while a rank waits; alone or as one of several ranks, none of which sends."""

import os
import signal
import threading

import canele


def interrupted(wait) -> None:
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        wait()
    except KeyboardInterrupt:
        return
    finally:
        timer.join()
    raise AssertionError("the wait ended")


# Shells make background processes ignore the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)

with canele.Job() as job:
    world, me = job.world, job.rank
    into = bytearray(3)
    request = world.irecv(me, 2, bytearray(1))
    for wait in (
        lambda: world.recv(me, 1, into),
        lambda: world.recv_object(me, 1),
        lambda: world.probe(),
        lambda: world.send_sync(me, 3, bytes(100_000)),
        request.wait,
        lambda: canele.wait_all([request]),
        lambda: job.wait_notice(),
        lambda: job.find_region("none"),
        lambda: job.channel(me, 1).recv(into),
        lambda: job.create_mailbox(f"box {me} {id(into)}", 1).retrieve(),
    ):
        interrupted(wait)
    # The interrupted receive leaves nothing: the next receive gets the next message.
    world.send(me, 1, b"one")
    assert world.recv(me, 1, into).bytes == 3 and into == b"one"
    assert request.cancel()
    print("interrupted", flush=True)
