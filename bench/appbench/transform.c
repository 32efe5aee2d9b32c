/* Transforms EDGE³ complex doubles forward and back, TIMES times, over all ranks: transform EDGE TIMES. Every transform exchanges
 * the whole field between all ranks, in one block for each pair of them. */
#include <complex.h>
#include <fftw3-mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns the value of a place in the field: not smooth, so that every wave takes part. */
static double complex value(ptrdiff_t place)
{
    unsigned long mixed = (unsigned long)place * 0x9E3779B97F4A7C15ul;
    return (double)(mixed >> 40) / (1 << 24) + I * (double)((mixed >> 16) & 0xFFFFFF) / (1 << 24);
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    fftw_mpi_init();
    ptrdiff_t edge = count > 1 ? atol(words[1]) : 96, times = count > 2 ? atol(words[2]) : 1;
    ptrdiff_t layers, first;
    ptrdiff_t held = fftw_mpi_local_size_3d(edge, edge, edge, MPI_COMM_WORLD, &layers, &first);
    ptrdiff_t mine = layers * edge * edge, begin = first * edge * edge;
    fftw_complex *field = fftw_alloc_complex((size_t)held);
    /* An estimated plan is equal for all implementations. */
    fftw_plan forward = fftw_mpi_plan_dft_3d(edge, edge, edge, field, field, MPI_COMM_WORLD, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_plan back = fftw_mpi_plan_dft_3d(edge, edge, edge, field, field, MPI_COMM_WORLD, FFTW_BACKWARD, FFTW_ESTIMATE);
    for (ptrdiff_t i = 0; i < mine; i++)
        field[i] = value(begin + i);

    double scale = 1.0 / ((double)edge * (double)edge * (double)edge), start = 0;
    /* The first pair of transforms is not timed. */
    for (ptrdiff_t pair = -1; pair < times; pair++) {
        if (pair == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            start = MPI_Wtime();
        }
        fftw_execute(forward);
        fftw_execute(back);
        for (ptrdiff_t i = 0; i < mine; i++)
            field[i] *= scale;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - start, error = 0, worst = 0;

    for (ptrdiff_t i = 0; i < mine; i++)
        error = fmax(error, cabs(field[i] - value(begin + i)));
    MPI_Allreduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%s, largest difference %.3g\nseconds %.6f\n", worst < 1e-9 ? "the field is back" : "THE FIELD DIFFERS", worst, seconds);
    fftw_destroy_plan(forward);
    fftw_destroy_plan(back);
    fftw_free(field);
    fftw_mpi_cleanup();
    MPI_Finalize();
    return worst < 1e-9 ? 0 : 1;
}
