/* Functions that MPI 3.0 removed, for a program that asks for them: each behaves like its successor. */
#define MPI_REMOVED_API
#include "check.h"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

typedef struct {
    int count;
    double value;
} Pair;

static int called;

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    called++;
}

/* Checks lower bound, upper bound and extent by the removed functions. */
static int is_bounded(MPI_Datatype type, MPI_Aint lb, MPI_Aint ub)
{
    MPI_Aint got_lb = -1, got_ub = -1, got_extent = -1;
    OK(MPI_Type_lb(type, &got_lb));
    OK(MPI_Type_ub(type, &got_ub));
    OK(MPI_Type_extent(type, &got_extent));
    return got_lb == lb && got_ub == ub && got_extent == ub - lb;
}

static void structures(void)
{
    Pair pairs[2] = {{1, 1.5}, {2, 2.5}}, got[2] = {{0, 0}, {0, 0}};
    int blocks[4] = {1, 1, 1, 1}, size;
    MPI_Aint places[4], start;
    MPI_Datatype types[4] = {MPI_INT, MPI_DOUBLE, MPI_UB, MPI_LB}, type;
    OK(MPI_Address(&pairs[0], &start));
    OK(MPI_Address(&pairs[0].count, &places[0]));
    OK(PMPI_Address(&pairs[0].value, &places[1]));
    places[0] -= start;
    places[1] -= start;
    CHECK(places[0] == 0 && places[1] == 8);
    places[2] = sizeof(Pair);
    places[3] = -8;

    OK(MPI_Type_struct(2, blocks, places, types, &type));
    CHECK(is_bounded(type, 0, 16));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_struct(3, blocks, places, types, &type));
    CHECK(is_bounded(type, 0, sizeof(Pair)));
    OK(MPI_Type_commit(&type));
    OK(MPI_Sendrecv(pairs, 2, type, 0, 0, got, 2, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    CHECK(got[0].count == 1 && got[0].value == 1.5 && got[1].count == 2 && got[1].value == 2.5);
    OK(MPI_Type_free(&type));

    OK(PMPI_Type_struct(4, blocks, places, types, &type));
    CHECK(is_bounded(type, -8, sizeof(Pair)));
    OK(MPI_Type_size(type, &size));
    CHECK(size == 12);
    OK(MPI_Type_free(&type));
    /* Bound markers may come in any order; the outermost counts, and one without a block does not. */
    types[0] = MPI_UB;
    types[1] = MPI_UB;
    types[2] = MPI_LB;
    types[3] = MPI_INT;
    places[0] = 100;
    places[1] = 200;
    places[2] = 4;
    places[3] = 8;
    OK(MPI_Type_struct(4, blocks, places, types, &type));
    CHECK(is_bounded(type, 4, 200));
    OK(MPI_Type_free(&type));
    blocks[1] = 0;
    OK(MPI_Type_struct(4, blocks, places, types, &type));
    CHECK(is_bounded(type, 4, 100));
    OK(MPI_Type_free(&type));
    /* The datatype consists of bounds alone. */
    blocks[3] = 0;
    OK(MPI_Type_struct(4, blocks, places, types, &type));
    CHECK(is_bounded(type, 4, 100));
    OK(MPI_Type_size(type, &size));
    CHECK(size == 0);
    OK(MPI_Type_free(&type));

    types[3] = MPI_DATATYPE_NULL;
    FAILS(MPI_ERR_TYPE, MPI_Type_struct(4, blocks, places, types, &type));
    FAILS(MPI_ERR_COUNT, MPI_Type_struct(-1, blocks, places, types, &type));
    FAILS(MPI_ERR_TYPE, MPI_Type_ub(MPI_DATATYPE_NULL, places));
    FAILS(MPI_ERR_ARG, MPI_Type_ub(MPI_INT, NULL));
    /* No other function accepts the markers. */
    FAILS(MPI_ERR_TYPE, MPI_Type_contiguous(1, MPI_UB, &type));
}

static void strides(void)
{
    const int blocks[2] = {1, 2};
    const MPI_Aint places[2] = {0, 16};
    MPI_Datatype type;
    OK(MPI_Type_hvector(3, 1, 12, MPI_INT, &type));
    CHECK(is_bounded(type, 0, 28));
    OK(MPI_Type_free(&type));
    OK(PMPI_Type_hvector(2, 1, 12, MPI_INT, &type));
    CHECK(is_bounded(type, 0, 16));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_hindexed(2, blocks, places, MPI_INT, &type));
    CHECK(is_bounded(type, 0, 24));
    OK(MPI_Type_free(&type));
    OK(PMPI_Type_hindexed(1, blocks, places, MPI_INT, &type));
    CHECK(is_bounded(type, 0, 4));
    OK(MPI_Type_free(&type));
    CHECK(PMPI_Type_lb(MPI_INT, &(MPI_Aint){0}) == MPI_SUCCESS && PMPI_Type_ub(MPI_INT, &(MPI_Aint){0}) == MPI_SUCCESS);
    CHECK(PMPI_Type_extent(MPI_INT, &(MPI_Aint){0}) == MPI_SUCCESS);
}

static void errhandlers(void)
{
    MPI_Handler_function *function = handler;
    MPI_Errhandler mine, found, before;
    OK(MPI_Errhandler_create(function, &mine));
    OK(MPI_Errhandler_get(MPI_COMM_WORLD, &before));
    OK(MPI_Errhandler_set(MPI_COMM_WORLD, mine));
    FAILS(MPI_ERR_TAG, MPI_Send(NULL, 0, MPI_INT, 0, -5, MPI_COMM_WORLD));
    CHECK(called == 1);
    OK(PMPI_Errhandler_get(MPI_COMM_WORLD, &found));
    OK(PMPI_Errhandler_set(MPI_COMM_WORLD, before));
    FAILS(MPI_ERR_TAG, MPI_Send(NULL, 0, MPI_INT, 0, -5, MPI_COMM_WORLD));
    CHECK(called == 1);
    OK(MPI_Errhandler_free(&found));
    OK(MPI_Errhandler_free(&mine));
    OK(PMPI_Errhandler_create(function, &mine));
    OK(MPI_Errhandler_free(&mine));
}

/* Returns true for an integer form. Programs tell combiners apart in one switch, so each has a value of its
   own. */
static int is_integer_form(int combiner)
{
    switch (combiner) {
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
        return 0;
    case MPI_COMBINER_HVECTOR_INTEGER:
    case MPI_COMBINER_HINDEXED_INTEGER:
    case MPI_COMBINER_STRUCT_INTEGER:
        return 1;
    default:
        return -1;
    }
}

static int copied(MPI_Comm comm, int keyval, void *state, void *in, void *out, int *flag)
{
    (void)comm;
    (void)keyval;
    (void)state;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

/* These functions are deprecated since MPI 2.0, and still in the ABI. */
static void attributes(void)
{
    int keyval, flag = 0, value = 7, *found = NULL;
    MPI_Comm comm;
    OK(MPI_Keyval_create(copied, MPI_NULL_DELETE_FN, &keyval, NULL));
    OK(MPI_Attr_put(MPI_COMM_SELF, keyval, &value));
    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Attr_get(comm, keyval, &found, &flag));
    CHECK(flag && found == &value);
    OK(MPI_Attr_delete(comm, keyval));
    OK(MPI_Attr_get(comm, keyval, &found, &flag));
    CHECK(!flag);
    OK(MPI_Comm_free(&comm));
    OK(MPI_Attr_delete(MPI_COMM_SELF, keyval));
    OK(MPI_Keyval_free(&keyval));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    structures();
    strides();
    errhandlers();
    attributes();
    CHECK(is_integer_form(MPI_COMBINER_STRUCT) == 0 && is_integer_form(MPI_COMBINER_STRUCT_INTEGER) == 1);
    OK(MPI_Finalize());
    return result();
}
