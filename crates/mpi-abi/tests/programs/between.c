/* Uneven collectives between two groups of unequal sizes, every member of both being the root once. */
#include "check.h"

static int rank, ranks, local, remote, mine, root, is_root;

/* Returns the root argument: of the root and the other members of its group, and of the members of the other
   group. */
static int named(int group)
{
    if (group == mine) return is_root ? MPI_ROOT : MPI_PROC_NULL;
    return root;
}

static void gather_and_scatter(MPI_Comm between, int group)
{
    int counts[8], places[8], all[36], own[8], total = 0;
    for (int i = 0; i < remote; i++) {
        counts[i] = i + 1;
        places[i] = total;
        total += counts[i];
    }
    int me, n;
    MPI_Comm_rank(between, &me);
    n = me + 1;
    is_root = group == mine && me == root;
    for (int i = 0; i < 36; i++) all[i] = -1;
    for (int i = 0; i < n; i++) own[i] = 100 * me + i;
    OK(MPI_Gatherv(own, group == mine ? 0 : n, MPI_INT, all, counts, places, MPI_INT, named(group), between));
    for (int i = 0; is_root && i < remote; i++)
        for (int j = 0; j < counts[i]; j++) CHECK(all[places[i] + j] == 100 * i + j);
    for (int i = 0; i < 8; i++) own[i] = -1;
    OK(MPI_Scatterv(all, counts, places, MPI_INT, own, group == mine ? 0 : n, MPI_INT, named(group), between));
    for (int j = 0; group != mine && j < n; j++) CHECK(own[j] == 100 * me + j);
}

/* Gathers each member's number. The own group may have more members than there are parts, so the number lies
   behind these. */
static void gather_to_all(MPI_Comm between)
{
    int all[16], me;
    MPI_Comm_rank(between, &me);
    for (int place = remote; place < remote + 8; place++) {
        all[place] = 100 * mine + me;
        OK(MPI_Allgather(&all[place], 1, MPI_INT, all, 1, MPI_INT, between));
        for (int i = 0; i < remote; i++) CHECK(all[i] == 100 * !mine + i);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm own, between;
    mine = rank > 0;
    OK(MPI_Comm_split(MPI_COMM_WORLD, mine, rank, &own));
    OK(MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, mine ? 0 : 1, 3, &between));
    MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
    MPI_Comm_size(between, &local);
    MPI_Comm_remote_size(between, &remote);
    for (int group = 0; group < 2; group++) {
        int members = group == mine ? local : remote;
        for (root = 0; root < members; root++) gather_and_scatter(between, group);
    }
    gather_to_all(between);
    OK(MPI_Comm_free(&between));
    OK(MPI_Comm_free(&own));
    MPI_Finalize();
    return result();
}
