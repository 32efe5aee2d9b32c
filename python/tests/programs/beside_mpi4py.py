"""mpi4py over Canelé in the same process: whoever comes first has the job, the other one says so."""

import sys

import canele

if sys.argv[1] == "mpi":
    from mpi4py import MPI

    assert MPI.COMM_WORLD.allreduce(1) == MPI.COMM_WORLD.size
    if MPI.COMM_WORLD.size > 1:
        try:
            canele.Job()
        except canele.LauncherError as error:
            assert "has joined its job already" in str(error), error
        else:
            raise AssertionError("two libraries of a process are one rank")
    assert MPI.COMM_WORLD.allreduce(1) == MPI.COMM_WORLD.size
else:
    import mpi4py

    mpi4py.rc.initialize = False
    from mpi4py import MPI

    with canele.Job() as job:
        assert job.world.allgather_objects(job.rank) == list(range(job.size))
        assert not MPI.Is_initialized()
print("beside", flush=True)
