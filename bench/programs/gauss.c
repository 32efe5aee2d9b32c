/* Gauss elimination with stochastic arithmetic (CESTAC) on three ranks, each of which holds one sample of
 * every number (Glück, Lamotte, Greiner, 2002). papers/gauss computes the same over Canelé's own API. Each
 * operation is rounded up or down at random; only tests, absolute values and means exchange samples. For one
 * size and seed both programs have equal samples to the last bit, and the same exchanges.
 *
 * Called as `gauss BLOCK_MS QUICK [SIZE...]`. "none" and "partial" are the times of an elimination of a
 * matrix of so many bytes, without pivoting and with a search in the column. "exchange" is the mean time of
 * an exchange in the latter. Lines that begin with # report the solution. */
#include <math.h>
#include <stdint.h>

#include "measure.h"

enum { SAMPLES = 3, SEED = 1, SHOWN = 5 };
static const double STUDENT = 4.303;

/* A random bit for each operation, from words of SplitMix64. */
static uint64_t state, word;
static int left;

static uint64_t multiplied(uint64_t z) {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    return (z ^ z >> 27) * 0x94d049bb133111eb;
}

static uint64_t mixed(uint64_t z) {
    z = multiplied(z);
    return z ^ z >> 31;
}

static void start_stream(uint64_t seed) {
    state = mixed(mixed(seed) ^ mixed(~(uint64_t)rank));
    left = 0;
}

/* Returns all ones or 0, at random. */
static inline uint64_t random_bit(void) {
    if (left == 0) {
        state += 0x9e3779b97f4a7c15;
        word = mixed(state);
        left = 64;
    }
    return -(word >> --left & 1);
}

static inline uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Returns the nearest number, or at random its neighbour on the side of the residual (the exact result minus
   the nearest number). */
static inline double rounded(double near, double residual) {
    uint64_t bits = bits_of(near), side = bits_of(residual), is_exact = residual == 0;
    /* A larger bit pattern is farther from zero: the side of a residual of equal sign. */
    bits += ((uint64_t)((int64_t)(bits ^ side) >> 63) | 1) & random_bit() & (is_exact - 1);
    memcpy(&near, &bits, sizeof near);
    return near;
}

static void fail_out_of_range(double number) {
    fprintf(stderr, "rank %d: the number %g is out of range: try another size\n", rank, number);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Ends the job if a number is too large or too small for an exact residual; random matrices of these sizes
   have no such number. */
static inline void check_range(double residual, double result) {
    int is_fine = isfinite(residual) & ((fabs(result) > 0x1p-900) | (result == 0));
    if (__builtin_expect(!is_fine, 0)) fail_out_of_range(result);
}

static inline double sum(double a, double b) {
    double near = a + b, part_of_b = near - a, part_of_a = near - part_of_b;
    double residual = (a - part_of_a) + (b - part_of_b);
    check_range(residual, 0);
    return rounded(near, residual);
}

/* Returns a b - near, by Dekker's product. */
static inline double residual_of_product(double a, double b, double near) {
    double a_scaled = 134217729.0 * a, b_scaled = 134217729.0 * b;
    double a_high = a_scaled - (a_scaled - a), b_high = b_scaled - (b_scaled - b);
    double a_low = a - a_high, b_low = b - b_high;
    return ((a_high * b_high - near) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

static inline double product(double a, double b) {
    double near = a * b, residual = residual_of_product(a, b, near);
    check_range(residual, near);
    return rounded(near, residual);
}

static inline double quotient(double a, double b) {
    double near = a / b, back = near * b;
    double residual = (a - back) - residual_of_product(near, b, back);
    check_range(residual, a);
    return rounded(near, copysign(1, b) * residual);
}

static long exchanges;
static double exchange_s;

/* Sends `count` own samples to both other ranks and receives theirs. */
static void exchange(const double *own, int count, double all[][2]) {
    double begin = MPI_Wtime();
    const int others[] = {(rank + 1) % SAMPLES, (rank + 2) % SAMPLES};
    memcpy(all[rank], own, count * sizeof *own);
    for (int i = 0; i < 2; i++) MPI_Send(own, count, MPI_DOUBLE, others[i], 0, MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++) MPI_Recv(all[others[i]], count, MPI_DOUBLE, others[i], 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    exchanges++;
    exchange_s += MPI_Wtime() - begin;
}

static double mean_of(const double *samples) {
    return samples[0] + ((samples[1] - samples[0]) + (samples[2] - samples[0])) / 3;
}

/* Returns true if all samples are 0 or less than one digit is significant. */
static int is_computed_zero(const double *samples) {
    if (samples[0] == samples[1] && samples[0] == samples[2]) return samples[0] == 0;
    double mean = mean_of(samples), squares = 0;
    for (int of = 0; of < SAMPLES; of++) squares += (samples[of] - mean) / mean * ((samples[of] - mean) / mean);
    return !(6 / (STUDENT * STUDENT * squares) >= 100);
}

static void samples_of(double own, double *samples) {
    double all[SAMPLES][2];
    exchange(&own, 1, all);
    for (int of = 0; of < SAMPLES; of++) samples[of] = all[of][0];
}

static double absolute(double own) {
    double samples[SAMPLES];
    samples_of(own, samples);
    return mean_of(samples) < 0 ? -own : own;
}

static int is_greater(double a, double b) {
    double own[] = {a, b}, all[SAMPLES][2], difference[SAMPLES];
    exchange(own, 2, all);
    for (int of = 0; of < SAMPLES; of++) difference[of] = all[of][0] - all[of][1];
    return !is_computed_zero(difference) && mean_of(difference) > 0;
}

/* A system of `size` equations; a row is a right-hand side after `size` entries. */
struct system { int size; double *rows; };

static double *row_of(const struct system *system, int row) { return system->rows + (size_t)row * (system->size + 1); }

/* Fills in the matrix of papers/gauss; the right-hand side is the sum of a row, so that all components of the
   solution are 1. */
static void fill(const struct system *system, uint64_t seed) {
    for (int row = 0; row < system->size; row++) {
        for (int column = 0; column < system->size; column++) {
            seed += 0x9e3779b97f4a7c15;
            row_of(system, row)[column] = (int32_t)(multiplied(seed) >> 32) / 0x1p31;
        }
    }
    for (int row = 0; row < system->size; row++) {
        double total = 0;
        for (int column = 0; column < system->size; column++) total = sum(total, row_of(system, row)[column]);
        row_of(system, row)[system->size] = total;
    }
}

static int largest_in_column(const struct system *system, int step) {
    int place = step;
    double largest = absolute(row_of(system, step)[step]);
    for (int row = step + 1; row < system->size; row++) {
        double candidate = absolute(row_of(system, row)[step]);
        if (is_greater(candidate, largest)) {
            place = row;
            largest = candidate;
        }
    }
    return place;
}

static void swap_rows(const struct system *system, int one, int other) {
    for (int column = 0; one != other && column <= system->size; column++) {
        double entry = row_of(system, one)[column];
        row_of(system, one)[column] = row_of(system, other)[column];
        row_of(system, other)[column] = entry;
    }
}

/* Solves the system; the solution replaces the right-hand sides. */
static void solve(const struct system *system, int is_partial) {
    int size = system->size;
    for (int step = 0; step < size; step++) {
        if (is_partial) swap_rows(system, step, largest_in_column(system, step));
        const double *pivot_row = row_of(system, step);
        double pivot[SAMPLES];
        samples_of(pivot_row[step], pivot);
        if (is_computed_zero(pivot)) {
            fprintf(stderr, "rank %d: no pivot in step %d of %d has a significant digit\n", rank, step + 1, size);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        for (int row = step + 1; row < size; row++) {
            double *entries = row_of(system, row), factor = quotient(entries[step], pivot_row[step]);
            for (int column = step + 1; column <= size; column++) {
                entries[column] = sum(entries[column], -product(factor, pivot_row[column]));
            }
        }
    }
    for (int step = size - 1; step >= 0; step--) {
        double *entries = row_of(system, step);
        for (int column = step + 1; column < size; column++) {
            entries[size] = sum(entries[size], -product(entries[column], row_of(system, column)[size]));
        }
        entries[size] = quotient(entries[size], entries[step]);
    }
}

static void tell_solution(const struct system *system, const char *pivoting, long counted) {
    if (rank == 0) printf("# %d equations, pivoting %s, %ld exchanges:", system->size, pivoting, counted);
    for (int component = 0; component < system->size; component++) {
        double samples[SAMPLES];
        samples_of(row_of(system, component)[system->size], samples);
        double mean = mean_of(samples);
        if (!(fabs(mean - 1) < 1e-3)) {
            fprintf(stderr, "rank %d: component %d is %.17g instead of 1\n", rank, component, mean);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        if (rank == 0 && component < SHOWN) printf(" %.17g", mean);
    }
    if (rank == 0) printf("\n");
}

static void run(int size) {
    long bytes = (long)size * size * sizeof(double);
    struct system system = {size, (double *)buffer((size_t)size * (size + 1) * sizeof(double), 0)};
    for (int is_partial = 0; is_partial <= 1; is_partial++) {
        start_stream(SEED);
        fill(&system, SEED);
        exchanges = 0;
        exchange_s = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        solve(&system, is_partial);
        double took = MPI_Wtime() - begin, each = exchange_s / exchanges;
        tell_solution(&system, is_partial ? "partial" : "none", exchanges);
        tell(is_partial ? "partial" : "none", bytes, took * 1e3, "ms");
        if (is_partial) tell("exchange", bytes, each * 1e9, "ns");
    }
    free(system.rows);
}

int main(int argc, char **argv) {
    start(argc, argv);
    if (ranks != SAMPLES) {
        fprintf(stderr, "rank %d: %d ranks instead of %d: start it with -n %d\n", rank, ranks, SAMPLES, SAMPLES);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 3; i < argc; i++) run(atoi(argv[i]));
    if (argc <= 3) {
        run(256);
        if (!quick) run(512);
    }
    MPI_Finalize();
    return 0;
}
