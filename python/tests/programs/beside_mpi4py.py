"""mpi4py over Canelé in the same process: both are one rank of one job, in any order of start and end."""

import os
import sys
import threading

import mpi4py
import numpy

mpi4py.rc.initialize = mpi4py.rc.finalize = False
# pylint: disable=wrong-import-position
from mpi4py import MPI

import canele


def refused_in_child():
    """A forked child is not the rank, though it has a copy of the library's memory."""
    child = os.fork()
    if child == 0:
        try:
            canele.Job()
        except canele.Forked:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def begin(first):
    """Starts both; the first one uses collectives and messages of the world before the other starts."""
    if first == "mpi":
        MPI.Init_thread()
        assert MPI.COMM_WORLD.allreduce(1) == MPI.COMM_WORLD.size
        refused_in_child()
        request = MPI.COMM_WORLD.irecv(source=MPI.PROC_NULL)
        job = canele.Job()
        request.wait()
    else:
        job = canele.Job()
        for _ in range(3):
            assert job.world.allgather_objects(job.rank) == list(range(job.size))
        MPI.Init_thread()
    assert (MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size) == (job.rank, job.size)
    return job


def collectives(job):
    """Calls collectives of both, in turn."""
    for number in range(20):
        assert MPI.COMM_WORLD.allreduce(number) == number * job.size
        sums = numpy.zeros(3)
        job.world.allreduce(numpy.full(3, float(number)), sums, canele.Op.SUM)
        assert (sums == number * job.size).all()
        assert job.world.allgather_objects((number, job.rank)) == [(number, rank) for rank in range(job.size)]
        MPI.COMM_WORLD.Barrier()


def messages(job):
    """Messages of the world go between both interfaces; flows, mailboxes and channels are separate from
    communicators."""
    after, before = (job.rank + 1) % job.size, (job.rank - 1) % job.size
    apart = job.world.duplicate()
    mailbox = job.create_mailbox(f"box{job.rank}", 4)
    for size in (8, 5000, 1 << 20):
        sent, got = numpy.full(size, job.rank, dtype="u1"), numpy.zeros(size, dtype="u1")
        receive = MPI.COMM_WORLD.Irecv(got, source=before, tag=MPI.ANY_TAG)
        # None of these messages is for the receive above.
        elsewhere = apart.isend(after, 3, sent)
        job.find_mailbox(f"box{after}").post_object(("posted", size))
        to_self = MPI.COMM_SELF.Isend(sent, 0, 9)
        job.world.isend(after, 5, sent).wait()
        receive.Wait()
        assert (got == before).all()
        apart.recv(before, 3, got)
        assert mailbox.retrieve().object() == ("posted", size)
        MPI.COMM_SELF.Recv(got)
        assert (got == job.rank).all()
        elsewhere.wait()
        to_self.Wait()
        back = MPI.COMM_WORLD.Isend(sent, before, 6)
        job.world.recv(after, 6, got)
        back.Wait()
        assert (got == after).all()


def channels(job):
    """Sends through a ring, while a message of MPI waits for its receive."""
    if job.size == 1:
        return
    after, before = (job.rank + 1) % job.size, (job.rank - 1) % job.size
    to, source = job.channel(after, 1), job.channel(before, 1)
    for size in (8, 1 << 20):
        waits = MPI.COMM_WORLD.Isend(numpy.full(size, 77, dtype="u1"), after, 7)
        got = numpy.full(size, 1, dtype="u1")
        if job.rank > 0:
            source.recv(got)
        to.send(got + 1)
        if job.rank == 0:
            source.recv(got)
            assert (got == job.size + 1).all()
        MPI.COMM_WORLD.Recv(got, before, 7)
        assert (got == 77).all()
        waits.Wait()


def threads(job):
    """Threads wait in both interfaces at the same time, and each wakes for its own message."""
    after, before = (job.rank + 1) % job.size, (job.rank - 1) % job.size
    apart, comm = job.world.duplicate(), MPI.COMM_WORLD.Dup()

    def native():
        token = bytearray(8)
        for number in range(300):
            with_timeout = number % 3 == 0
            request = apart.isend(after, 1, number.to_bytes(8, "little"))
            apart.recv(before, 1, token, 60.0 if with_timeout else None)
            assert int.from_bytes(token, "little") == number
            request.wait()

    def of_mpi():
        for number in range(300):
            assert comm.sendrecv(number, after, 2, source=before, recvtag=2) == number

    running = [threading.Thread(target=target) for target in (native, of_mpi)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    comm.Free()


def memory(job):
    """Uses a window of MPI beside a region."""
    numbers = numpy.zeros(job.size)
    window = MPI.Win.Create(numbers, numbers.itemsize, comm=MPI.COMM_WORLD)
    region = job.region(8 * job.size)
    region.publish(f"region{job.rank}")
    after = (job.rank + 1) % job.size
    window.Fence()
    number = numpy.array([job.rank + 1.0])
    window.Put(number, after, job.rank)
    remote = job.find_region(f"region{after}")
    remote.put(8 * job.rank, number)
    remote.fence()
    window.Fence()
    job.world.barrier()
    before = (job.rank - 1) % job.size
    assert numbers[before] == numpy.frombuffer(region, dtype=float)[before] == before + 1
    window.Free()


def main(first, last):
    """Runs all parts."""
    job = begin(first)
    collectives(job)
    messages(job)
    channels(job)
    memory(job)
    threads(job)
    try:
        canele.Job()
    except canele.LauncherError as error:
        assert "has joined its job already" in str(error), error
    else:
        raise AssertionError("the native interface joins once")
    if last == "canele":
        MPI.Finalize()
        MPI.Session.Init().Finalize()
        assert job.world.allgather_objects(job.rank) == list(range(job.size))
        job.finish()
    else:
        job.finish()
        assert MPI.COMM_WORLD.allreduce(1) == MPI.COMM_WORLD.size
        MPI.Finalize()
    print("beside", flush=True)


main(*sys.argv[1:])
