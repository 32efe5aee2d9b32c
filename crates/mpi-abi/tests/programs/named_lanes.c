/* A program names the lanes of its communicators, and asks for them. */
#include "lane.h"

static int rank, ranks, lanes = 1;

static int lane_of(MPI_Comm comm)
{
    int lane = told_lane(comm);
    CHECK((lane >= 0) == (lanes > 1));
    return lane >= 0 ? lane : 0;
}

/* Checks that the members communicate, and returns the communicator. */
static MPI_Comm working(MPI_Comm comm)
{
    int sum = 0;
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == ranks * (ranks - 1) / 2);
    return comm;
}

/* Returns the number of lanes of a rank: the number after the last lane stands for the first again. */
static int count_lanes(void)
{
    for (int count = 1;; count++) {
        char text[32];
        snprintf(text, sizeof text, "%d", count);
        MPI_Comm comm = working(dup_on(text));
        int lane = told_lane(comm);
        OK(MPI_Comm_free(&comm));
        if (lane != count)
            return count;
    }
}

/* A program may name the lane of a duplicate; if members name several, or none, the library chooses. */
static void named_lanes(void)
{
    char text[32];
    for (int wanted = 0; wanted < 20; wanted++) {
        snprintf(text, sizeof text, "%d", wanted);
        MPI_Comm comm = working(dup_on(text));
        CHECK(lane_of(comm) == wanted % lanes);
        OK(MPI_Comm_free(&comm));
    }
    snprintf(text, sizeof text, "%d", rank);
    MPI_Comm comm = working(dup_on(text));
    CHECK(lane_of(comm) == 0);
    OK(MPI_Comm_free(&comm));
    /* A text that is no number names no lane. */
    static const char *const none[] = {" ", "lane", "-1", "1.5", "99999999999999999999"};
    for (int n = 0; n < 5; n++) {
        comm = working(dup_on(none[n]));
        int lane = lane_of(comm);
        CHECK(lane >= 0 && lane < lanes);
        OK(MPI_Comm_free(&comm));
    }
    CHECK(lane_of(MPI_COMM_WORLD) == 0);
    /* The hints of a communicator do not name its lane: duplicates with them lie on the lanes in turn. */
    MPI_Info hints;
    MPI_Comm two[2];
    OK(MPI_Comm_get_info(MPI_COMM_WORLD, &hints));
    for (int n = 0; n < 2; n++)
        OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, hints, &two[n]));
    CHECK((lane_of(two[0]) + 1) % lanes == lane_of(two[1]));
    for (int n = 0; n < 2; n++)
        OK(MPI_Comm_free(&two[n]));
    OK(MPI_Info_free(&hints));
}

int main(int argc, char **argv)
{
    int provided;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    lanes = count_lanes();
    /* A rank without a launcher has one lane. */
    if (getenv("CANELE_RANK") && getenv("CANELE_LANES") && atoi(getenv("CANELE_LANES")) > 0)
        CHECK(lanes == atoi(getenv("CANELE_LANES")));
    named_lanes();
    OK(MPI_Finalize());
    return result();
}
