/* Groups: derived, compared, translated. */
#include "check.h"

static int size, rank;

static int compared(MPI_Group one, MPI_Group other)
{
    int how = -1;
    OK(MPI_Group_compare(one, other, &how));
    return how;
}

static int size_of(MPI_Group group)
{
    int n = -1;
    OK(MPI_Group_size(group, &n));
    return n;
}

static void sets(MPI_Group world)
{
    int first = 0, mine = -1;
    MPI_Group one, rest, both, none, all;
    OK(MPI_Group_incl(world, 1, &first, &one));
    OK(MPI_Group_excl(world, 1, &first, &rest));
    CHECK(size_of(one) == 1 && size_of(rest) == size - 1);
    OK(MPI_Group_rank(one, &mine));
    CHECK(mine == (rank == 0 ? 0 : MPI_UNDEFINED));
    OK(MPI_Group_union(rest, one, &all));
    CHECK(compared(all, world) == (size == 1 ? MPI_IDENT : MPI_SIMILAR));
    OK(MPI_Group_rank(all, &mine));
    CHECK(mine == (rank + size - 1) % size);
    OK(MPI_Group_intersection(one, rest, &none));
    CHECK(none == MPI_GROUP_EMPTY);
    CHECK(compared(one, none) == MPI_UNEQUAL && compared(none, MPI_GROUP_EMPTY) == MPI_IDENT);
    OK(MPI_Group_difference(world, one, &both));
    CHECK(compared(both, rest) == MPI_IDENT);
    OK(MPI_Group_free(&one));
    CHECK(one == MPI_GROUP_NULL);
    OK(MPI_Group_free(&none));
    if (rest != MPI_GROUP_EMPTY)
        OK(MPI_Group_free(&rest));
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&both));
}

static void ranges(MPI_Group world)
{
    int backwards[1][3] = {{size - 1, 0, -1}}, wrong[1][3] = {{0, size, 1}};
    MPI_Group reversed, none;
    OK(MPI_Group_range_incl(world, 1, backwards, &reversed));
    CHECK(compared(reversed, world) == (size == 1 ? MPI_IDENT : MPI_SIMILAR));
    int ours[3] = {0, size - 1, MPI_PROC_NULL}, theirs[3] = {-7, -7, -7};
    OK(MPI_Group_translate_ranks(world, 3, ours, reversed, theirs));
    CHECK(theirs[0] == size - 1 && theirs[1] == 0 && theirs[2] == MPI_PROC_NULL);
    OK(MPI_Group_translate_ranks(world, 1, ours, MPI_GROUP_EMPTY, theirs));
    CHECK(theirs[0] == MPI_UNDEFINED);
    OK(MPI_Group_range_excl(world, 1, backwards, &none));
    CHECK(none == MPI_GROUP_EMPTY);
    FAILS(MPI_ERR_RANK, MPI_Group_range_incl(world, 1, wrong, &none));
    OK(MPI_Group_free(&reversed));
}

/* Processes outside a group that call for its communicator get the null handle; some of them do not call at
   all. */
static void outsiders(MPI_Group world)
{
    const int first = 0;
    MPI_Group one, rest, none;
    MPI_Comm made = MPI_COMM_WORLD;
    OK(MPI_Group_incl(world, 1, &first, &one));
    OK(MPI_Group_difference(world, one, &rest));
    if (rank != size - 1 || rank == 0) {
        OK(MPI_Comm_create_group(MPI_COMM_WORLD, one, 5, &made));
        CHECK((made == MPI_COMM_NULL) == (rank != 0) && made != MPI_COMM_WORLD);
        if (made != MPI_COMM_NULL)
            OK(MPI_Comm_free(&made));
    }
    made = MPI_COMM_WORLD;
    OK(MPI_Comm_create_from_group(one, "outsiders", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
    CHECK((made == MPI_COMM_NULL) == (rank != 0) && made != MPI_COMM_WORLD);
    if (made != MPI_COMM_NULL)
        OK(MPI_Comm_free(&made));
    if (size > 1 && rank == 0) {
        made = MPI_COMM_WORLD;
        OK(MPI_Intercomm_create_from_groups(rest, 0, one, 0, "outsiders", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made));
        CHECK(made == MPI_COMM_NULL);
    }
    /* A group with processes that are not in the communicator is an error on all ranks. */
    if (size > 1) {
        OK(MPI_Group_excl(world, 1, &rank, &none));
        FAILS(MPI_ERR_GROUP, MPI_Comm_create_group(MPI_COMM_SELF, none, 5, &made));
        OK(MPI_Group_free(&none));
    }
    OK(MPI_Group_free(&one));
    if (rest != MPI_GROUP_EMPTY)
        OK(MPI_Group_free(&rest));
}

/* A grid without places has none for any rank. */
static void no_places(void)
{
    const int dims[] = {0, 1}, negative[] = {-1, 1}, periods[] = {0, 0};
    int place = 0;
    OK(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &place));
    CHECK(place == MPI_UNDEFINED);
    FAILS(MPI_ERR_DIMS, MPI_Cart_map(MPI_COMM_WORLD, 2, negative, periods, &place));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Group world, own, stale, made;
    int mine = -1, wrong[2] = {0, 0}, how = -1;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Comm_group(MPI_COMM_SELF, &own));
    CHECK(size_of(world) == size && size_of(own) == 1 && size_of(MPI_GROUP_EMPTY) == 0);
    OK(MPI_Group_rank(world, &mine));
    CHECK(mine == rank);
    sets(world);
    ranges(world);
    outsiders(world);
    no_places();
    OK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &how));
    CHECK(how == MPI_IDENT);
    OK(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &how));
    CHECK(how == (size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
    MPI_Comm other;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    OK(MPI_Comm_compare(MPI_COMM_WORLD, other, &how));
    CHECK(how == MPI_CONGRUENT);
    OK(MPI_Comm_free(&other));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other));
    OK(MPI_Comm_compare(MPI_COMM_WORLD, other, &how));
    CHECK(how == (size == 1 ? MPI_CONGRUENT : MPI_SIMILAR));
    OK(MPI_Comm_free(&other));

    OK(MPI_Group_incl(world, 0, NULL, &made));
    CHECK(made == MPI_GROUP_EMPTY);
    FAILS(MPI_ERR_RANK, MPI_Group_incl(world, 2, wrong, &made));
    FAILS(MPI_ERR_ARG, MPI_Group_incl(world, -1, wrong, &made));
    FAILS(MPI_ERR_ARG, MPI_Group_incl(world, 1, NULL, &made));
    FAILS(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &mine));
    FAILS(MPI_ERR_COMM, MPI_Comm_group(MPI_COMM_NULL, &made));
    FAILS(MPI_ERR_COMM, MPI_Comm_remote_group(MPI_COMM_WORLD, &made));
    stale = own;
    OK(MPI_Group_free(&own));
    FAILS(MPI_ERR_GROUP, MPI_Group_size(stale, &mine));
    OK(MPI_Group_free(&world));
    OK(MPI_Finalize());
    return result();
}
