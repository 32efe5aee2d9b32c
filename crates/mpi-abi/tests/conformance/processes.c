/* Processes that are started, and connections between groups of them. Children run this program too, and
   report to their parents. */
#include "conformance.h"

#include <unistd.h>

enum { WORDS = 4, ROOM = 64 };

/* The report of a child about itself. */
struct report {
    int rank, size, parents, appnum, words;
    char said[WORDS][ROOM], folder[ROOM], name[MPI_MAX_OBJECT_NAME];
};

static void tell(MPI_Comm parents, int argc, char **argv)
{
    struct report own;
    int *appnum, flag, len;
    memset(&own, 0, sizeof own);
    MPI_Comm_rank(MPI_COMM_WORLD, &own.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &own.size);
    MPI_Comm_remote_size(parents, &own.parents);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &flag);
    own.appnum = flag ? *appnum : -1;
    own.words = argc - 1;
    for (int n = 1; n < argc && n <= WORDS; n++)
        snprintf(own.said[n - 1], ROOM, "%s", argv[n]);
    if (getcwd(own.folder, ROOM) == NULL)
        own.folder[0] = 0;
    MPI_Comm_get_name(parents, own.name, &len);
    MPI_Send(&own, (int)sizeof own, MPI_BYTE, 0, 1, parents);
}

/* Runs the rest of a child after its report, selected by its first argument. */
static void follow(MPI_Comm parents, const char *word)
{
    MPI_Comm all;
    int sum = 1, mine;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&sum, &mine, 1, MPI_INT, MPI_SUM, parents);
    if (strcmp(word, "merge") == 0) {
        MPI_Intercomm_merge(parents, 1, &all);
        MPI_Comm_rank(all, &mine);
        MPI_Gather(&mine, 1, MPI_INT, NULL, 0, MPI_INT, 0, all);
        MPI_Comm_free(&all);
    }
}

int is_child(int argc, char **argv)
{
    MPI_Comm parents;
    MPI_Comm_get_parent(&parents);
    if (parents == MPI_COMM_NULL)
        return 0;
    tell(parents, argc, argv);
    follow(parents, argc > 1 ? argv[1] : "");
    MPI_Comm_disconnect(&parents);
    return 1;
}

static void say_reports(const char *what, MPI_Comm children)
{
    int n, mine;
    struct report theirs;
    MPI_Comm_remote_size(children, &n);
    MPI_Comm_rank(children, &mine);
    say("%s: %d children", what, n);
    for (int child = 0; mine == 0 && child < n; child++) {
        MPI_Recv(&theirs, (int)sizeof theirs, MPI_BYTE, child, 1, children, MPI_STATUS_IGNORE);
        say("%s: child %d of %d with %d parents, program %d, %d words, parents' name '%s'", what, theirs.rank,
            theirs.size, theirs.parents, theirs.appnum, theirs.words, theirs.name);
        for (int word = 0; word < theirs.words && word < WORDS; word++)
            say("%s: word '%s'", what, theirs.said[word]);
        if (strcmp(theirs.folder, "/tmp") == 0)
            say("%s: in /tmp", what);
    }
}

/* Adds the children's sums, and ends the connection. */
static void finish(const char *what, MPI_Comm children)
{
    int sum = 10 * (rank + 1), found = -1;
    MPI_Allreduce(&sum, &found, 1, MPI_INT, MPI_SUM, children);
    say("%s: sum of the children's %d", what, found);
    MPI_Comm_disconnect(&children);
    say("%s: disconnected %d", what, children == MPI_COMM_NULL);
}

static void one_program(char *program)
{
    /* Empty arguments are left out: MPICH's launcher crashes on them. */
    char *words[] = {"merge", "two words", "-n", NULL};
    int codes[2] = {-1, -1}, sum = 10, found, inter, mine, all_ranks[8];
    MPI_Comm children, all;
    CODE(MPI_Comm_spawn(program, words, 2, MPI_INFO_NULL, size - 1, MPI_COMM_WORLD, &children, codes));
    say("codes: %d %d", codes[0] == MPI_SUCCESS, codes[1] == MPI_SUCCESS);
    MPI_Comm_test_inter(children, &inter);
    say("between groups: %d", inter);
    say_reports("spawned", children);
    MPI_Allreduce(&sum, &found, 1, MPI_INT, MPI_SUM, children);
    say("sum of the children's %d", found);
    MPI_Intercomm_merge(children, 0, &all);
    MPI_Comm_rank(all, &mine);
    MPI_Gather(&mine, 1, MPI_INT, all_ranks, 1, MPI_INT, 0, all);
    if (mine == 0)
        say_ints("merged", all_ranks, size + 2);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&children);
    /* Only rank 0 has a child of its own; it does not ask for error codes. */
    if (rank == 0) {
        MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
        say_reports("its own", children);
        finish("its own", children);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void two_programs(char *program)
{
    char *first[] = {"a", NULL}, *second[] = {"b", "c", NULL};
    char **words[] = {first, second}, *programs[] = {program, program};
    int numbers[] = {1, 2}, codes[3];
    MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm children;
    MPI_Info_create(&infos[1]);
    MPI_Info_set(infos[1], "wdir", "/tmp");
    CODE(MPI_Comm_spawn_multiple(2, programs, words, numbers, infos, 0, MPI_COMM_WORLD, &children, codes));
    MPI_Info_free(&infos[1]);
    say_reports("two programs", children);
    finish("two programs", children);
}

/* Rank 0 accepts the other ranks, by a name if names can be published. */
static void ports(void)
{
    char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half, other;
    int n, sum = -1;
    if (size == 1)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half);
    MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
    for (int round = 0; round < 2; round++) {
        if (rank == 0) {
            MPI_Open_port(MPI_INFO_NULL, port);
            say("a port: %d", port[0] != 0);
        }
        MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (rank == 0)
            CODE(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &other));
        else
            CODE(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &other));
        MPI_Comm_remote_size(other, &n);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, other);
        say("connected: %d others, sum %d", n, sum);
        MPI_Comm_disconnect(&other);
        if (rank == 0)
            CODE(MPI_Close_port(port));
    }
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        CODE(MPI_Publish_name("conformance", MPI_INFO_NULL, port));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    CODE(MPI_Lookup_name("conformance", MPI_INFO_NULL, found));
    say("found: %d", strcmp(found, port) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CODE(MPI_Unpublish_name("conformance", MPI_INFO_NULL, port));
        MPI_Close_port(port);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CODE(MPI_Lookup_name("conformance", MPI_INFO_NULL, found));
    MPI_Comm_free(&half);
}

void processes(void)
{
    char program[4096];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    int *universe, flag;
    program[len < 0 ? 0 : len] = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag);
    say("universe: %d", !flag || *universe >= size);
    one_program(program);
    two_programs(program);
    ports();
}
