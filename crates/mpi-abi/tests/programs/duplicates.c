/* Non-blocking duplicates of communicators, within a group and between two. */
#include "check.h"

static int size, rank;

/* Checks that members can add up their ranks; between two groups each group has the other's sum. */
static void works(MPI_Comm comm, int others)
{
    int mine = -1, sum = -1;
    OK(MPI_Comm_rank(comm, &mine));
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == others * (others - 1) / 2);
}

static void within(void)
{
    MPI_Comm two[2];
    MPI_Request requests[2];
    OK(MPI_Comm_idup(MPI_COMM_WORLD, &two[0], &requests[0]));
    OK(MPI_Comm_idup(MPI_COMM_WORLD, &two[1], &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    for (int n = 0; n < 2; n++) {
        works(two[n], size);
        OK(MPI_Comm_free(&two[n]));
    }
}

/* Each rank duplicates its communicators with both neighbours, in an order of its own, while other calls go
   on. */
static void overlapping(void)
{
    MPI_Comm ours[2] = {MPI_COMM_NULL, MPI_COMM_NULL}, copies[2], other;
    MPI_Request requests[2], sum;
    int one = 1, all = -1, left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int n = 0; n < size; n++) {
        int in = rank == n || left == n;
        OK(MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, 0, &other));
        if (in)
            ours[rank == n ? 0 : 1] = other;
    }
    for (int n = 0; n < 2; n++)
        OK(MPI_Comm_idup(ours[n], &copies[n], &requests[n]));
    OK(MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &sum));
    OK(MPI_Wait(&sum, MPI_STATUS_IGNORE));
    CHECK(all == size);
    /* Rank 0 waits for the end of the other ranks' duplicates before its own. */
    if (rank == 0)
        OK(MPI_Recv(&all, 1, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    if (right == 0)
        OK(MPI_Send(&all, 1, MPI_INT, 0, 3, MPI_COMM_WORLD));
    for (int n = 0; n < size; n++) {
        if (rank == n)
            works(copies[0], 2);
        if (left == n)
            works(copies[1], 2);
    }
    for (int n = 0; n < 2; n++) {
        OK(MPI_Comm_free(&copies[n]));
        OK(MPI_Comm_free(&ours[n]));
    }
}

/* A collective that starts on the same communicator during a duplicate keeps its order. */
static void beside(void)
{
    MPI_Comm copy;
    MPI_Request requests[2];
    int one = 1, all = -1;
    OK(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &requests[0]));
    OK(MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]));
    OK(MPI_Wait(&requests[rank % 2], MPI_STATUS_IGNORE));
    OK(MPI_Wait(&requests[1 - rank % 2], MPI_STATUS_IGNORE));
    CHECK(all == size);
    works(copy, size);
    OK(MPI_Comm_free(&copy));
}

/* One group has a communicator that the other has not, so their first free numbers differ. */
static void between(void)
{
    MPI_Comm half, own = MPI_COMM_NULL, joined, copy;
    MPI_Request request;
    int others = -1;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0, 7, &joined));
    if (rank % 2)
        OK(MPI_Comm_dup(half, &own));
    OK(MPI_Comm_idup(joined, &copy, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_remote_size(copy, &others));
    works(copy, others);
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&joined));
    if (own != MPI_COMM_NULL)
        OK(MPI_Comm_free(&own));
    OK(MPI_Comm_free(&half));
}

static int refuse(MPI_Comm comm, int key, void *state, void *value, void *copy, int *flag)
{
    (void)comm, (void)key, (void)state, (void)value, (void)copy, (void)flag;
    return MPI_ERR_OTHER;
}

/* A duplicate fails if an attribute cannot be copied, and the communicator is still usable. */
static void refused(void)
{
    MPI_Comm comm, copy;
    MPI_Request request;
    int key;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Comm_set_attr(comm, key, &key));
    for (int n = 0; n < 100; n++) {
        OK(MPI_Comm_idup(comm, &copy, &request));
        FAILS(MPI_ERR_OTHER, MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(copy == MPI_COMM_NULL);
    }
    OK(MPI_Comm_delete_attr(comm, key));
    OK(MPI_Comm_free_keyval(&key));
    works(comm, size);
    OK(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    within();
    beside();
    refused();
    if (size > 1) {
        overlapping();
        between();
    }
    MPI_Finalize();
    return result();
}
