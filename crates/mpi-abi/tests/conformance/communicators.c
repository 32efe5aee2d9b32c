/* Groups, communicators made of others, and those between two groups. */
#include "conformance.h"

static void say_group(const char *what, MPI_Group group)
{
    MPI_Group world;
    int n = -1, mine = -1, ranks[8] = {0, 1, 2, 3, 4, 5, 6, 7}, there[8];
    if (group == MPI_GROUP_EMPTY)
        say("%s: is the empty group", what);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(group, &n);
    MPI_Group_rank(group, &mine);
    MPI_Group_translate_ranks(group, n, ranks, world, there);
    say("%s: rank %d of %d", what, mine == MPI_UNDEFINED ? -1 : mine, n);
    say_ints(what, there, n);
    MPI_Group_free(&world);
}

void groups(void)
{
    MPI_Group world, one, evens, others, made;
    int list[4], ranges[2][3] = {{0, size - 1, 2}, {0, 0, 1}}, down[1][3] = {{size - 1, 0, -2}}, how, n = 0;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    say_group("world", world);
    for (int r = size - 1; r >= 0; r -= 2)
        list[n++] = r;
    MPI_Group_incl(world, n, list, &evens);
    say_group("incl", evens);
    MPI_Group_excl(world, n, list, &others);
    say_group("excl", others);
    MPI_Group_range_incl(world, 1, ranges, &one);
    say_group("range incl", one);
    MPI_Group_union(evens, others, &made);
    say_group("union", made);
    MPI_Group_compare(made, world, &how);
    say("union and world: %s", relation(how));
    MPI_Group_free(&made);
    MPI_Group_intersection(one, evens, &made);
    say_group("intersection", made);
    MPI_Group_compare(made, evens, &how);
    say("intersection and incl: %s", relation(how));
    MPI_Group_difference(world, one, &made);
    say_group("difference", made);
    MPI_Group_range_incl(world, 1, down, &made);
    say_group("down", made);
    MPI_Group_range_excl(world, 1, down, &made);
    say_group("range excl", made);
    MPI_Group_incl(world, 0, NULL, &made);
    say_group("empty", made);
    int asked[3] = {0, size - 1, MPI_PROC_NULL}, told[3];
    MPI_Group_translate_ranks(world, 3, asked, evens, told);
    for (int i = 0; i < 3; i++)
        say("translated: %d", told[i] == MPI_UNDEFINED ? -1 : told[i] == MPI_PROC_NULL ? -2 : told[i]);
    MPI_Group_compare(world, MPI_GROUP_EMPTY, &how);
    say("world and empty: %s", relation(how));
}

static void say_comm(const char *what, MPI_Comm comm)
{
    int n, mine, how, inter;
    MPI_Group group;
    if (comm == MPI_COMM_NULL) {
        say("%s: null", what);
        return;
    }
    MPI_Comm_size(comm, &n);
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_test_inter(comm, &inter);
    say("%s: rank %d of %d inter %d", what, mine, n, inter);
    MPI_Comm_group(comm, &group);
    say_group(what, group);
    MPI_Group_free(&group);
    if (!inter) {
        MPI_Comm_compare(comm, MPI_COMM_WORLD, &how);
        say("%s and world: %s", what, relation(how));
    }
}

void communicators(void)
{
    MPI_Comm made, other;
    MPI_Group world, group;
    MPI_Request request;
    char name[MPI_MAX_OBJECT_NAME];
    int len, how, list[4] = {0, 1, 2, 3}, n = (size + 1) / 2;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    say_comm("dup", made);
    MPI_Comm_get_name(made, name, &len);
    say("name: '%s' %d", name, len);
    MPI_Comm_set_name(made, "mine");
    MPI_Comm_get_name(made, name, &len);
    say("name: '%s' %d", name, len);
    MPI_Comm_idup(made, &other, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say_comm("idup", other);
    MPI_Comm_compare(made, other, &how);
    say("both: %s", relation(how));
    MPI_Comm_free(&other);
    MPI_Comm_compare(made, made, &how);
    say("itself: %s", relation(how));
    MPI_Comm_split(made, rank % 2, -rank, &other);
    say_comm("split", other);
    MPI_Comm_free(&other);
    MPI_Comm_split(made, rank == 0 ? MPI_UNDEFINED : 7, 0, &other);
    say_comm("split without", other);
    if (other != MPI_COMM_NULL)
        MPI_Comm_free(&other);
    MPI_Comm_split(made, 0, rank / 2 * -1, &other);
    say_comm("equal keys", other);
    MPI_Comm_free(&other);
    /* The processes that share memory depend on the hosts of the ranks. */
    MPI_Comm_split_type(made, rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &other);
    say("shared: %d", other != MPI_COMM_NULL);
    if (other != MPI_COMM_NULL)
        MPI_Comm_free(&other);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, n, list, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &other);
    say_comm("create", other);
    if (other != MPI_COMM_NULL)
        MPI_Comm_free(&other);
    MPI_Group_free(&group);
    /* Two groups at once. */
    int half[4], m = 0;
    for (int r = size - 1; r >= 0; r--)
        if (r % 2 == rank % 2)
            half[m++] = r;
    MPI_Group_incl(world, m, half, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &other);
    say_comm("create two", other);
    MPI_Comm_free(&other);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 11, &other);
    say_comm("create group", other);
    MPI_Comm_free(&other);
    MPI_Comm_create_from_group(group, "conformance", MPI_INFO_NULL, MPI_ERRORS_RETURN, &other);
    say_comm("from group", other);
    MPI_Comm_free(&other);
    MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &other);
    say_comm("create of none", other);
    say_comm("self", MPI_COMM_SELF);
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &len);
    say("name: '%s' %d", name, len);
    MPI_Comm_free(&made);
    say("null: %d", made == MPI_COMM_NULL);
}

static void sides(MPI_Comm inter)
{
    int n, mine, in[8], out[8], sum = -1;
    MPI_Status status;
    MPI_Comm_remote_size(inter, &n);
    MPI_Comm_rank(inter, &mine);
    for (int i = 0; i < 8; i++)
        out[i] = rank * 10 + i, in[i] = -1;
    if (mine < n) {
        MPI_Sendrecv(out, 2, MPI_INT, mine, 3, in, 8, MPI_INT, mine, 3, inter, &status);
        say_status("across", &status, MPI_INT);
        say_ints("across", in, 2);
    }
    MPI_Barrier(inter);
    MPI_Allgather(out, 1, MPI_INT, in, 1, MPI_INT, inter);
    say_ints("allgather", in, n);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
    say("allreduce: %d", sum);
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, inter);
    say_ints("alltoall", in, n);
    int root = rank % 2 == 1 ? 0 : mine == 0 ? MPI_ROOT : MPI_PROC_NULL;
    in[0] = rank % 2 == 0 && mine == 0 ? 4711 : -1;
    MPI_Bcast(in, 1, MPI_INT, root, inter);
    say("bcast: %d", in[0]);
    sum = -1;
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, root, inter);
    say("reduce: %d", sum);
    memset(in, 0xff, sizeof in);
    MPI_Gather(out, 2, MPI_INT, in, 2, MPI_INT, root, inter);
    say_ints("gather", in, 8);
    memset(in, 0xff, sizeof in);
    MPI_Scatter(out, 1, MPI_INT, in, 1, MPI_INT, root, inter);
    say_ints("scatter", in, 2);
    if (size == 4 || size == 2) {
        int per = size / 2;
        sum = -1;
        MPI_Reduce_scatter_block(out, in, 1, MPI_INT, MPI_SUM, inter);
        say("reduce scatter: %d of %d", in[0], per);
    }
}

void intercommunicators(void)
{
    MPI_Comm half, inter, merged, copy, made;
    MPI_Group remote;
    int n, how;
    if (size == 1)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    CODE(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter));
    say_comm("inter", inter);
    MPI_Comm_remote_size(inter, &n);
    MPI_Comm_remote_group(inter, &remote);
    say_group("remote", remote);
    MPI_Comm_compare(inter, MPI_COMM_WORLD, &how);
    say("inter and world: %s", relation(how));
    sides(inter);
    MPI_Comm_dup(inter, &copy);
    MPI_Comm_compare(inter, copy, &how);
    say("copy: %s", relation(how));
    sides(copy);
    MPI_Comm_free(&copy);
    MPI_Intercomm_merge(inter, rank % 2, &merged);
    say_comm("merged", merged);
    MPI_Comm_free(&merged);
    MPI_Intercomm_merge(inter, 1 - rank % 2, &merged);
    say_comm("merged the other way", merged);
    MPI_Comm_free(&merged);
    MPI_Comm_split(inter, 0, -rank, &made);
    if (made != MPI_COMM_NULL) {
        say_comm("split inter", made);
        MPI_Comm_free(&made);
    }
    MPI_Group_free(&remote);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}
