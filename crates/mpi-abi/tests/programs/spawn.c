/* Processes that start processes: communicators with them, their world, keys of the info, error codes,
   regular ends. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check.h"

static int rank, ranks;
static char self[PATH_MAX];

/* Exchanges between two groups, by messages and by a collective. */
static void exchange(MPI_Comm with, int parent)
{
    int me, n, mine, got;
    OK(MPI_Comm_rank(with, &me));
    OK(MPI_Comm_remote_size(with, &n));
    for (int i = 0; i < n; i++) {
        mine = 1000 * parent + 10 * me + i;
        OK(MPI_Sendrecv(&mine, 1, MPI_INT, i, 5, &got, 1, MPI_INT, i, 5, with, MPI_STATUS_IGNORE));
        CHECK(got == 1000 * !parent + 10 * i + me);
    }
    /* Sizes of announced messages, of messages in pieces, and of eager ones. */
    for (int bytes = 100; bytes < 4 << 20; bytes *= 40) {
        char *out = malloc(bytes), *in = malloc(bytes);
        memset(out, 'a' + me, bytes);
        for (int i = 0; i < n; i++) {
            OK(MPI_Sendrecv(out, bytes, MPI_CHAR, i, 6, in, bytes, MPI_CHAR, i, 6, with, MPI_STATUS_IGNORE));
            CHECK(in[0] == 'a' + i && in[bytes - 1] == 'a' + i);
        }
        free(out);
        free(in);
    }
    int sum, one = parent ? 1 : 100;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, with));
    CHECK(sum == n * (parent ? 100 : 1));
}

/* Merges both groups. */
static void merge(MPI_Comm with, int parent)
{
    MPI_Comm all;
    int me, n, local, remote, sum;
    OK(MPI_Intercomm_merge(with, !parent, &all));
    OK(MPI_Comm_size(with, &local));
    OK(MPI_Comm_remote_size(with, &remote));
    OK(MPI_Comm_rank(all, &me));
    OK(MPI_Comm_size(all, &n));
    CHECK(n == local + remote && (me < (parent ? local : remote)) == parent);
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK(sum == n * (n - 1) / 2);
    OK(MPI_Comm_free(&all));
}

static void child(int argc, char **argv)
{
    MPI_Comm parent;
    int *number, set, me, n;
    char name[MPI_MAX_OBJECT_NAME], where[PATH_MAX];
    int length;
    OK(MPI_Comm_get_parent(&parent));
    CHECK(parent != MPI_COMM_NULL);
    OK(MPI_Comm_get_name(parent, name, &length));
    CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
    OK(MPI_Comm_size(MPI_COMM_WORLD, &n));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &set));
    CHECK(set);
    CHECK(n == atoi(argv[2]));
    if (strcmp(argv[1], "plain") == 0) CHECK(*number == 0 && argc == 4 && strcmp(argv[3], "an argument") == 0);
    if (strcmp(argv[1], "first") == 0) CHECK(*number == 0 && me == 0);
    if (strcmp(argv[1], "second") == 0) CHECK(*number == 1 && me > 0);
    if (strcmp(argv[1], "placed") == 0) CHECK(strcmp(getcwd(where, sizeof where), "/") == 0);
    int sum, one = 1;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == n);
    exchange(parent, 0);
    merge(parent, 0);
    if (strcmp(argv[1], "grandparent") == 0) {
        char *arguments[] = {"plain", "1", "an argument", NULL};
        MPI_Comm below;
        OK(MPI_Comm_spawn(self, arguments, 1, MPI_INFO_NULL, n - 1, MPI_COMM_WORLD, &below, MPI_ERRCODES_IGNORE));
        exchange(below, 1);
        merge(below, 1);
        OK(MPI_Comm_disconnect(&below));
    }
    OK(MPI_Comm_disconnect(&parent));
    CHECK(parent == MPI_COMM_NULL);
    OK(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL);
}

static void talk(MPI_Comm children)
{
    exchange(children, 1);
    merge(children, 1);
    OK(MPI_Comm_disconnect(&children));
}

static void several(void)
{
    for (int root = 0; root < ranks; root++) {
        char *arguments[] = {"plain", "2", "an argument", NULL};
        int codes[2] = {7, 7};
        MPI_Comm children;
        OK(MPI_Comm_spawn(self, rank == root ? arguments : MPI_ARGV_NULL, 2, MPI_INFO_NULL, root, MPI_COMM_WORLD,
                          &children, codes));
        CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS);
        talk(children);
    }
    /* One process spawns, and so do its children. */
    char *arguments[] = {"grandparent", "2", NULL};
    MPI_Comm children;
    OK(MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE));
    talk(children);
}

static void multiple(void)
{
    char *first[] = {"first", "3", NULL}, *second[] = {"second", "3", NULL};
    char *commands[] = {self, self}, **arguments[] = {first, second};
    int numbers[] = {1, 2}, codes[3] = {7, 7, 7};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm children;
    OK(MPI_Comm_spawn_multiple(2, commands, arguments, numbers, infos, 0, MPI_COMM_WORLD, &children, codes));
    for (int i = 0; i < 3; i++) CHECK(codes[i] == MPI_SUCCESS);
    talk(children);
}

static void keys(void)
{
    char *slash = strrchr(self, '/'), directory[PATH_MAX];
    memcpy(directory, self, slash - self);
    directory[slash - self] = 0;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "path", directory));
    OK(MPI_Info_set(info, "wdir", "/"));
    OK(MPI_Info_set(info, "soft", "1:2,7"));
    OK(MPI_Info_set(info, "host", "localhost"));
    char *arguments[] = {"placed", "2", NULL};
    MPI_Comm children;
    OK(MPI_Comm_spawn(slash + 1, arguments, 3, info, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE));
    int n;
    OK(MPI_Comm_remote_size(children, &n));
    CHECK(n == 2);
    talk(children);
    OK(MPI_Info_set(info, "host", "no-such-host"));
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn(self, arguments, 1, info, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE));
    OK(MPI_Info_free(&info));
}

static void fails(void)
{
    int codes[3] = {7, 7, 7};
    MPI_Comm children = MPI_COMM_WORLD;
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn("/no/such/program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                                        &children, codes));
    CHECK(children == MPI_COMM_NULL);
    int class;
    for (int i = 0; i < 2; i++) {
        MPI_Error_class(codes[i], &class);
        CHECK(class == MPI_ERR_SPAWN);
    }
    CHECK(codes[2] == 7);
    /* Processes that were started are ended, and do no harm to others. */
    char *arguments[] = {"plain", "2", "an argument", NULL};
    char *commands[] = {self, "/no/such/program"}, **lists[] = {arguments, arguments};
    int numbers[] = {1, 1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    FAILS(MPI_ERR_SPAWN, MPI_Comm_spawn_multiple(2, commands, lists, numbers, infos, 0, MPI_COMM_WORLD, &children,
                                                 codes));
    CHECK(codes[0] == MPI_SUCCESS && codes[1] != MPI_SUCCESS);
    FAILS(MPI_ERR_ROOT, MPI_Comm_spawn(self, arguments, 1, MPI_INFO_NULL, ranks, MPI_COMM_WORLD, &children, codes));
    FAILS(MPI_ERR_ARG, MPI_Comm_spawn(self, arguments, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    if (argc > 1) {
        child(argc, argv);
        MPI_Finalize();
        return failures != 0;
    }
    MPI_Comm parent;
    OK(MPI_Comm_get_parent(&parent));
    CHECK(parent == MPI_COMM_NULL);
    int *universe, set;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &set));
    CHECK(set && *universe >= ranks);
    several();
    multiple();
    keys();
    fails();
    MPI_Finalize();
    return result();
}
