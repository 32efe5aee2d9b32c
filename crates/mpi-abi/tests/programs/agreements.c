/* New communicators that are made at the same time: the members of a call find each other by its tag or
   string alone. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

/* Tags whose low 26 bits are equal. */
static const int tags[2] = {5, 5 + (1 << 26)};
static MPI_Comm made[2];
static int rank;

static void make(int which)
{
    MPI_Group group;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, group, tags[which], &made[which]));
    OK(MPI_Group_free(&group));
}

static void *other(void *unused)
{
    (void)unused;
    /* The other call of this rank has most likely begun; the result does not depend on it. */
    usleep(50000);
    make(1 - rank);
    return NULL;
}

/* Each rank begins with another tag. */
static void tags_with_the_same_end(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
    make(rank);
    pthread_join(thread, NULL);
    int number = -1;
    for (int which = 0; which < 2; which++) {
        MPI_Request request;
        int mine = tags[which];
        OK(MPI_Isend(&mine, 1, MPI_INT, 1 - rank, 0, made[which], &request));
        OK(MPI_Recv(&number, 1, MPI_INT, 1 - rank, 0, made[which], MPI_STATUS_IGNORE));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(number == tags[which]);
    }
    OK(MPI_Comm_free(&made[0]));
    OK(MPI_Comm_free(&made[1]));
}

/* Different strings with equal hashes do not match each other. */
static void strings_with_the_same_hash(void)
{
    const char *names[2] = {"name 38519", "name 21771"};
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Group group;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    FAILS(MPI_ERR_ARG,
          MPI_Comm_create_from_group(group, names[rank], MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CHECK(comm == MPI_COMM_NULL);
    OK(MPI_Comm_create_from_group(group, names[0], MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&group));
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    tags_with_the_same_end();
    strings_with_the_same_hash();
    OK(MPI_Finalize());
    return result();
}
