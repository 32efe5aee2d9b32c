import os, sys
from mpi4py import MPI
import h5py
comm = MPI.COMM_WORLD
with h5py.File("data.h5", "w", driver="mpio", comm=comm) as file:
    data = file.create_dataset("x", (1000 * comm.size,), dtype="i8")
    data[1000 * comm.rank:1000 * (comm.rank + 1)] = range(comm.rank, comm.rank + 1000)
with h5py.File("data.h5", "r", driver="mpio", comm=comm) as file:
    found = comm.gather([comm.rank, int(file["x"][:].sum())])
    print(*(found or []), sep="\n", end="", flush=True)
