/* A picture of the Mandelbrot set by a master and workers (de Oliveira et al., 2000); apps/mandelbrot
 * computes it over mailboxes. Rank 0 distributes slices of rows to the other ranks on request, and joins the
 * finished ones. A request carries the finished slice of its worker.
 *
 * Called as `mandelbrot BLOCK_MS QUICK [COLUMNS ROWS]`. "picture" is the time of a picture of so many bytes. Its iterations and its checksum must be
 * those of apps/mandelbrot, where they are known; a line that begins with # tells them. */
#include <math.h>
#include <stdint.h>

#include "measure.h"

enum { SLICE_ROWS = 8, LIMIT = 17500, FURTHER = 4, HEAD = 3, REQUEST = 1, ANSWER = 2 };
static const double X = -0.74332, Y = 0.13139, WIDTH = 0.0019;

static const struct known { int columns, rows; uint64_t iterations, checksum; } KNOWN[] = {
    {480, 270, 13723059, 0xecd38ace021669ca},
    {960, 540, 54904236, 0x8aa25476172e32fb},
    {1920, 1080, 219675275, 0x00018bccda323617},
};

static int columns, rows;
static double step;

static int in_main_bodies(double x, double y) {
    double from_cusp = x - 0.25, y2 = y * y, q = from_cusp * from_cusp + y2;
    return q * (q + from_cusp) <= 0.25 * y2 || (x + 1) * (x + 1) + y2 <= 0.0625;
}

static inline void iterate(double *re, double *im, double x, double y) {
    double next = *re * *re - *im * *im + x;
    *im = 2 * *re * *im + y;
    *re = next;
}

/* Returns the smooth count of a point that has escaped, and less than 0 for one inside. Adds the iterations
   to `spent`. */
static double level_of(double x, double y, uint64_t *spent) {
    if (in_main_bodies(x, y)) return -1;
    double re = 0, im = 0, old_re = 0, old_im = 0;
    uint32_t renew_at = 8;
    for (uint32_t count = 1; count <= LIMIT; count++) {
        iterate(&re, &im, x, y);
        if (re * re + im * im > 4) {
            *spent += count;
            for (int i = 0; i < FURTHER; i++) iterate(&re, &im, x, y);
            double level = (double)(count + FURTHER) + 1 - log2(0.5 * log(re * re + im * im));
            return level > 0 ? level : 0;
        }
        /* A point that returns to an earlier value repeats for ever. */
        if (re == old_re && im == old_im) {
            *spent += count;
            return -1;
        }
        if (count == renew_at) {
            old_re = re;
            old_im = im;
            renew_at *= 2;
        }
    }
    *spent += LIMIT;
    return -1;
}

/* A circle of colours: place, red, green, blue. */
static const double CIRCLE[][4] = {
    {0, 0, 7, 100}, {0.16, 32, 107, 203}, {0.42, 237, 255, 255}, {0.6425, 255, 170, 0}, {0.8575, 0, 2, 0}, {1, 0, 7, 100},
};

static void colour_of(double level, uint8_t *samples) {
    if (level < 0) {
        memset(samples, 0, 3);
        return;
    }
    double rounds = log2(level + 1) * 0.6, place = rounds - floor(rounds);
    int after = 0;
    while (after < 5 && !(CIRCLE[after][0] > place)) after++;
    const double *from = CIRCLE[after - 1], *to = CIRCLE[after];
    double part = (place - from[0]) / (to[0] - from[0]);
    part = part * part * (3 - 2 * part);
    for (int nth = 1; nth <= 3; nth++) samples[nth - 1] = (uint8_t)round(from[nth] + part * (to[nth] - from[nth]));
}

/* Computes the rows of a slice; returns the number of iterations. */
static uint64_t compute(int first, int end, uint8_t *samples) {
    uint64_t spent = 0;
    for (int row = first; row < end; row++) {
        double y = Y - step * (row + 0.5 - rows / 2.0);
        for (int column = 0; column < columns; column++, samples += 3) {
            colour_of(level_of(X + step * (column + 0.5 - columns / 2.0), y, &spent), samples);
        }
    }
    return spent;
}

/* Returns the bytes of a request: first row, end row and iterations of the finished slice, then its samples.
   Its rows are 0 to 0 at first. */
static size_t request_bytes(int slice_rows) { return HEAD * sizeof(uint64_t) + (size_t)slice_rows * columns * 3; }

static void work(uint8_t *message) {
    uint64_t head[HEAD] = {0, 0, 0};
    for (;;) {
        memcpy(message, head, sizeof head);
        MPI_Send(message, (int)request_bytes((int)(head[1] - head[0])), MPI_BYTE, 0, REQUEST, MPI_COMM_WORLD);
        uint64_t slice[2];
        MPI_Recv(slice, sizeof slice, MPI_BYTE, 0, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (slice[0] == slice[1]) return;
        head[0] = slice[0];
        head[1] = slice[1];
        head[2] = compute((int)slice[0], (int)slice[1], message + sizeof head);
    }
}

/* Rank 0: distributes all slices and collects them; returns the iterations of all. */
static uint64_t hand_out(uint8_t *message, uint8_t *picture) {
    uint64_t iterations = 0, next_row = 0;
    for (int dismissed = 0; dismissed < ranks - 1;) {
        MPI_Status status;
        MPI_Recv(message, (int)request_bytes(SLICE_ROWS), MPI_BYTE, MPI_ANY_SOURCE, REQUEST, MPI_COMM_WORLD, &status);
        uint64_t head[HEAD], slice[2] = {next_row, next_row + SLICE_ROWS};
        memcpy(head, message, sizeof head);
        memcpy(picture + head[0] * columns * 3, message + sizeof head, (head[1] - head[0]) * columns * 3);
        iterations += head[2];
        if (slice[1] > (uint64_t)rows) slice[1] = rows;
        next_row = slice[1];
        dismissed += slice[0] == slice[1];
        MPI_Send(slice, sizeof slice, MPI_BYTE, status.MPI_SOURCE, ANSWER, MPI_COMM_WORLD);
    }
    return iterations;
}

/* Compares a picture with the known iterations and checksum. */
static void check(const uint8_t *picture, uint64_t iterations) {
    uint64_t checksum = 0xcbf29ce484222325;
    for (size_t i = 0; i < (size_t)columns * rows * 3; i++) checksum = (checksum ^ picture[i]) * 0x100000001b3;
    printf("# %d x %d pixels, %llu iterations, checksum %016llx\n", columns, rows, (unsigned long long)iterations, (unsigned long long)checksum);
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
        const struct known *known = &KNOWN[i];
        if (known->columns != columns || known->rows != rows) continue;
        if (known->iterations == iterations && known->checksum == checksum) continue;
        fprintf(stderr, "rank 0: this is not the picture of apps/mandelbrot\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void draw(int of_columns, int of_rows) {
    columns = of_columns;
    rows = of_rows;
    step = WIDTH / columns;
    long bytes = (long)columns * rows * 3;
    uint8_t *message = (uint8_t *)buffer(request_bytes(SLICE_ROWS), 0), *picture = (uint8_t *)buffer(bytes, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    uint64_t iterations = 0;
    if (rank > 0) work(message);
    else if (ranks > 1) iterations = hand_out(message, picture);
    else iterations = compute(0, rows, picture);
    double took = MPI_Wtime() - begin;
    if (rank == 0) check(picture, iterations);
    tell("picture", bytes, took * 1e3, "ms");
    free(message);
    free(picture);
}

int main(int argc, char **argv) {
    start(argc, argv);
    if (argc > 4) {
        draw(atoi(argv[3]), atoi(argv[4]));
    } else {
        draw(960, 540);
        if (!quick) draw(1920, 1080);
    }
    MPI_Finalize();
    return 0;
}
