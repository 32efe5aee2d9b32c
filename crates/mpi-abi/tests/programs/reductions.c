/* Operations in collectives: pairs of the standard, and operations of the program, in order and with gaps,
   freed while they are in use. */
#include "check.h"

struct located {
    double value;
    int at;
};

static int size, rank;

/* A map i -> factor * i + term; composition is associative and not commutative. */
struct map {
    long factor, term;
};

static void compose(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    struct map *first = in, *second = inout;
    CHECK(*datatype == MPI_C_DOUBLE_COMPLEX);
    for (int n = 0; n < *len; n++) {
        second[n].term += second[n].factor * first[n].term;
        second[n].factor *= first[n].factor;
    }
}

static void total(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    CHECK(*datatype == MPI_DOUBLE_INT);
    for (int n = 0; n < *len; n++) {
        ((struct located *)inout)[n].value += ((struct located *)in)[n].value;
        ((struct located *)inout)[n].at += ((struct located *)in)[n].at;
    }
}

static void pairs(void)
{
    struct located mine[2] = {{rank % 2, rank}, {-rank, rank}}, found[2];
    OK(MPI_Allreduce(mine, found, 2, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
    CHECK(found[0].value == (size > 1) && found[0].at == (size > 1));
    CHECK(found[1].value == 0 && found[1].at == 0);
    FAILS(MPI_ERR_OP, MPI_Allreduce(mine, found, 2, MPI_DOUBLE_INT, MPI_SUM, MPI_COMM_WORLD));
}

/* Both numbers travel as one element, of a datatype of their size. */
static void in_order(void)
{
    MPI_Op op;
    struct map mine = {rank % 2 ? 3 : 2, rank + 1}, all = {0, 0}, expected = {1, 0};
    OK(MPI_Op_create(compose, 0, &op));
    for (int r = 0; r < size; r++) {
        long factor = r % 2 ? 3 : 2;
        expected.term = factor * expected.term + r + 1;
        expected.factor *= factor;
    }
    OK(MPI_Allreduce(&mine, &all, 1, MPI_C_DOUBLE_COMPLEX, op, MPI_COMM_WORLD));
    CHECK(all.factor == expected.factor && all.term == expected.term);
    OK(MPI_Op_free(&op));
}

static void under_way(void)
{
    MPI_Op op;
    MPI_Request request;
    struct located mine[100], all[100];
    for (int n = 0; n < 100; n++)
        mine[n] = (struct located){n, rank};
    OK(MPI_Op_create(total, 1, &op));
    OK(MPI_Iallreduce(mine, all, 100, MPI_DOUBLE_INT, op, MPI_COMM_WORLD, &request));
    OK(MPI_Op_free(&op));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int n = 0; n < 100; n++)
        CHECK(all[n].value == (double)n * size && all[n].at == size * (size - 1) / 2);
}

static MPI_Datatype spread;

static void outer(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    int bytes = -1;
    OK(MPI_Type_size(*datatype, &bytes));
    CHECK(bytes == 2 * sizeof(int) && (spread == MPI_DATATYPE_NULL || *datatype == spread));
    for (int n = 0; n < *len; n++)
        for (int i = 0; i < 3; i += 2)
            ((int(*)[3])inout)[n][i] += ((int(*)[3])in)[n][i];
}

/* Reduces two numbers with an untouched one between them; the handle is freed while the function is still
   needed. */
static void spread_out(void)
{
    MPI_Op op;
    MPI_Request request;
    int mine[4][3], all[4][3];
    for (int n = 0; n < 12; n++) {
        mine[n / 3][n % 3] = rank + n;
        all[n / 3][n % 3] = -7;
    }
    OK(MPI_Op_create(outer, 1, &op));
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &spread));
    OK(MPI_Type_commit(&spread));
    OK(MPI_Allreduce(mine, all, 4, spread, op, MPI_COMM_WORLD));
    for (int n = 0; n < 12; n++)
        CHECK(all[n / 3][n % 3] == (n % 3 == 1 ? -7 : size * n + size * (size - 1) / 2));
    OK(MPI_Iallreduce(mine, all, 4, spread, op, MPI_COMM_WORLD, &request));
    OK(MPI_Type_free(&spread));
    OK(MPI_Op_free(&op));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(all[3][1] == -7 && all[3][2] == size * 11 + size * (size - 1) / 2);
    FAILS(MPI_ERR_TYPE, MPI_Allreduce(mine, all, 4, spread, MPI_SUM, MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pairs();
    in_order();
    under_way();
    spread_out();
    OK(MPI_Finalize());
    return result();
}
