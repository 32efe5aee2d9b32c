"""A receive from any rank when no rank is left that could send."""

import canele

with canele.Job() as job:
    if job.rank == 0:
        for wait in (lambda: job.world.recv(canele.ANY_SOURCE, 1, bytearray(1)), lambda: job.world.recv_object()):
            try:
                wait()
            except canele.NoSenderLeft as error:
                assert "no message can come any more" in str(error), error
            else:
                raise AssertionError("a message came")
        print("no sender left", flush=True)
