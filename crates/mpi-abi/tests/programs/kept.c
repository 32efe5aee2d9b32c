/* Blocking collectives whose arguments look like those of an earlier call, but differ. */
#include "check.h"

enum { MOST = 3, HANDLES = 200000 };

static int rank, ranks;

/* Broadcasts one element of `n` numbers. */
static void broadcast(MPI_Datatype type, int n)
{
    int data[MOST];
    for (int i = 0; i < MOST; i++) data[i] = rank == 0 ? 10 * n + i : -1;
    OK(MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD));
    for (int i = 0; rank != 0 && i < MOST; i++) CHECK(data[i] == (i < n ? 10 * n + i : -1));
}

/* Frees a datatype, and makes others until one of another length gets its handle. */
static void datatypes(void)
{
    MPI_Datatype first, type;
    MPI_Type_contiguous(MOST, MPI_INT, &first);
    MPI_Type_commit(&first);
    broadcast(first, MOST);
    type = first;
    MPI_Type_free(&type);
    int again = 0;
    for (int n = 0; n < HANDLES && !again; n++) {
        MPI_Type_contiguous(1, MPI_INT, &type);
        again = type == first;
        if (again) {
            MPI_Type_commit(&type);
            broadcast(type, 1);
        }
        MPI_Type_free(&type);
    }
    CHECK(again);
}

static void times(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    (void)datatype;
    for (int i = 0; i < *len; i++) ((int *)inout)[i] *= ((int *)in)[i];
}

/* The buffers stay; operation, count, place and communicator change. */
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
