/* Numbers of 16 bits, MPIX_C_FLOAT16 and MPIX_BFLOAT16: each reduction gives the result of float, rounded. */
#include <mpi-ext.h>
#include <stdint.h>

#include "check.h"

enum { COUNT = 64 };

static int rank, size;

/* Converts to bfloat16, the upper half of a float, rounded to nearest, ties to even. */
static uint16_t to_bfloat(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float of_bfloat(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float wide;
    memcpy(&wide, &bits, 4);
    return wide;
}

static float power(int exponent)
{
    float x = 1;
    for (; exponent > 0; exponent--)
        x *= 2;
    for (; exponent < 0; exponent++)
        x /= 2;
    return x;
}

/* Converts from binary16, for finite numbers. */
static float of_half(uint16_t x)
{
    int exponent = x >> 10 & 0x1f;
    float wide = exponent ? (float)(0x400 | (x & 0x3ff)) * power(exponent - 25) : (float)(x & 0x3ff) * power(-24);
    return x & 0x8000 ? -wide : wide;
}

static uint16_t to_half(float x)
{
    /* Searches the two neighbours by the conversion in the other direction. */
    uint16_t sign = x < 0 ? 0x8000 : 0, low = 0, high = 0x7bff;
    float wanted = x < 0 ? -x : x;
    while (low < high) {
        uint16_t middle = (uint16_t)((low + high + 1) / 2);
        if (of_half(middle) <= wanted)
            low = middle;
        else
            high = (uint16_t)(middle - 1);
    }
    float below = wanted - of_half(low), above = of_half((uint16_t)(low + 1)) - wanted;
    return (uint16_t)(sign | (low + (above < below || (above == below && (low & 1)))));
}

static MPI_Comm two;

static float number(int of, int at)
{
    /* Fractions whose sums and products are inexact. */
    float x = 1 + (float)((at * 37 + of * 11) % 101) / 128;
    return (at + of) % 3 ? x : -x;
}

static float combined(MPI_Op op, float a, float b)
{
    return op == MPI_SUM ? a + b : op == MPI_PROD ? a * b : op == MPI_MIN ? (a < b ? a : b) : (a > b ? a : b);
}

static void reductions(MPI_Datatype type, uint16_t (*narrow)(float), float (*widen)(uint16_t))
{
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
    uint16_t mine[COUNT], all[COUNT], local[COUNT], expected[COUNT];
    MPI_Win win;
    uint16_t *shown;
    for (int which = 0; which < 4; which++) {
        for (int at = 0; at < COUNT; at++) {
            mine[at] = local[at] = narrow(number(rank, at));
            expected[at] = narrow(combined(ops[which], widen(narrow(number(0, at))), widen(narrow(number(1, at)))));
        }
        OK(MPI_Allreduce(mine, all, COUNT, type, ops[which], two));
        CHECK(memcmp(all, expected, sizeof all) == 0);
        uint16_t other[COUNT];
        for (int at = 0; at < COUNT; at++)
            other[at] = narrow(number(1 - rank, at));
        OK(MPI_Reduce_local(other, local, COUNT, type, ops[which]));
        CHECK(memcmp(local, expected, sizeof local) == 0);
        OK(MPI_Win_allocate(sizeof mine, sizeof *mine, MPI_INFO_NULL, two, &shown, &win));
        OK(MPI_Win_fence(0, win));
        memcpy(shown, mine, sizeof mine);
        OK(MPI_Win_fence(0, win));
        OK(MPI_Accumulate(mine, COUNT, type, 1 - rank, 0, COUNT, type, ops[which], win));
        OK(MPI_Win_fence(0, win));
        CHECK(memcmp(shown, expected, sizeof mine) == 0);
        OK(MPI_Win_free(&win));
    }
    int one = 1;
    FAILS(MPI_ERR_OP, MPI_Reduce_local(mine, all, one, type, MPI_BAND));
}

static void names(MPI_Datatype type, const char *expected)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length, bytes, integers, addresses, types, combiner;
    OK(MPI_Type_get_name(type, name, &length));
    OK(MPI_Type_size(type, &bytes));
    OK(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner));
    CHECK(strcmp(name, expected) == 0 && bytes == 2 && combiner == MPI_COMBINER_NAMED);
    MPI_Datatype pair, inside;
    OK(MPI_Type_contiguous(2, type, &pair));
    OK(MPI_Type_get_contents(pair, 1, 0, 1, &integers, NULL, &inside));
    CHECK(inside == type);
    OK(MPI_Type_free(&pair));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(size >= 2);
    /* Two ranks reduce, because the result of two numbers does not depend on their order. */
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &two));
    if (two != MPI_COMM_NULL) {
        reductions(MPIX_C_FLOAT16, to_half, of_half);
        reductions(MPIX_BFLOAT16, to_bfloat, of_bfloat);
        OK(MPI_Comm_free(&two));
    }
    names(MPIX_C_FLOAT16, "MPIX_C_FLOAT16");
    names(MPIX_BFLOAT16, "MPIX_BFLOAT16");
    OK(MPI_Finalize());
    return result();
}
