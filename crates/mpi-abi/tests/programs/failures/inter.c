/* Two groups, one member of which dies: parts of one job, parents and children, connected jobs. Checks the
   errors, the agreement, and that both go on as two groups. */
#include "deaths.h"

static char place[4096];

/* Writes the port that the second group reads. */
static void write_port(const char *port)
{
    char other[4200];
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

static int failed(MPI_Comm comm)
{
    MPI_Group group;
    int size;
    OK(MPIX_Comm_get_failed(comm, &group));
    OK(MPI_Group_size(group, &size));
    MPI_Group_free(&group);
    return size;
}

static int acknowledged(MPI_Comm comm)
{
    MPI_Group group;
    int size;
    OK(MPIX_Comm_failure_get_acked(comm, &group));
    OK(MPI_Group_size(group, &size));
    MPI_Group_free(&group);
    return size;
}

/* Exchanges messages of all of one side with all of the other. */
static void talks(MPI_Comm with, int first, int theirs)
{
    int me, inter, size, sum, mine;
    OK(MPI_Comm_test_inter(with, &inter));
    OK(MPI_Comm_remote_size(with, &size));
    OK(MPI_Comm_rank(with, &me));
    CHECK(inter && size == theirs);
    mine = first ? 1 : 100;
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, with));
    CHECK(sum == theirs * (first ? 100 : 1));
}

/* Checks that each side gets the flags of the other. */
static void agrees(MPI_Comm with, int first, int class)
{
    int me, flag;
    MPI_Request request;
    MPI_Comm_rank(with, &me);
    flag = (first ? 0x10 : 0x20) | 0x100 << me;
    check_class(MPIX_Comm_agree(with, &flag), class, "MPIX_Comm_agree", __FILE__, __LINE__);
    CHECK((flag & 0xff) == (first ? 0x20 : 0x10));
    flag = first ? 3 : 6;
    check_class(MPIX_Comm_iagree(with, &flag, &request), MPI_SUCCESS, "MPIX_Comm_iagree", __FILE__, __LINE__);
    check_class(MPI_Wait(&request, MPI_STATUS_IGNORE), class, "MPIX_Comm_iagree's end", __FILE__, __LINE__);
    CHECK(flag == (first ? 6 : 3));
}

/* Lets the last member of one group die, the first group's if `of_first`, and checks the rest. */
static void exercise(MPI_Comm with, int first, int of_first)
{
    int me, size, theirs, code, one = 1, sum, revoked, num;
    OK(MPI_Comm_set_errhandler(with, MPI_ERRORS_RETURN));
    OK(MPI_Comm_rank(with, &me));
    OK(MPI_Comm_size(with, &size));
    OK(MPI_Comm_remote_size(with, &theirs));
    talks(with, first, theirs);
    /* The victim dies after the agreement, in which it waits for all members. */
    CHECK(failed(with) == 0);
    agrees(with, first, MPI_SUCCESS);
    if (first == of_first && me == size - 1) raise(SIGKILL);
    do code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, with);
    while (code == MPI_SUCCESS);
    went_well(code, "MPI_Allreduce");
    OK(MPIX_Comm_revoke(with));
    FAILS(MPIX_ERR_REVOKED, MPI_Barrier(with));
    OK(MPIX_Comm_is_revoked(with, &revoked));
    CHECK(revoked);
    agrees(with, first, MPIX_ERR_PROC_FAILED);
    CHECK(failed(with) == 1 && acknowledged(with) == 0);
    OK(MPIX_Comm_failure_ack(with));
    OK(MPIX_Comm_ack_failed(with, 0, &num));
    CHECK(num == 1 && acknowledged(with) == 1);
    agrees(with, first, MPI_SUCCESS);
    for (int later = 0; later < 2; later++) {
        MPI_Comm left;
        MPI_Request request;
        if (later) {
            OK(MPIX_Comm_ishrink(with, &left, &request));
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else
            OK(MPIX_Comm_shrink(with, &left));
        OK(MPI_Comm_set_errhandler(left, MPI_ERRORS_RETURN));
        CHECK(failed(left) == 0);
        talks(left, first, theirs - (first != of_first));
        agrees(left, first, MPI_SUCCESS);
        MPI_Comm all;
        OK(MPI_Intercomm_merge(left, !first, &all));
        OK(MPI_Barrier(all));
        OK(MPI_Comm_free(&all));
        if (later) OK(MPI_Comm_free(&left));
        else OK(MPI_Comm_disconnect(&left));
    }
    OK(MPI_Comm_free(&with));
}

/* Exchanges messages as long as there are two groups. */
static int endure(MPI_Comm with)
{
    while (with != MPI_COMM_NULL) {
        MPI_Comm left;
        int one = 1, sum, flag = -1, code = MPI_SUCCESS;
        MPI_Comm_set_errhandler(with, MPI_ERRORS_RETURN);
        for (int i = 0; i < 1000 && code == MPI_SUCCESS; i++)
            code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, with);
        went_well(code, "MPI_Allreduce");
        STEP(MPIX_Comm_revoke(with));
        went_well(MPIX_Comm_agree(with, &flag), "MPIX_Comm_agree");
        CHECK(flag == -1);
        STEP(MPIX_Comm_shrink(with, &left));
        STEP(MPI_Comm_free(&with));
        with = left;
    }
    return 1;
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    const char *how = argc > 1 ? argv[1] : "";
    int of_first = argc > 2 && atoi(argv[2]), rank, size;
    if (argc > 3) snprintf(place, sizeof place, "%s", argv[3]);
    char port[MPI_MAX_PORT_NAME] = "", self[4096] = "";
    MPI_Comm parent, with = MPI_COMM_NULL, half;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    int first = parent == MPI_COMM_NULL;
    if (strcmp(how, "spawn") == 0) {
        CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
        if (first) OK(MPI_Comm_spawn(self, argv + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &with, MPI_ERRCODES_IGNORE));
        else with = parent;
        exercise(with, first, of_first);
    } else if (strcmp(how, "serve") == 0 || strcmp(how, "visit") == 0) {
        first = how[0] == 's';
        if (first && rank == 0) {
            OK(MPI_Open_port(MPI_INFO_NULL, port));
            write_port(port);
        }
        if (!first && rank == 0) read_port(port);
        OK(first ? MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &with)
                 : MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &with));
        exercise(with, first, of_first);
    } else {
        first = rank % 2 == 0;
        OK(MPI_Comm_split(MPI_COMM_WORLD, !first, 0, &half));
        OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, first, 0, &with));
        if (strcmp(how, "halves") == 0) exercise(with, first, of_first);
        else {
            choose_death((unsigned long)atol(argv[1]), (unsigned)atoi(argv[2]));
            endure(with);
            /* The other members of the own group may still live: their deaths end this loop. */
            while (failed(MPI_COMM_WORLD) < size - 1) usleep(1000);
        }
    }
    MPI_Finalize();
    return result();
}
