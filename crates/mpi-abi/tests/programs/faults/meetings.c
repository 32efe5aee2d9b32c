/* Jobs that only share the name of a port, in a file or published as a service. */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "../check.h"

enum { LONG = 1 << 20 };

static int rank, ranks;
static const char *place;

/* Writes the name of a port into the file, in one step. */
static void write_port(const char *port)
{
    char other[4096];
    snprintf(other, sizeof other, "%s.new", place);
    FILE *file = fopen(other, "w");
    CHECK(file != NULL);
    fputs(port, file);
    fclose(file);
    CHECK(rename(other, place) == 0);
}

static void read_port(char *port)
{
    FILE *file;
    while ((file = fopen(place, "r")) == NULL) usleep(1000);
    CHECK(fgets(port, MPI_MAX_PORT_NAME, file) != NULL);
    fclose(file);
}

/* Exchanges messages of all ranks of one side with all of the other. */
static void exchange(MPI_Comm with, int theirs)
{
    MPI_Request requests[2 * 64];
    static int in[64], out;
    out = 1000 + rank;
    for (int i = 0; i < theirs; i++) {
        OK(MPI_Irecv(&in[i], 1, MPI_INT, i, 1, with, &requests[2 * i]));
        OK(MPI_Isend(&out, 1, MPI_INT, i, 1, with, &requests[2 * i + 1]));
    }
    OK(MPI_Waitall(2 * theirs, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < theirs; i++) CHECK(in[i] == 1000 + i);
}

static void exchange_long(MPI_Comm with, int theirs)
{
    double *mine = malloc(LONG * sizeof *mine), *other = malloc(LONG * sizeof *other);
    MPI_Request requests[2];
    if (rank < theirs) {
        for (int i = 0; i < LONG; i++) mine[i] = rank + i, other[i] = -1;
        OK(MPI_Irecv(other, LONG, MPI_DOUBLE, rank, 2, with, &requests[0]));
        OK(MPI_Isend(mine, LONG, MPI_DOUBLE, rank, 2, with, &requests[1]));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        int wrong = 0;
        for (int i = 0; i < LONG; i++) wrong += other[i] != rank + i;
        CHECK(wrong == 0);
    }
    free(mine);
    free(other);
}

/* Merges both groups: collectives, subgroups, shared memory of all, communicators between subgroups. */
static void together(MPI_Comm with, int theirs, int is_first)
{
    MPI_Comm all, half, between, again;
    int me, n, sum;
    OK(MPI_Intercomm_merge(with, !is_first, &all));
    OK(MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN));
    OK(MPI_Comm_rank(all, &me));
    OK(MPI_Comm_size(all, &n));
    CHECK(n == ranks + theirs && me == rank + (is_first ? 0 : theirs));
    for (int count = 1; count <= LONG; count *= 32) {
        int *numbers = malloc(count * sizeof *numbers), *sums = malloc(count * sizeof *sums);
        for (int i = 0; i < count; i++) numbers[i] = me + i;
        OK(MPI_Allreduce(numbers, sums, count, MPI_INT, MPI_SUM, all));
        int wrong = 0;
        for (int i = 0; i < count; i++) wrong += sums[i] != n * (n - 1) / 2 + n * i;
        CHECK(wrong == 0);
        OK(MPI_Bcast(numbers, count, MPI_INT, n - 1, all));
        CHECK(numbers[count - 1] == n - 1 + count - 1);
        free(numbers);
        free(sums);
    }
    /* Each half has members of both jobs. */
    OK(MPI_Comm_split(all, me % 2, -me, &half));
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, half));
    int expected = 0;
    for (int i = me % 2; i < n; i += 2) expected += i;
    CHECK(sum == expected);
    if (n > 1) {
        OK(MPI_Intercomm_create(half, 0, all, n - 1 - (me % 2 == (n - 1) % 2), 9, &between));
        int size;
        OK(MPI_Comm_remote_size(between, &size));
        CHECK(size == (me % 2 ? (n + 1) / 2 : n / 2));
        OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, between));
        CHECK(sum == n * (n - 1) / 2 - expected);
        OK(MPI_Intercomm_merge(between, me % 2, &again));
        OK(MPI_Barrier(again));
        OK(MPI_Comm_free(&again));
        OK(MPI_Comm_free(&between));
    }
    OK(MPI_Comm_free(&half));
    MPI_Win window;
    int *memory;
    OK(MPI_Win_allocate(n * sizeof *memory, sizeof *memory, MPI_INFO_NULL, all, &memory, &window));
    for (int i = 0; i < n; i++) memory[i] = -1;
    OK(MPI_Win_fence(0, window));
    for (int i = 0; i < n; i++) OK(MPI_Put(&me, 1, MPI_INT, i, me, 1, MPI_INT, window));
    OK(MPI_Win_fence(0, window));
    for (int i = 0; i < n; i++) CHECK(memory[i] == i);
    OK(MPI_Win_free(&window));
    OK(MPI_Comm_free(&all));
}

/* Communicates with a job of `theirs` ranks. */
static void talk(MPI_Comm *with, int is_first)
{
    int theirs, mine = rank + 1, sum;
    OK(MPI_Comm_set_errhandler(*with, MPI_ERRORS_RETURN));
    OK(MPI_Comm_remote_size(*with, &theirs));
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, *with));
    CHECK(sum == theirs * (theirs + 1) / 2);
    exchange(*with, theirs);
    exchange_long(*with, theirs);
    together(*with, theirs, is_first);
    OK(MPI_Comm_disconnect(with));
    CHECK(*with == MPI_COMM_NULL);
}

/* Accepts `times` connections at a port that another rank than the root may have opened. */
static void serve(int times, int by_name)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int opener = ranks - 1;
    if (rank == opener) {
        OK(MPI_Open_port(MPI_INFO_NULL, port));
        if (by_name) OK(MPI_Publish_name(place, MPI_INFO_NULL, port));
        else write_port(port);
    }
    OK(MPI_Bcast(port, sizeof port, MPI_CHAR, opener, MPI_COMM_WORLD));
    for (int i = 0; i < times; i++) {
        MPI_Comm with;
        OK(MPI_Comm_accept(port, MPI_INFO_NULL, i % ranks, MPI_COMM_WORLD, &with));
        talk(&with, 1);
    }
    if (rank == opener) {
        if (by_name) OK(MPI_Unpublish_name(place, MPI_INFO_NULL, port));
        OK(MPI_Close_port(port));
    }
}

static void visit(int times, int by_name)
{
    char port[MPI_MAX_PORT_NAME] = "";
    if (rank == 0) {
        if (by_name) while (MPI_Lookup_name(place, MPI_INFO_NULL, port) != MPI_SUCCESS) usleep(1000);
        else read_port(port);
    }
    for (int i = 0; i < times; i++) {
        MPI_Comm with;
        OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &with));
        talk(&with, 0);
    }
}

/* Exchanges messages until a call fails. */
static void forever(int serves)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm with;
    if (serves && rank == 0) {
        OK(MPI_Open_port(MPI_INFO_NULL, port));
        write_port(port);
    }
    if (!serves && rank == 0) read_port(port);
    int code = serves ? MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &with)
                      : MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &with);
    if (code == MPI_SUCCESS && serves && rank == 0) {
        char met[4096];
        snprintf(met, sizeof met, "%s.met", place);
        fclose(fopen(met, "w"));
    }
    for (int one = 1, sum; code == MPI_SUCCESS;) {
        MPI_Comm_set_errhandler(with, MPI_ERRORS_RETURN);
        code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, with);
    }
    printf("told\n");
}

/* One side waits for a message that the other sends a second later: it must sleep, without polling its
   sockets again and again. */
static void sleep_until_told(int waits)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm with;
    int told = 0;
    if (waits && rank == 0) {
        OK(MPI_Open_port(MPI_INFO_NULL, port));
        write_port(port);
    }
    if (!waits && rank == 0) read_port(port);
    if (waits) OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &with));
    else OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &with));
    OK(MPI_Comm_set_errhandler(with, MPI_ERRORS_RETURN));
    for (int i = 0; i < 3; i++) {
        struct rusage before, after;
        OK(MPI_Barrier(with));
        if (waits) {
            CHECK(getrusage(RUSAGE_SELF, &before) == 0);
            OK(MPI_Recv(&told, 1, MPI_INT, rank, 3, with, MPI_STATUS_IGNORE));
            CHECK(getrusage(RUSAGE_SELF, &after) == 0);
            CHECK(told == 5 + i);
            CHECK(after.ru_nvcsw - before.ru_nvcsw < 100);
        } else {
            sleep(1);
            told = 5 + i;
            OK(MPI_Send(&told, 1, MPI_INT, rank, 3, with));
        }
    }
    OK(MPI_Comm_disconnect(&with));
}

/* The port was closed, or its job has ended. */
static void refused(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm with;
    read_port(port);
    FAILS(MPI_ERR_PORT, MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &with));
}

/* Opens a port and closes it once another process may wait there. */
static void closes(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    OK(MPI_Open_port(MPI_INFO_NULL, port));
    write_port(port);
    usleep(300000);
    OK(MPI_Close_port(port));
}

static void leaves_port(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    OK(MPI_Open_port(MPI_INFO_NULL, port));
    write_port(port);
}

static void joins(int listens)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, place, sizeof address.sun_path - 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (listens) {
        CHECK(bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 1) == 0);
        int other = accept(fd, NULL, NULL);
        close(fd);
        fd = other;
        unlink(place);
    } else
        while (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) usleep(1000);
    MPI_Comm with;
    OK(MPI_Comm_join(fd, &with));
    CHECK(with != MPI_COMM_NULL);
    talk(&with, listens);
    close(fd);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    const char *how = argc > 1 ? argv[1] : "";
    place = argc > 2 ? argv[2] : "";
    int times = argc > 3 ? atoi(argv[3]) : 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (strcmp(how, "serve") == 0) serve(times, 0);
    else if (strcmp(how, "visit") == 0) visit(times, 0);
    else if (strcmp(how, "publish") == 0) serve(times, 1);
    else if (strcmp(how, "lookup") == 0) visit(times, 1);
    else if (strcmp(how, "serve-forever") == 0) forever(1);
    else if (strcmp(how, "visit-forever") == 0) forever(0);
    else if (strcmp(how, "waits") == 0) sleep_until_told(1);
    else if (strcmp(how, "tells") == 0) sleep_until_told(0);
    else if (strcmp(how, "refused") == 0) refused();
    else if (strcmp(how, "closes") == 0) closes();
    else if (strcmp(how, "leaves-port") == 0) leaves_port();
    else if (strcmp(how, "listens") == 0) joins(1);
    else if (strcmp(how, "joins") == 0) joins(0);
    else CHECK(!"a known word");
    MPI_Finalize();
    return result();
}
