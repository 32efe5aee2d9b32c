/* Parents and children that die, outlive each other, or run on several hosts. */
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "../check.h"

static char self[PATH_MAX];

/* Spawns children on these hosts, or on any if `hosts` is null. */
static MPI_Comm children_on(char *hosts, char *word, int n, MPI_Comm by)
{
    char *arguments[] = {word, hosts, NULL};
    MPI_Comm below = MPI_COMM_NULL;
    MPI_Info info;
    MPI_Info_create(&info);
    if (hosts != NULL) MPI_Info_set(info, "host", hosts);
    int code = MPI_Comm_spawn(self, arguments, n, info, 0, by, &below, MPI_ERRCODES_IGNORE);
    MPI_Info_free(&info);
    return code == MPI_SUCCESS ? below : MPI_COMM_NULL;
}

static MPI_Comm children(char *word, int n, MPI_Comm by)
{
    return children_on(NULL, word, n, by);
}

/* Spawns children on a host that may have had no process before: twice, and then on any host. */
static void later(char *host, MPI_Comm parent, int must_fail)
{
    if (parent != MPI_COMM_NULL) {
        const char *here = getenv("TEST_HOST");
        CHECK(here == NULL || host == NULL || strcmp(here, host) == 0);
    }
    for (int i = 0; i < (parent != MPI_COMM_NULL ? 1 : 3); i++) {
        MPI_Comm with = parent, all;
        if (parent == MPI_COMM_NULL) with = children_on(i < 2 ? host : NULL, "later", 2, MPI_COMM_WORLD);
        CHECK((with == MPI_COMM_NULL) == (must_fail && i < 2));
        if (with == MPI_COMM_NULL) continue;
        MPI_Comm_set_errhandler(with, MPI_ERRORS_RETURN);
        OK(MPI_Intercomm_merge(with, parent != MPI_COMM_NULL, &all));
        for (int count = 1; count <= 1 << 18; count *= 64) {
            int *mine = calloc(count, sizeof *mine), *sum = malloc(count * sizeof *sum), size;
            MPI_Comm_size(all, &size);
            mine[count - 1] = 1;
            OK(MPI_Allreduce(mine, sum, count, MPI_INT, MPI_SUM, all));
            CHECK(sum[count - 1] == size);
            free(mine);
            free(sum);
        }
        OK(MPI_Comm_free(&all));
        OK(MPI_Comm_disconnect(&with));
    }
}

/* Exchanges messages with the other side until a call fails; returns true if one did. */
static int talk(MPI_Comm with, int rounds)
{
    for (int i = 0; rounds < 0 || i < rounds; i++) {
        int one = 1, sum;
        if (MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, with) != MPI_SUCCESS) return 1;
    }
    return 0;
}

/* Runs one round: parents and children talk, are connected by a port, and disconnect. Returns true if all
   calls succeeded. */
static int round_of(MPI_Comm with, int is_child, int with_ports)
{
    MPI_Comm again, all;
    char port[MPI_MAX_PORT_NAME] = "";
    int rank, opens;
    if (with == MPI_COMM_NULL) return 0;
    MPI_Comm_set_errhandler(with, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    opens = is_child && rank == 0;
    if (talk(with, 3) || MPI_Intercomm_merge(with, is_child, &all) != MPI_SUCCESS) return 0;
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    if (talk(all, 3)) return 0;
    if (with_ports) {
        if (opens && MPI_Open_port(MPI_INFO_NULL, port) != MPI_SUCCESS) return 0;
        int ends, size;
        MPI_Comm_remote_size(with, &ends);
        MPI_Comm_size(all, &size);
        int root = is_child ? ends : size - ends;
        if (MPI_Bcast(port, sizeof port, MPI_CHAR, root, all) != MPI_SUCCESS) return 0;
        int code = is_child ? MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &again)
                            : MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &again);
        if (code != MPI_SUCCESS) return 0;
        MPI_Comm_set_errhandler(again, MPI_ERRORS_RETURN);
        if (talk(again, 3) || MPI_Comm_disconnect(&again) != MPI_SUCCESS) return 0;
        if (opens) MPI_Close_port(port);
    }
    return MPI_Comm_free(&all) == MPI_SUCCESS && MPI_Comm_disconnect(&with) == MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    const char *how = argc > 1 ? argv[1] : "";
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm parent, below;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);

    if (strcmp(how, "later") == 0 || strcmp(how, "never") == 0) {
        later(argc > 2 ? argv[2] : NULL, parent, strcmp(how, "never") == 0);
        MPI_Finalize();
        return result();
    }
    if (strcmp(how, "forever") == 0 || strcmp(how, "survive") == 0) {
        MPI_Comm with = parent != MPI_COMM_NULL ? parent : children(argv[1], 2, MPI_COMM_WORLD);
        int told = with == MPI_COMM_NULL || talk(with, -1);
        printf(told ? "told\n" : "alone\n");
        fflush(stdout);
        /* Messages to and from dead processes are given up; MPI_Finalize waits for no process. */
        MPI_Finalize();
        return 0;
    }
    /* No side sends or waits: one side polls for a message that never comes. */
    if (strcmp(how, "tests") == 0 || strcmp(how, "probes") == 0) {
        MPI_Comm with = parent != MPI_COMM_NULL ? parent : children(argv[1], 2, MPI_COMM_WORLD);
        MPI_Request request;
        int number, has_come = 0;
        MPI_Irecv(&number, 1, MPI_INT, 0, 1, with, &request);
        /* The name of this process tells the test that it polls. */
        prctl(PR_SET_NAME, "polling");
        while (!has_come) {
            if (how[0] == 't') MPI_Test(&request, &has_come, MPI_STATUS_IGNORE);
            else MPI_Iprobe(0, 2, with, &has_come, MPI_STATUS_IGNORE);
            usleep(1000);
        }
    }
    if (strcmp(how, "storm") == 0 || strcmp(how, "quiet-storm") == 0) {
        int with_ports = how[0] == 's', ends = parent == MPI_COMM_NULL ? 1000 : 1;
        for (int i = 0; i < ends; i++)
            if (!round_of(parent != MPI_COMM_NULL ? parent : children(argv[1], 2, MPI_COMM_WORLD), parent != MPI_COMM_NULL,
                          with_ports))
                break;
        MPI_Finalize();
        return 0;
    }
    if (strcmp(how, "outlived") == 0) {
        if (parent != MPI_COMM_NULL) {
            MPI_Comm_disconnect(&parent);
            sleep(1);
            printf("child\n");
        } else {
            below = children("outlived", 1, MPI_COMM_WORLD);
            CHECK(below != MPI_COMM_NULL);
            OK(MPI_Comm_disconnect(&below));
            printf("parent\n");
        }
        fflush(stdout);
        MPI_Finalize();
        /* The end of a process that was started alone affects no other process after MPI_Finalize. */
        if (argc > 2 && parent == MPI_COMM_NULL) raise(SIGKILL);
        return failures != 0;
    }
    /* The remaining mode runs on several hosts. */
    if (parent != MPI_COMM_NULL) {
        CHECK(!talk(parent, 20));
        char mine[MPI_MAX_PROCESSOR_NAME] = "", all[4 * MPI_MAX_PROCESSOR_NAME];
        int n, different = 0;
        MPI_Comm_size(MPI_COMM_WORLD, &n);
        MPI_Get_processor_name(mine, &(int){0});
        OK(MPI_Allgather(mine, sizeof mine, MPI_CHAR, all, sizeof mine, MPI_CHAR, MPI_COMM_WORLD));
        for (int i = 1; i < n; i++) different |= strcmp(all, all + i * sizeof mine) != 0;
        CHECK(n == 1 || different);
        OK(MPI_Comm_disconnect(&parent));
        MPI_Finalize();
        return result();
    }
    for (int i = 0; i < 2; i++) {
        below = children("spread", i == 0 ? 4 : 1, MPI_COMM_WORLD);
        CHECK(below != MPI_COMM_NULL);
        MPI_Comm_set_errhandler(below, MPI_ERRORS_RETURN);
        CHECK(!talk(below, 20));
        OK(MPI_Comm_disconnect(&below));
    }
    MPI_Finalize();
    return result();
}
