/* The temperature of a square plate with one heated border, by red-black Gauss-Seidel. DECK's authors
 * compared MPI with this program (de Oliveira et al., 2000), and apps/laplace computes it over Canelé's own
 * API. The plate is cut into strips of rows. After each half sweep neighbours swap the edges of the changed
 * colour, and every tenth sweep all agree on the largest change. "sweep" is the time of a sweep on a plate of
 * so many bytes, "compute" the time without communication. Before the measurement, each rank compares its
 * strip with its own serial result. */
#include <math.h>

#include "measure.h"

enum { RED, BLACK, LOOK_EVERY = 10, CHECKED = 25 };

/* Rows of a plate. Cells of one colour have a plane of their own, so all neighbours of a cell are in the
 * other plane. The neighbours of a row of cells are rows, too. A row has a cell of the border on either side,
 * a strip a row of the border or of the neighbour above and below. */
struct strip {
    int side, first, rows, above, below;
    double *plane[2];
};

static int stride(const struct strip *strip) { return strip->side / 2 + 2; }

static double *row_of(const struct strip *strip, int colour, int row) {
    return strip->plane[colour] + (size_t)row * stride(strip) + 1;
}

static struct strip strip_of(int side, int of, int among) {
    struct strip strip = {.side = side, .first = side * of / among, .above = of - 1, .below = of + 1};
    strip.rows = side * (of + 1) / among - strip.first;
    if (of == 0) strip.above = MPI_PROC_NULL;
    if (of == among - 1) strip.below = MPI_PROC_NULL;
    for (int colour = RED; colour <= BLACK; colour++) {
        size_t cells = (size_t)(strip.rows + 2) * stride(&strip);
        strip.plane[colour] = (double *)buffer(cells * sizeof(double), 0);
        for (size_t i = 0; i < cells; i++) strip.plane[colour][i] = 0;
        for (int k = 0; of == 0 && k < side / 2; k++) row_of(&strip, colour, 0)[k] = 100;
    }
    return strip;
}

static void release(struct strip *strip) {
    free(strip->plane[RED]);
    free(strip->plane[BLACK]);
}

/* Gives every cell of a colour the mean of its four neighbours; returns the largest change if `looks`. */
static inline double half_sweep(struct strip *strip, int colour, int looks) {
    double largest = 0;
    for (int row = 1; row <= strip->rows; row++) {
        int shift = (strip->first + row - 1 + colour) % 2;
        double *restrict cells = row_of(strip, colour, row);
        const double *other = row_of(strip, !colour, row);
        const double *up = other - stride(strip), *down = other + stride(strip);
        const double *left = other + shift - 1, *right = other + shift;
        for (int k = 0; k < strip->side / 2; k++) {
            double mean = 0.25 * ((up[k] + down[k]) + (left[k] + right[k]));
            if (looks) {
                double change = fabs(mean - cells[k]);
                largest = change > largest ? change : largest;
            }
            cells[k] = mean;
        }
    }
    return largest;
}

/* Swaps the edges of a colour with the neighbours. */
static void swap(struct strip *strip, int colour) {
    int count = strip->side / 2, last = strip->rows;
    MPI_Request requests[4];
    MPI_Irecv(row_of(strip, colour, 0), count, MPI_DOUBLE, strip->above, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(row_of(strip, colour, last + 1), count, MPI_DOUBLE, strip->below, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(row_of(strip, colour, 1), count, MPI_DOUBLE, strip->above, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(row_of(strip, colour, last), count, MPI_DOUBLE, strip->below, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void sweep(struct strip *strip, long number, int together) {
    double change = 0;
    int looks = number % LOOK_EVERY == 0;
    for (int colour = RED; colour <= BLACK; colour++) {
        double largest = looks ? half_sweep(strip, colour, 1) : half_sweep(strip, colour, 0);
        change = largest > change ? largest : change;
        if (together) swap(strip, colour);
    }
    if (together && looks) {
        MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
}

static struct strip mine;

static void sweeps(const void *together, long count) {
    for (long i = 1; i <= count; i++) sweep(&mine, i, *(const int *)together);
}

/* Compares this rank's strip with the same rows of a plate that it computes alone, bit by bit. */
static void check(int side) {
    struct strip whole = strip_of(side, 0, 1);
    for (int i = 1; i <= CHECKED; i++) {
        sweep(&whole, i, 0);
        sweep(&mine, i, 1);
    }
    for (int row = 1; row <= mine.rows; row++) {
        for (int colour = RED; colour <= BLACK; colour++) {
            double *is = row_of(&mine, colour, row), *must = row_of(&whole, colour, mine.first + row);
            if (memcmp(is, must, side / 2 * sizeof(double)) == 0) continue;
            fprintf(stderr, "rank %d: row %d of the plate of %d is wrong\n", rank, mine.first + row, side);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    release(&whole);
}

int main(int argc, char **argv) {
    start(argc, argv);
    int together = 1, alone = 0;
    for (int side = 64; side <= 1024; side *= quick ? 4 : 2) {
        mine = strip_of(side, rank, ranks);
        check(side);
        long bytes = (long)side * side * sizeof(double);
        tell("sweep", bytes, measure(sweeps, &together), "ns");
        tell("compute", bytes, measure(sweeps, &alone), "ns");
        release(&mine);
    }
    MPI_Finalize();
    return 0;
}
