/* Time of collective operations, on any number of ranks. Bytes are those of one rank's part: of each peer's for gather, scatter,
 * allgather, alltoall and reduce_scatter, of the whole vector for the others. The root changes from one operation to the next, and the
 * direction of scan, so that no rank can run ahead of the others for long. */
#include "measure.h"

enum { LARGEST = 1 << 20 };

static char *in, *out;
/* The communicator of all ranks in the opposite order. */
static MPI_Comm backwards;

enum kind { BARRIER, BCAST, REDUCE, ALLREDUCE, SCAN, GATHER, SCATTER, ALLGATHER, ALLTOALL, REDUCE_SCATTER, KINDS };

static const char *names[KINDS] = {"barrier", "bcast",     "reduce",   "allreduce",     "scan",
                                   "gather",  "scatter",   "allgather", "alltoall",     "reduce_scatter"};

struct task { enum kind kind; int bytes; };

static void once(const struct task *t, int root) {
    MPI_Comm all = MPI_COMM_WORLD;
    int bytes = t->bytes, numbers = t->bytes / (int)sizeof(double);
    switch (t->kind) {
    case BARRIER: MPI_Barrier(all); break;
    case BCAST: MPI_Bcast(in, bytes, MPI_BYTE, root, all); break;
    case REDUCE: MPI_Reduce(in, out, numbers, MPI_DOUBLE, MPI_SUM, root, all); break;
    case ALLREDUCE: MPI_Allreduce(in, out, numbers, MPI_DOUBLE, MPI_SUM, all); break;
    case SCAN: MPI_Scan(in, out, numbers, MPI_DOUBLE, MPI_SUM, root % 2 ? backwards : all); break;
    case GATHER: MPI_Gather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, root, all); break;
    case SCATTER: MPI_Scatter(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, root, all); break;
    case ALLGATHER: MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, all); break;
    case ALLTOALL: MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, all); break;
    case REDUCE_SCATTER: MPI_Reduce_scatter_block(in, out, numbers, MPI_DOUBLE, MPI_SUM, all); break;
    case KINDS: break;
    }
}

static void repeat(const void *what, long count) {
    for (long i = 0; i < count; i++) once(what, (int)(i % ranks));
}

int main(int argc, char **argv) {
    start(argc, argv);
    static const int sizes[] = {8, 1024, 65536, LARGEST};
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &backwards);
    in = buffer((size_t)ranks * LARGEST, 0);
    out = buffer((size_t)ranks * LARGEST, 0);
    /* Zeros stay numbers however often they are added. */
    memset(in, 0, (size_t)ranks * LARGEST);
    int count = quick ? 2 : 4;
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < (kind == BARRIER ? 1 : count); i++) {
            struct task t = {kind, kind == BARRIER ? 0 : sizes[quick ? 2 * i : i]};
            tell(names[kind], t.bytes, measure(repeat, &t), "ns");
        }
    free(in);
    free(out);
    MPI_Comm_free(&backwards);
    MPI_Finalize();
    return 0;
}
