/* Blocking collectives with arguments that look like those of a call before, and are not. */
#include "check.h"

enum { ROUNDS = 40000, MOST = 3 };

static int rank, ranks;

/* Datatypes whose handles come again after some ten thousand others, each of another length. */
static void datatypes(void)
{
    int data[MOST];
    for (int round = 0; round < ROUNDS && !failures; round++) {
        int n = round % MOST + 1;
        MPI_Datatype type;
        MPI_Type_contiguous(n, MPI_INT, &type);
        MPI_Type_commit(&type);
        for (int i = 0; i < MOST; i++) data[i] = rank == 0 ? round + i : -1;
        OK(MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD));
        for (int i = 0; rank != 0 && i < MOST; i++) CHECK(data[i] == (i < n ? round + i : -1));
        MPI_Type_free(&type);
    }
}

static void times(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    (void)datatype;
    for (int i = 0; i < *len; i++) ((int *)inout)[i] *= ((int *)in)[i];
}

/* The same buffers with another operation, another count, in place, on another communicator. */
static void arguments(void)
{
    MPI_Comm own;
    MPI_Op op;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &own));
    OK(MPI_Op_create(times, 1, &op));
    for (int round = 0; round < 20; round++) {
        int in[2] = {2, 3}, out[2] = {7, 7}, product = 1;
        for (int i = 0; i < ranks; i++) product *= 2;
        OK(MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(out[0] == 2 * ranks && out[1] == 7);
        OK(MPI_Allreduce(in, out, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(out[0] == 2 * ranks && out[1] == 3 * ranks);
        OK(MPI_Allreduce(in, out, 1, MPI_INT, op, MPI_COMM_WORLD));
        CHECK(out[0] == product);
        OK(MPI_Allreduce(in, out, 2, MPI_INT, MPI_MAX, own));
        CHECK(out[0] == 2 && out[1] == 3);
        OK(MPI_Allreduce(MPI_IN_PLACE, out, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(out[0] == 2 * ranks && out[1] == 3 * ranks);
        FAILS(MPI_ERR_COUNT, MPI_Allreduce(in, out, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    }
    OK(MPI_Op_free(&op));
    OK(MPI_Comm_free(&own));
    FAILS(MPI_ERR_COMM, MPI_Barrier(own));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    datatypes();
    arguments();
    MPI_Finalize();
    return result();
}
