from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
assert comm.allreduce(rank) == size * (size - 1) // 2
assert comm.allgather({"rank": rank}) == [{"rank": n} for n in range(size)]
assert comm.sendrecv(rank, (rank + 1) % size, source=(rank - 1) % size) == (rank - 1) % size
part = comm.Split(rank % 2, -rank)
whole = bytearray(8 * part.size)
part.Allgather([rank.to_bytes(8, "little"), MPI.BYTE], [whole, MPI.BYTE])
window = MPI.Win.Allocate(8, comm=comm)
window.Fence()
window.Put([rank.to_bytes(8, "little"), MPI.BYTE], (rank + 1) % size)
window.Fence()
found = comm.gather([rank, part.rank, list(whole[::8]), int.from_bytes(window.tomemory(), "little")])
print(*(found or []), sep="\n", end="", flush=True)
window.Free()
part.Free()
