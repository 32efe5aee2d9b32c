"""Ctrl-C while a rank waits in split() for the other one. The calls of the other rank still need those of this one."""

import os
import signal
import threading

import canele

# Shells ignore the signal in what they start in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)

with canele.Job() as job:
    world = job.world
    if job.rank == 0:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            world.split(0)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        timer.join()
        world.send(1, 1, b"go")
        # The rest of the split: the flow of both ranks.
        world.duplicate()
    else:
        world.recv(0, 1, bytearray(2))
        assert world.split(0).size == 2
