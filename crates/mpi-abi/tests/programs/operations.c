/* Reduction operations of the standard and of the program, on contiguous elements and with gaps. */
#include <stddef.h>

#include "check.h"

struct located {
    double value;
    int at;
};

static int calls;

static void subtract(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    calls++;
    CHECK(*datatype == MPI_INT);
    for (int i = 0; i < *len; i++)
        ((int *)inout)[i] = ((int *)in)[i] - ((int *)inout)[i];
}

static void subtract_c(void *in, void *inout, MPI_Count *len, MPI_Datatype *datatype)
{
    (void)datatype;
    for (MPI_Count i = 0; i < *len; i++)
        ((int *)inout)[i] = ((int *)in)[i] - ((int *)inout)[i];
}

/* The elements have a gap after each. */
static void first_located(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    CHECK(*datatype == MPI_DOUBLE_INT && ((uintptr_t)in % 8) == 0 && ((uintptr_t)inout % 8) == 0);
    for (int i = 0; i < *len; i++) {
        ((struct located *)inout)[i].value += ((struct located *)in)[i].value;
        ((struct located *)inout)[i].at = ((struct located *)in)[i].at;
    }
}

static void built_in(void)
{
    int one[3] = {1, -5, 9}, other[3] = {4, -7, 9};
    double complex_numbers[4] = {1, 2, 3, 4};
    unsigned char bits[2] = {0xf0, 0x3c};
    struct located a[2] = {{1, 7}, {2, 9}}, b[2] = {{1, 3}, {0, 1}};
    OK(MPI_Reduce_local(one, other, 3, MPI_INT, MPI_SUM));
    CHECK(other[0] == 5 && other[1] == -12 && other[2] == 18);
    OK(MPI_Reduce_local(one, other, 3, MPI_INT, MPI_MIN));
    CHECK(other[0] == 1 && other[1] == -12 && other[2] == 9);
    OK(MPI_Reduce_local_c(complex_numbers, complex_numbers + 2, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD));
    CHECK(complex_numbers[2] == -5 && complex_numbers[3] == 10);
    OK(MPI_Reduce_local(bits, bits + 1, 1, MPI_BYTE, MPI_BAND));
    CHECK(bits[1] == 0x30);
    char letters[4] = {'a', -3, 1, -4};
    OK(MPI_Reduce_local(letters, letters + 2, 2, MPI_CHAR, MPI_SUM));
    CHECK(letters[2] == 'b' && letters[3] == (char)-7);
    OK(MPI_Reduce_local(a, b, 2, MPI_DOUBLE_INT, MPI_MAXLOC));
    CHECK(b[0].value == 1 && b[0].at == 3 && b[1].value == 2 && b[1].at == 9);
    OK(MPI_Reduce_local(NULL, NULL, 0, MPI_INT, MPI_SUM));

    FAILS(MPI_ERR_OP, MPI_Reduce_local(complex_numbers, complex_numbers + 2, 1, MPI_DOUBLE, MPI_BAND));
    FAILS(MPI_ERR_OP, MPI_Reduce_local(complex_numbers, complex_numbers + 2, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX));
    FAILS(MPI_ERR_OP, MPI_Reduce_local(bits, bits + 1, 1, MPI_WCHAR, MPI_SUM));
    FAILS(MPI_ERR_OP, MPI_Reduce_local(one, other, 1, MPI_INT, MPI_MINLOC));
    FAILS(MPI_ERR_OP, MPI_Reduce_local(one, other, 1, MPI_INT, MPI_REPLACE));
    FAILS(MPI_ERR_OP, MPI_Reduce_local(one, other, 1, MPI_INT, MPI_OP_NULL));
    FAILS(MPI_ERR_TYPE, MPI_Reduce_local(one, other, 1, MPI_DATATYPE_NULL, MPI_SUM));
    FAILS(MPI_ERR_COUNT, MPI_Reduce_local(one, other, -1, MPI_INT, MPI_SUM));
    FAILS(MPI_ERR_BUFFER, MPI_Reduce_local(NULL, other, 1, MPI_INT, MPI_SUM));
}

static void own(void)
{
    MPI_Op op, large, gaps;
    int one[2] = {10, 20}, other[2] = {1, 2}, commutes = -1;
    char unaligned[1 + sizeof one];
    struct located a[2] = {{1, 7}, {2, 9}}, b[2] = {{10, 3}, {20, 1}};
    OK(MPI_Op_create(subtract, 0, &op));
    OK(MPI_Op_create_c(subtract_c, 0, &large));
    OK(MPI_Op_create(first_located, 1, &gaps));
    OK(MPI_Op_commutative(op, &commutes));
    CHECK(commutes == 0);
    OK(MPI_Op_commutative(gaps, &commutes));
    CHECK(commutes == 1);
    OK(MPI_Op_commutative(MPI_SUM, &commutes));
    CHECK(commutes == 1);
    OK(MPI_Reduce_local(one, other, 2, MPI_INT, op));
    CHECK(calls == 1 && other[0] == 9 && other[1] == 18);
    OK(MPI_Reduce_local(one, other, 2, MPI_INT, large));
    CHECK(other[0] == 1 && other[1] == 2);
    memcpy(unaligned + 1, other, sizeof other);
    OK(MPI_Reduce_local(one, unaligned + 1, 2, MPI_INT, op));
    memcpy(other, unaligned + 1, sizeof other);
    CHECK(other[0] == 9 && other[1] == 18);
    OK(MPI_Reduce_local(a, b, 2, MPI_DOUBLE_INT, gaps));
    CHECK(b[0].value == 11 && b[0].at == 7 && b[1].value == 22 && b[1].at == 9);

    MPI_Op stale = op, sum = MPI_SUM;
    OK(MPI_Op_free(&op));
    CHECK(op == MPI_OP_NULL);
    FAILS(MPI_ERR_OP, MPI_Op_commutative(stale, &commutes));
    FAILS(MPI_ERR_OP, MPI_Op_free(&sum));
    FAILS(MPI_ERR_ARG, MPI_Op_create(NULL, 0, &op));
    OK(MPI_Op_free(&large));
    OK(MPI_Op_free(&gaps));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    built_in();
    own();
    OK(MPI_Finalize());
    return result();
}
