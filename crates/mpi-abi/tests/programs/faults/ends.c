/* Jobs that end badly, or nearly so; the argument selects the way. Most run until the test ends them. */
#include "../check.h"
#include <mpi-ext.h>

#include <signal.h>
#include <unistd.h>

static int size, rank;

/* Rank 1 dies once the other ranks had time to begin their waits. */
static void die_amid(void)
{
    if (rank == 1) {
        usleep(200000);
        raise(SIGKILL);
    }
}

static void receive(void)
{
    int got;
    die_amid();
    MPI_Recv(&got, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void any(void)
{
    int got;
    die_amid();
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void collective(void)
{
    double in[1000] = {0}, out[1000];
    die_amid();
    for (;;)
        MPI_Allreduce(in, out, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* The message to rank 1 is too long to leave without its receiver, and the barrier lacks rank 1. */
static void all(void)
{
    static char out[1 << 20], in[1 << 20];
    MPI_Request requests[3];
    MPI_Irecv(in, 1 << 20, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[0]);
    die_amid();
    MPI_Isend(out, 1 << 20, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

static void probe(void)
{
    MPI_Status status;
    die_amid();
    MPI_Probe(1, 3, MPI_COMM_WORLD, &status);
}

static void aborts(void)
{
    if (rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The rank in the job differs from that in the communicator. */
static void aborts_part(void)
{
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    if (rank == 1)
        MPI_Abort(reversed, 7);
    MPI_Barrier(reversed);
}

static void exits(void)
{
    if (rank == 1)
        exit(0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void pending(void)
{
    static int got;
    MPI_Request request;
    MPI_Irecv(&got, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &request);
    OK(MPI_Finalize());
    exit(result());
}

/* All ranks leave the same requests unfinished: two receives, and a collective that ended long ago. */
static void pending_alike(void)
{
    static int got[2];
    MPI_Request requests[3];
    MPI_Irecv(&got[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&got[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
    OK(MPI_Finalize());
    exit(result());
}

/* Rank 0 leaves sends unfinished that are too long to leave without their receiver. */
static void pending_sends(void)
{
    static char out[1 << 20];
    MPI_Request requests[2];
    if (rank == 0)
        for (int i = 0; i < 2; i++)
            MPI_Isend(out, 1 << 20, MPI_CHAR, size - 1, 9, MPI_COMM_WORLD, &requests[i]);
    OK(MPI_Finalize());
    exit(result());
}

/* The program ignores that a function is missing, twice. */
static void leaks(void)
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype datatype;
    MPI_Info info;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_group(comm, &group));
    OK(MPI_Type_contiguous(3, MPI_INT, &datatype));
    OK(MPI_Type_dup(datatype, &datatype));
    OK(MPI_Info_create(&info));
    OK(MPI_Finalize());
    exit(result());
}

static void fatal_rank(void)
{
    MPI_Send(&rank, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
}

static void fatal_truncate(void)
{
    int two[2] = {0, 0};
    MPI_Sendrecv(two, 2, MPI_INT, rank, 5, two, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void fatal_handle(void)
{
    MPI_Barrier((MPI_Comm)0x54321);
}

/* A receive from any rank of a communicator without the dead one goes on. */
static void apart(void)
{
    int got = -1, lost;
    MPI_Comm part;
    MPI_Request request;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 1, 0, &part));
    if (rank == 2)
        OK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, part, &request));
    die_amid();
    FAILS(MPIX_ERR_PROC_FAILED, MPI_Recv(&lost, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (rank == 2) {
        OK(MPI_Send(&rank, 1, MPI_INT, 0, 1, part));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, part, MPI_STATUS_IGNORE));
        CHECK(got == 7);
    } else {
        OK(MPI_Recv(&lost, 1, MPI_INT, 1, 1, part, MPI_STATUS_IGNORE));
        for (got = 6; got < 8; got++)
            OK(MPI_Send(&got, 1, MPI_INT, 1, 0, part));
    }
    OK(MPI_Finalize());
    exit(result());
}

static void fine(void)
{
    OK(MPI_Finalize());
    exit(result());
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ends[] = {
        {"receive", receive}, {"any", any},         {"collective", collective}, {"waitall", all},
        {"probe", probe},     {"abort", aborts},    {"abort-part", aborts_part}, {"exit", exits},
        {"pending", pending}, {"leaks", leaks},     {"fatal-rank", fatal_rank}, {"fatal-truncate", fatal_truncate},
        {"fatal-handle", fatal_handle}, {"fine", fine}, {"apart", apart},
        {"pending-alike", pending_alike}, {"pending-sends", pending_sends},
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t n = 0; argc == 2 && n < sizeof ends / sizeof *ends; n++)
        if (strcmp(argv[1], ends[n].name) == 0)
            ends[n].run();
    fprintf(stderr, "it should have ended\n");
    return 99;
}
