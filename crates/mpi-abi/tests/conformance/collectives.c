/* Collectives with several types and operations, in place too. Sums are of numbers that are exact in any order. */
#include "conformance.h"

#include <limits.h>

void collectives(void)
{
    int in[64], out[64];
    double d[4], e[4];
    MPI_Datatype column;
    MPI_Request request;
    for (int n = 0; n < 64; n++)
        in[n] = rank * 100 + n;
    MPI_Type_vector(4, 1, 8, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &column);
    MPI_Type_commit(&column);
    for (int root = 0; root < size; root++) {
        memcpy(out, in, sizeof out);
        CODE(MPI_Bcast(out, 2, column, root, MPI_COMM_WORLD));
        say_ints("bcast", out, 10);
        memset(out, 0xff, sizeof out);
        CODE(MPI_Gather(in, 4, MPI_INT, out, 1, column, root, MPI_COMM_WORLD));
        say_ints("gather", out, 40);
        memset(out, 0xff, sizeof out);
        CODE(MPI_Scatter(in, 1, column, out, 4, MPI_INT, root, MPI_COMM_WORLD));
        say_ints("scatter", out, 5);
        memset(out, 0xff, sizeof out);
        CODE(MPI_Reduce(in, out, 5, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
        say_ints("reduce", out, 6);
        memcpy(out, in, sizeof out);
        CODE(MPI_Reduce(rank == root ? MPI_IN_PLACE : out, out, 5, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD));
        if (rank == root)
            say_ints("reduce in place", out, 6);
        memcpy(out, in, sizeof out);
        CODE(MPI_Gather(rank == root ? MPI_IN_PLACE : out, 2, MPI_INT, out, 2, MPI_INT, root, MPI_COMM_WORLD));
        say_ints("gather in place", out, 9);
        memcpy(out, in, sizeof out);
        CODE(MPI_Scatter(out, 2, MPI_INT, rank == root ? MPI_IN_PLACE : out, 2, MPI_INT, root, MPI_COMM_WORLD));
        say_ints("scatter in place", out, 9);
    }
    memset(out, 0xff, sizeof out);
    CODE(MPI_Allgather(in, 2, MPI_INT, out, 2, MPI_INT, MPI_COMM_WORLD));
    say_ints("allgather", out, 9);
    memcpy(out, in, sizeof out);
    CODE(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 2, MPI_INT, MPI_COMM_WORLD));
    say_ints("allgather in place", out, 9);
    memset(out, 0xff, sizeof out);
    CODE(MPI_Alltoall(in, 2, MPI_INT, out, 2, MPI_INT, MPI_COMM_WORLD));
    say_ints("alltoall", out, 9);
    memcpy(out, in, sizeof out);
    CODE(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 2, MPI_INT, MPI_COMM_WORLD));
    say_ints("alltoall in place", out, 9);
    memset(out, 0xff, sizeof out);
    CODE(MPI_Allreduce(in, out, 3, MPI_INT, MPI_PROD, MPI_COMM_WORLD));
    say_ints("allreduce", out, 4);
    memcpy(out, in, sizeof out);
    CODE(MPI_Allreduce(MPI_IN_PLACE, out, 3, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    say_ints("allreduce in place", out, 4);
    memset(out, 0xff, sizeof out);
    CODE(MPI_Scan(in, out, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say_ints("scan", out, 4);
    memcpy(out, in, sizeof out);
    CODE(MPI_Scan(MPI_IN_PLACE, out, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say_ints("scan in place", out, 4);
    memset(out, 0xff, sizeof out);
    CODE(MPI_Exscan(in, out, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    /* The first rank's result is undefined. */
    if (rank > 0)
        say_ints("exscan", out, 4);
    memcpy(out, in, sizeof out);
    CODE(MPI_Exscan(MPI_IN_PLACE, out, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (rank > 0)
        say_ints("exscan in place", out, 4);
    memset(out, 0xff, sizeof out);
    CODE(MPI_Reduce_scatter_block(in, out, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say_ints("reduce scatter block", out, 3);
    memcpy(out, in, sizeof out);
    CODE(MPI_Reduce_scatter_block(MPI_IN_PLACE, out, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say_ints("reduce scatter block in place", out, 2);
    CODE(MPI_Barrier(MPI_COMM_WORLD));
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    CODE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    memset(out, 0xff, sizeof out);
    MPI_Iallreduce(in, out, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say_ints("iallreduce", out, 5);
    for (int n = 0; n < 4; n++)
        d[n] = rank * 0.5 + n;
    CODE(MPI_Allreduce(d, e, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    say_doubles("doubles", e, 4);
    CODE(MPI_Reduce_local(d, e, 4, MPI_DOUBLE, MPI_MAX));
    say_doubles("local", e, 4);
    CODE(MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD));
    MPI_Type_free(&column);
}

void uneven(void)
{
    int in[64], out[64], counts[4], places[4], sends[4], from[4], at = 0;
    MPI_Datatype types[4];
    int bytes[4], back[4];
    for (int n = 0; n < 64; n++)
        in[n] = rank * 100 + n;
    for (int r = 0; r < size; r++) {
        counts[r] = r + 1;
        places[r] = 20 - r * 5;
        sends[r] = rank + 1;
        from[r] = r * 5;
        types[r] = MPI_INT;
        bytes[r] = from[r] * 4, back[r] = places[r] * 4;
        at += counts[r];
    }
    for (int root = 0; root < size; root++) {
        memset(out, 0xff, sizeof out);
        CODE(MPI_Gatherv(in, rank + 1, MPI_INT, out, counts, places, MPI_INT, root, MPI_COMM_WORLD));
        say_ints("gatherv", out, 26);
        memset(out, 0xff, sizeof out);
        CODE(MPI_Scatterv(in, counts, places, MPI_INT, out, rank + 1, MPI_INT, root, MPI_COMM_WORLD));
        say_ints("scatterv", out, 6);
    }
    memset(out, 0xff, sizeof out);
    CODE(MPI_Allgatherv(in, rank + 1, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD));
    say_ints("allgatherv", out, 26);
    memcpy(out, in, sizeof out);
    CODE(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, counts, places, MPI_INT, MPI_COMM_WORLD));
    say_ints("allgatherv in place", out, 26);
    memset(out, 0xff, sizeof out);
    CODE(MPI_Alltoallv(in, sends, from, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD));
    say_ints("alltoallv", out, 26);
    memset(out, 0xff, sizeof out);
    CODE(MPI_Alltoallw(in, sends, bytes, types, out, counts, back, types, MPI_COMM_WORLD));
    say_ints("alltoallw", out, 26);
    for (int r = 0; r < size; r++)
        sends[r] = 2;
    memcpy(out, in, sizeof out);
    CODE(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, sends, places, MPI_INT, MPI_COMM_WORLD));
    say_ints("alltoallv in place", out, 26);
    memset(out, 0xff, sizeof out);
    CODE(MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say_ints("reduce scatter", out, rank + 2);
    counts[0] = 0;
    memcpy(out, in, sizeof out);
    CODE(MPI_Reduce_scatter(MPI_IN_PLACE, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    say_ints("reduce scatter in place", out, counts[rank]);
    say("all: %d", at);
}

/* Keeps the last digits of the left operand: associative, not commutative. */
static void follow(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    (void)datatype;
    for (int n = 0; n < *len; n++) {
        /* Matrices of two rows, of two numbers each. */
        long *a = (long *)in + 4 * n, *b = (long *)inout + 4 * n;
        long c[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                     a[2] * b[1] + a[3] * b[3]};
        memcpy(b, c, sizeof c);
    }
}

static void of_longs(const char *what, const long *numbers, int n)
{
    for (int i = 0; i < n; i++)
        say("%s: %ld", what, numbers[i]);
}

#define TRY(type, c_type, format, op, one, two)                                                                        \
    do {                                                                                                               \
        c_type mine[2] = {(c_type)(one), (c_type)(two)}, all[2] = {0, 0};                                              \
        int code = MPI_Allreduce(mine, all, 2, type, op, MPI_COMM_WORLD);                                              \
        say_code(#op " of " #type, code);                                                                              \
        if (code == MPI_SUCCESS)                                                                                       \
            say(#op " of " #type ": " format " " format, all[0], all[1]);                                              \
    } while (0)

#define TRY_ALL(type, c_type, format)                                                                                  \
    do {                                                                                                               \
        TRY(type, c_type, format, MPI_SUM, rank + 1, 3);                                                               \
        TRY(type, c_type, format, MPI_PROD, rank + 1, 2);                                                              \
        TRY(type, c_type, format, MPI_MAX, rank % 3, 9 - rank);                                                        \
        TRY(type, c_type, format, MPI_MIN, rank % 3, 9 - rank);                                                        \
        TRY(type, c_type, format, MPI_LAND, rank, 1);                                                                  \
        TRY(type, c_type, format, MPI_LOR, rank, 0);                                                                   \
        TRY(type, c_type, format, MPI_LXOR, rank, 1);                                                                  \
        TRY(type, c_type, format, MPI_BAND, 7 - rank, 5);                                                              \
        TRY(type, c_type, format, MPI_BOR, rank, 8);                                                                   \
        TRY(type, c_type, format, MPI_BXOR, rank + 4, 5);                                                              \
    } while (0)

void operations(void)
{
    MPI_Op op;
    MPI_Datatype matrix;
    int commutes;
    long mine[8] = {1, rank + 1, 0, 1, rank, 1, 1, 0}, all[8];
    struct {
        double value;
        int at;
    } place[2] = {{rank % 2, rank}, {1, 5 - rank}}, found[2];
    struct {
        int value, at;
    } whole = {-(rank / 2), rank}, least;
    memset(found, 0, sizeof found);
    TRY_ALL(MPI_INT, int, "%d");
    TRY_ALL(MPI_SIGNED_CHAR, signed char, "%d");
    TRY_ALL(MPI_UNSIGNED_SHORT, unsigned short, "%d");
    TRY_ALL(MPI_INT64_T, long, "%ld");
    TRY_ALL(MPI_UINT8_T, unsigned char, "%d");
    TRY(MPI_FLOAT, float, "%g", MPI_SUM, rank, 0.5);
    TRY(MPI_FLOAT, float, "%g", MPI_PROD, rank + 1, 0.5);
    TRY(MPI_DOUBLE, double, "%g", MPI_MIN, -rank, rank);
    TRY(MPI_LONG_DOUBLE, long double, "%Lg", MPI_SUM, rank, 0.25);
    TRY(MPI_AINT, long, "%ld", MPI_SUM, rank, 7);
    TRY(MPI_COUNT, long, "%ld", MPI_MAX, rank, 7);
    TRY(MPI_BYTE, unsigned char, "%d", MPI_BXOR, rank, 7);
    TRY(MPI_C_BOOL, unsigned char, "%d", MPI_LAND, rank > 0, 1);
    TRY(MPI_C_BOOL, unsigned char, "%d", MPI_LXOR, rank > 0, 1);
    CODE(MPI_Allreduce(place, found, 2, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
    say("maxloc: %g %d, %g %d", found[0].value, found[0].at, found[1].value, found[1].at);
    CODE(MPI_Allreduce(place, found, 2, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD));
    say("minloc: %g %d, %g %d", found[0].value, found[0].at, found[1].value, found[1].at);
    CODE(MPI_Allreduce(&whole, &least, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD));
    say("minloc: %d %d", least.value, least.at);
    double complex_in[2] = {rank, 1}, complex_out[2] = {0, 0};
    CODE(MPI_Allreduce(complex_in, complex_out, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD));
    say_doubles("complex", complex_out, 2);
    MPI_Type_contiguous(4, MPI_LONG, &matrix);
    MPI_Type_commit(&matrix);
    MPI_Op_create(follow, 0, &op);
    MPI_Op_commutative(op, &commutes);
    say("commutes: %d", commutes);
    for (int root = 0; root < size; root++) {
        memset(all, 0, sizeof all);
        CODE(MPI_Reduce(mine, all, 2, matrix, op, root, MPI_COMM_WORLD));
        of_longs("reduce in order", all, 8);
    }
    CODE(MPI_Allreduce(mine, all, 2, matrix, op, MPI_COMM_WORLD));
    of_longs("allreduce in order", all, 8);
    CODE(MPI_Scan(mine, all, 2, matrix, op, MPI_COMM_WORLD));
    of_longs("scan in order", all, 8);
    CODE(MPI_Exscan(mine, all, 2, matrix, op, MPI_COMM_WORLD));
    if (rank > 0)
        of_longs("exscan in order", all, 8);
    MPI_Op_free(&op);
    say("null: %d", op == MPI_OP_NULL);
    MPI_Op_commutative(MPI_SUM, &commutes);
    say("sums commute: %d", commutes);
    MPI_Type_free(&matrix);
}
