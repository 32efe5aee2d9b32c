/* Starting 4 processes with MPI_Comm_spawn: the time until all parents have the intercommunicator ("spawn"), and until the children
 * are disconnected ("disconnect"), which includes a sum over the ranks of both sides. The children are this program again. */
#include "measure.h"

enum { CHILDREN = 4, TIMES = 5, QUICK_TIMES = 3 };

static const char CHILD[] = "child";

/* Adds up over both sides: children give their ranks and parents learn the sum; parents give 10, and children
   learn the number of parents. */
static void sum(MPI_Comm between, int mine, int expected) {
    int found = 0;
    MPI_Allreduce(&mine, &found, 1, MPI_INT, MPI_SUM, between);
    must_be(found, expected, "the sum over the other side");
}

static void child(void) {
    MPI_Comm parents;
    int number;
    MPI_Comm_get_parent(&parents);
    must_be(parents != MPI_COMM_NULL, 1, "that a child has parents");
    MPI_Comm_remote_size(parents, &number);
    must_be(ranks, CHILDREN, "the size of the children's world");
    sum(parents, rank, 10 * number);
    MPI_Comm_disconnect(&parents);
}

static void once(char *program, double *until_spawned, double *until_disconnected) {
    char *words[] = {(char *)CHILD, NULL};
    int codes[CHILDREN], number;
    double spent[2];
    MPI_Comm children;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    MPI_Comm_spawn(program, words, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes);
    spent[0] = MPI_Wtime() - begin;
    MPI_Comm_remote_size(children, &number);
    must_be(number, CHILDREN, "the number of children");
    for (int i = 0; i < CHILDREN; i++) must_be(codes[i], MPI_SUCCESS, "the code of a child");
    sum(children, 10, CHILDREN * (CHILDREN - 1) / 2);
    MPI_Comm_disconnect(&children);
    spent[1] = MPI_Wtime() - begin;
    MPI_Allreduce(MPI_IN_PLACE, spent, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    *until_spawned = spent[0] * 1e3;
    *until_disconnected = spent[1] * 1e3;
}

int main(int argc, char **argv) {
    start(argc, argv);
    if (argc == 2 && strcmp(argv[1], CHILD) == 0) {
        child();
    } else {
        double spawned[TIMES], disconnected[TIMES];
        int times = quick ? QUICK_TIMES : TIMES;
        for (int i = 0; i < times; i++) once(argv[0], &spawned[i], &disconnected[i]);
        tell("spawn", 0, median(spawned, times), "ms");
        tell("disconnect", 0, median(disconnected, times), "ms");
    }
    MPI_Finalize();
    return 0;
}
