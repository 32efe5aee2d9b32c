/* A parent and two children that disconnect, or do not; then one child fails. Arguments: the way to
   disconnect, the way to fail. */
#include "../check.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

static MPI_Comm children(char **arguments, int n)
{
    static char self[PATH_MAX];
    MPI_Comm below = MPI_COMM_NULL;
    CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    OK(MPI_Comm_spawn(self, arguments, n, MPI_INFO_NULL, 0, MPI_COMM_SELF, &below, MPI_ERRCODES_IGNORE));
    return below;
}

static void fail_by(const char *how)
{
    if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(how, "kill") == 0) raise(SIGKILL);
    _exit(3);
}

/* Waits for the end by another process. */
static void await_end(void)
{
    for (;;) pause();
}

/* Holds the first child until the parent and the other child are in no call that its failure would end. */
static void await_others(MPI_Comm with, int is_child)
{
    int rank;
    OK(MPI_Comm_rank(with, &rank));
    if (!is_child) {
        OK(MPI_Send(NULL, 0, MPI_INT, 0, 1, with));
    } else if (rank > 0) {
        OK(MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD));
    } else {
        OK(MPI_Recv(NULL, 0, MPI_INT, 0, 1, with, MPI_STATUS_IGNORE));
        OK(MPI_Recv(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

static void part(MPI_Comm with, const char *how, int is_child, char *port)
{
    MPI_Comm again, copy;
    await_others(with, is_child);
    if (strcmp(how, "freed") == 0) OK(MPI_Comm_free(&with));
    if (strcmp(how, "freed") == 0 || strcmp(how, "connected") == 0) return;
    /* Communicators made of this one are disconnected, too. */
    OK(MPI_Intercomm_merge(with, is_child, &copy));
    OK(MPI_Comm_disconnect(&with));
    OK(MPI_Comm_disconnect(&copy));
    if (strcmp(how, "again") != 0) return;
    if (is_child) OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &again));
    else OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &again));
    OK(MPI_Barrier(again));
    await_others(again, is_child);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, below;
    char port[MPI_MAX_PORT_NAME] = "";
    int rank, pids[2];
    start(&argc, &argv);
    char *how = argv[1];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL && strcmp(how, "last") == 0) {
        OK(MPI_Comm_disconnect(&parent));
        MPI_Finalize();
        return failures != 0;
    }
    if (parent != MPI_COMM_NULL) {
        pids[0] = getpid();
        OK(MPI_Gather(pids, 1, MPI_INT, NULL, 0, MPI_INT, 0, parent));
        if (rank == 0) OK(MPI_Open_port(MPI_INFO_NULL, port));
        if (rank == 0) OK(MPI_Send(port, sizeof port, MPI_CHAR, 0, 0, parent));
        part(parent, how, 1, port);
        if (rank == 0) fail_by(argv[2]);
        await_end();
    }
    below = children(argv + 1, 2);
    OK(MPI_Gather(NULL, 0, MPI_INT, pids, 1, MPI_INT, MPI_ROOT, below));
    OK(MPI_Recv(port, sizeof port, MPI_CHAR, 0, 0, below, MPI_STATUS_IGNORE));
    part(below, how, 0, port);
    if (strcmp(how, "apart") != 0) await_end();
    for (int n = 0; n < 2; n++)
        while (kill(pids[n], 0) == 0 || errno != ESRCH) usleep(1000);
    /* The launcher still works. */
    below = children((char *[]){"last", NULL}, 1);
    OK(MPI_Comm_disconnect(&below));
    MPI_Finalize();
    return result();
}
