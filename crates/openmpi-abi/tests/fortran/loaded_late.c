/* A program in C that loads Open MPI's library for Fortran for itself alone after MPI_Init. Its first call of
   that library marks an operation as Fortran's. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static MPI_Fint seen;

static void combine(int *in, int *inout, MPI_Fint *n, MPI_Fint *of) {
    seen = *of;
    for (MPI_Fint at = 0; at < *n; at++) inout[at] += in[at];
}

static void expect(int holds, int which) {
    if (holds) return;
    printf("check %d does not hold\n", which);
    MPI_Abort(MPI_COMM_WORLD, which);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, in[2] = {1, 2}, sums[2] = {3, 4};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* This handle is made before handles have memory of their own. */
    MPI_Comm early;
    MPI_Comm_dup(MPI_COMM_SELF, &early);

    void *library = dlopen("libmpi_mpifh.so.40", RTLD_NOW | RTLD_LOCAL);
    expect(library != NULL, 1);
    void (*op_create)(void *, MPI_Fint *, MPI_Fint *, MPI_Fint *) = dlsym(library, "mpi_op_create_");
    void (*group_incl)(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *) = dlsym(library, "mpi_group_incl_");
    void (*alltoallw)(int *, MPI_Fint *, MPI_Fint *, MPI_Fint *, int *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *) =
        dlsym(library, "mpi_alltoallw_");
    expect(op_create && group_incl && alltoallw, 2);

    MPI_Fint op, commutes = 1, error;
    op_create(combine, &commutes, &op, &error);
    MPI_Op made = MPI_Op_f2c(op);
    MPI_Reduce_local(in, sums, 2, MPI_INT, made);
    expect(sums[0] == 4 && sums[1] == 6 && seen == MPI_Type_c2f(MPI_INT), 3);
    MPI_Op_free(&made);

    MPI_Group all, part;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Fint all_number = MPI_Group_c2f(all), one = 1, zero = 0, part_number;
    group_incl(&all_number, &one, &zero, &part_number, &error);
    part = MPI_Group_f2c(part_number);
    int size;
    MPI_Group_size(part, &size);
    expect(size == 1, 4);
    MPI_Group_free(&part);
    MPI_Group_free(&all);

    MPI_Fint early_number = MPI_Comm_c2f(early), of = MPI_Type_c2f(MPI_INT);
    int got = -1;
    alltoallw(&rank, &one, &zero, &of, &got, &one, &zero, &of, &early_number, &error);
    expect(got == rank, 5);
    MPI_Comm_free(&early);
    printf("rank %d has computed %d and %d\n", rank, sums[0], sums[1]);
    MPI_Finalize();
}
