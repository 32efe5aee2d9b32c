/* Ports: groups that find each other by the name of a port or a service, and pairs that have a socket. */
#include <sys/socket.h>
#include <unistd.h>
#include "check.h"

static int rank, ranks, half;

/* Returns the half of the world that this rank is in. */
static MPI_Comm split(void)
{
    MPI_Comm mine;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank < half, rank, &mine));
    OK(MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN));
    return mine;
}

static void talk(MPI_Comm with)
{
    int me, n, sum, mine;
    OK(MPI_Comm_rank(with, &me));
    OK(MPI_Comm_remote_size(with, &n));
    CHECK(n == (rank < half ? ranks - half : half));
    mine = rank;
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, with));
    int expected = 0;
    for (int i = 0; i < ranks; i++)
        if ((i < half) != (rank < half)) expected += i;
    CHECK(sum == expected);
    /* Sends whose requests are freed have arrived when the groups disconnect: their memory is the program's
       again. */
    enum { LONG = 1 << 20 };
    int *out = malloc(LONG * sizeof *out), *in = malloc(LONG * sizeof *in);
    if (me == 0) {
        MPI_Request request;
        for (int i = 0; i < LONG; i++) out[i] = i;
        OK(MPI_Isend(out, LONG, MPI_INT, 0, 4, with, &request));
        OK(MPI_Request_free(&request));
        OK(MPI_Irecv(in, LONG, MPI_INT, 0, 4, with, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        int wrong = 0;
        for (int i = 0; i < LONG; i++) wrong += in[i] != i;
        CHECK(wrong == 0);
    }
    OK(MPI_Comm_disconnect(&with));
    CHECK(with == MPI_COMM_NULL);
    free(out);
    free(in);
}

/* Connects both halves; the name of the port goes by a message, or is published as a service. */
static void connect_halves(int service)
{
    MPI_Comm mine = split(), with;
    char port[MPI_MAX_PORT_NAME] = "";
    for (int root = 0; root < 2; root++) {
        int opener = root < half ? root : 0, root_of_others = root < ranks - half ? root : 0;
        int other = half + root_of_others;
        if (rank == opener) {
            OK(MPI_Open_port(MPI_INFO_NULL, port));
            if (service) OK(MPI_Publish_name("halves", MPI_INFO_NULL, port));
            OK(MPI_Send(port, sizeof port, MPI_CHAR, other, 3, MPI_COMM_WORLD));
        }
        if (rank == other) {
            OK(MPI_Recv(port, sizeof port, MPI_CHAR, opener, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            if (service) {
                memset(port, 0, sizeof port);
                OK(MPI_Lookup_name("halves", MPI_INFO_NULL, port));
            }
        }
        if (rank < half) OK(MPI_Comm_accept(port, MPI_INFO_NULL, opener, mine, &with));
        else OK(MPI_Comm_connect(port, MPI_INFO_NULL, root_of_others, mine, &with));
        talk(with);
        if (rank == opener) {
            if (service) OK(MPI_Unpublish_name("halves", MPI_INFO_NULL, port));
            OK(MPI_Close_port(port));
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_Comm_free(&mine));
}

/* One port takes several connections. */
static void many(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    if (rank == 0) OK(MPI_Open_port(MPI_INFO_NULL, port));
    OK(MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD));
    for (int i = rank == 0 ? 1 : rank; i < (rank == 0 ? ranks : rank + 1); i++) {
        MPI_Comm with;
        int one = rank, other = -1;
        if (rank == 0) OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &with));
        else OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &with));
        OK(MPI_Sendrecv(&one, 1, MPI_INT, 0, 1, &other, 1, MPI_INT, 0, 1, with, MPI_STATUS_IGNORE));
        CHECK(rank == 0 ? other > 0 && other < ranks : other == 0);
        OK(MPI_Comm_disconnect(&with));
    }
    if (rank == 0) OK(MPI_Close_port(port));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm none = MPI_COMM_WORLD;
    if (rank > 0) FAILS(MPI_ERR_PORT, MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &none));
}

static void join(void)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    MPI_Comm with = MPI_COMM_WORLD;
    close(ends[1]);
    /* No process is at the other end. */
    CHECK(MPI_Comm_join(ends[0], &with) != MPI_SUCCESS);
    close(ends[0]);
}

static void wrong(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm none;
    FAILS(MPI_ERR_PORT, MPI_Close_port("no port"));
    FAILS(MPI_ERR_PORT, MPI_Comm_connect("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &none));
    FAILS(MPI_ERR_PORT, MPI_Comm_accept("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &none));
    FAILS(MPI_ERR_NAME, MPI_Lookup_name("no service", MPI_INFO_NULL, port));
    FAILS(MPI_ERR_SERVICE, MPI_Unpublish_name("no service", MPI_INFO_NULL, port));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        OK(MPI_Open_port(MPI_INFO_NULL, port));
        OK(MPI_Publish_name("twice", MPI_INFO_NULL, port));
        FAILS(MPI_ERR_SERVICE, MPI_Publish_name("twice", MPI_INFO_NULL, port));
        OK(MPI_Unpublish_name("twice", MPI_INFO_NULL, port));
        FAILS(MPI_ERR_NAME, MPI_Lookup_name("twice", MPI_INFO_NULL, port));
        OK(MPI_Close_port(port));
        FAILS(MPI_ERR_PORT, MPI_Close_port(port));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    half = ranks / 2;
    wrong();
    join();
    if (ranks > 1) {
        connect_halves(0);
        connect_halves(1);
        many();
    }
    MPI_Finalize();
    return result();
}
