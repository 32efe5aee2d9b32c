/* Datatypes through the C interface: constructors, bounds, contents, packing, external32, counts of statuses,
 * large counts and wrong arguments. One process is enough, because messages go to itself. */
#include "check.h"
#include "check_datatype.h"
#include <stddef.h>
#include <stdint.h>

typedef struct {
    double value;
    char sign;
} Record;

static void constructors(void)
{
    MPI_Datatype type, record;
    int lengths[] = {1, 2}, places[] = {3, 0};
    MPI_Aint at[] = {5, 0};
    OK(MPI_Type_contiguous(2, MPI_SHORT, &type));
    BOUNDS(type, 4, 0, 4, 0, 4);
    MADE(type, MPI_COMBINER_CONTIGUOUS, 1, 0, 2);
    TRAVELS(type, 2, 0, 1, 2, 3, 4, 5, 6, 7);
    OK(MPI_Type_free(&type));
    CHECK(type == MPI_DATATYPE_NULL);
    OK(MPI_Type_vector(2, 1, -2, MPI_SHORT, &type));
    BOUNDS(type, 4, -4, 6, -4, 6);
    MADE(type, MPI_COMBINER_VECTOR, 3, 0, 2, 1, -2);
    TRAVELS(type, 2, 0, 1, -4, -3, 6, 7, 2, 3);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_hvector(2, 1, 5, MPI_INT, &type));
    BOUNDS(type, 8, 0, 12, 0, 9); /* Rounded up to where the next int may lie. */
    MADE(type, MPI_COMBINER_HVECTOR, 2, 1, 2, 1, 5);
    TRAVELS(type, 1, 0, 1, 2, 3, 5, 6, 7, 8);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_indexed(2, lengths, places, MPI_SHORT, &type));
    BOUNDS(type, 6, 0, 8, 0, 8);
    MADE(type, MPI_COMBINER_INDEXED, 5, 0, 2, 1, 2, 3, 0);
    TRAVELS(type, 1, 6, 7, 0, 1, 2, 3);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_hindexed(2, lengths, at, MPI_CHAR, &type));
    BOUNDS(type, 3, 0, 6, 0, 6);
    MADE(type, MPI_COMBINER_HINDEXED, 3, 2, 2, 1, 2, 5, 0);
    TRAVELS(type, 2, 5, 0, 1, 11, 6, 7);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_indexed_block(2, 1, places, MPI_SHORT, &type));
    MADE(type, MPI_COMBINER_INDEXED_BLOCK, 4, 0, 2, 1, 3, 0);
    TRAVELS(type, 1, 6, 7, 0, 1);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_hindexed_block(2, 2, at, MPI_CHAR, &type));
    MADE(type, MPI_COMBINER_HINDEXED_BLOCK, 2, 2, 2, 2, 5, 0);
    TRAVELS(type, 1, 5, 6, 0, 1);
    OK(MPI_Type_free(&type));
    MPI_Aint members[] = {offsetof(Record, value), offsetof(Record, sign)};
    MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR};
    int ones[] = {1, 1};
    OK(MPI_Type_create_struct(2, ones, members, types, &record));
    BOUNDS(record, 9, 0, sizeof(Record), 0, 9);
    MADE(record, MPI_COMBINER_STRUCT, 3, 2, 2, 1, 1, 0, 8);
    TRAVELS(record, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 18, 19, 20, 21, 22, 23, 24);
    /* The padding of the inner struct counts, even at a place that no struct of C has. */
    OK(MPI_Type_create_hindexed_block(1, 1, at, record, &type));
    BOUNDS(type, 9, 5, 16, 5, 9);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_resized(record, -1, 12, &type));
    BOUNDS(type, 9, -1, 12, 0, 9);
    MADE(type, MPI_COMBINER_RESIZED, 0, 2, -1, 12);
    OK(MPI_Type_free(&record)); /* What is made of it needs it no more. */
    TRAVELS(type, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15, 16, 17, 18, 19, 20);
    OK(MPI_Type_dup(type, &record));
    BOUNDS(record, 9, -1, 12, 0, 9);
    MADE(record, MPI_COMBINER_DUP, 0, 0, 0);
    OK(MPI_Type_free(&record));
    OK(MPI_Type_free(&type));
}

static void arrays(void)
{
    MPI_Datatype type;
    int sizes[] = {3, 4}, parts[] = {2, 2}, starts[] = {1, 1};
    OK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_CHAR, &type));
    BOUNDS(type, 4, 0, 12, 5, 6);
    MADE(type, MPI_COMBINER_SUBARRAY, 8, 0, 2, 3, 4, 2, 2, 1, 1, MPI_ORDER_C);
    TRAVELS(type, 1, 5, 6, 9, 10);
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_CHAR, &type));
    TRAVELS(type, 1, 4, 5, 7, 8);
    OK(MPI_Type_free(&type));
    int how[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, blocks[] = {1, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 2};
    OK(MPI_Type_create_darray(4, 1, 2, sizes, how, blocks, grid, MPI_ORDER_C, MPI_CHAR, &type));
    BOUNDS(type, 4, 0, 12, 2, 10);
    MADE(type, MPI_COMBINER_DARRAY, 12, 0, 4, 1, 2, 3, 4, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK, 1,
         MPI_DISTRIBUTE_DFLT_DARG, 2, 2, MPI_ORDER_C);
    TRAVELS(type, 1, 2, 3, 10, 11);
    OK(MPI_Type_free(&type));
    FAILS(MPI_ERR_ARG, MPI_Type_create_subarray(2, sizes, parts, starts, 77, MPI_CHAR, &type));
    FAILS(MPI_ERR_ARG, MPI_Type_create_subarray(-1, sizes, parts, starts, MPI_ORDER_C, MPI_CHAR, &type));
    grid[0] = 3;
    FAILS(MPI_ERR_ARG, MPI_Type_create_darray(4, 1, 2, sizes, how, blocks, grid, MPI_ORDER_C, MPI_CHAR, &type));
    how[0] = 77;
    FAILS(MPI_ERR_ARG, MPI_Type_create_darray(6, 1, 2, sizes, how, blocks, grid, MPI_ORDER_C, MPI_CHAR, &type));
}

static void predefined(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Datatype one, other, inner[2];
    OK(MPI_Type_get_name(MPI_INT, name, &length));
    CHECK(strcmp(name, "MPI_INT") == 0 && length == 7);
    OK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length));
    CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0);
    OK(MPI_Type_contiguous(1, MPI_INT, &one));
    OK(MPI_Type_get_name(one, name, &length));
    CHECK(name[0] == 0 && length == 0);
    OK(MPI_Type_set_name(one, "pair of numbers"));
    OK(MPI_Type_get_name(one, name, &length));
    CHECK(strcmp(name, "pair of numbers") == 0);
    OK(MPI_Type_get_contents(one, 1, 0, 1, &length, NULL, inner));
    CHECK(inner[0] == MPI_INT);
    OK(MPI_Type_free(&one));
    OK(MPI_Type_create_f90_real(12, MPI_UNDEFINED, &one));
    OK(MPI_Type_create_f90_real(12, MPI_UNDEFINED, &other));
    CHECK(one == other);
    BOUNDS(one, 8, 0, 8, 0, 8);
    MADE(one, MPI_COMBINER_F90_REAL, 2, 0, 12, MPI_UNDEFINED);
    FAILS(MPI_ERR_TYPE, MPI_Type_free(&one));
    OK(MPI_Type_create_f90_complex(6, 30, &one));
    BOUNDS(one, 8, 0, 8, 0, 8);
    OK(MPI_Type_create_f90_integer(12, &one));
    MADE(one, MPI_COMBINER_F90_INTEGER, 1, 0, 12);
    OK(MPI_Type_contiguous(3, one, &other));
    OK(MPI_Type_get_contents(other, 1, 0, 1, &length, NULL, inner));
    CHECK(inner[0] == one); /* Predefined, though it has no name. */
    OK(MPI_Type_free(&other));
    FAILS(MPI_ERR_ARG, MPI_Type_create_f90_integer(100, &one));
    OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &one));
    CHECK(one == MPI_REAL8);
    FAILS(MPI_ERR_ARG, MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 3, &one));
    OK(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &one));
    CHECK(one == MPI_DOUBLE_INT);
    OK(MPI_Type_get_value_index(MPI_INT64_T, MPI_INT64_T, &one));
    OK(MPI_Type_get_value_index(MPI_INT64_T, MPI_INT64_T, &other));
    CHECK(one == other && one != MPI_DATATYPE_NULL);
    OK(MPI_Type_get_contents(one, 0, 0, 2, NULL, NULL, inner));
    CHECK(inner[0] == MPI_INT64_T && inner[1] == MPI_INT64_T);
    OK(MPI_Type_get_value_index(MPI_BYTE, MPI_INT, &one));
    CHECK(one == MPI_DATATYPE_NULL);
}

static void external(void)
{
    int values[] = {1, -2};
    long numbers[] = {1, -2}, back[2], huge = 1L << 40;
    MPI_Aint size, position = 0;
    const unsigned char integers[] = {0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe};
    OK(MPI_Pack_external_size("external32", 2, MPI_INT, &size));
    CHECK(size == 8);
    OK(MPI_Pack_external("external32", values, 2, MPI_INT, packed, 16, &position));
    CHECK(position == 8 && memcmp(packed, integers, 8) == 0);
    OK(MPI_Pack_external("external32", numbers, 2, MPI_LONG, packed, 16, &position)); /* Four bytes there. */
    CHECK(position == 16 && memcmp(packed + 8, integers, 8) == 0);
    MPI_Count from = 8;
    OK(MPI_Unpack_external_c("external32", packed, 16, &from, back, 2, MPI_LONG));
    CHECK(from == 16 && back[0] == 1 && back[1] == -2);
    FAILS(MPI_ERR_TRUNCATE, MPI_Pack_external("external32", values, 1, MPI_INT, packed, 16, &position));
    FAILS(MPI_ERR_ARG, MPI_Pack_external_size("native", 1, MPI_INT, &size));
    position = 0;
    FAILS(MPI_ERR_CONVERSION, MPI_Pack_external("external32", &huge, 1, MPI_LONG, packed, 16, &position));
    CHECK(position == 0);
}

static void statuses(void)
{
    MPI_Status status;
    MPI_Datatype record;
    MPI_Aint members[] = {0, 8};
    MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR};
    int ones[] = {1, 1}, count;
    MPI_Count large;
    OK(MPI_Type_create_struct(2, ones, members, types, &record));
    OK(MPI_Type_commit(&record));
    OK(MPI_Status_set_elements(&status, record, 3));
    OK(MPI_Get_elements(&status, record, &count));
    CHECK(count == 3);
    OK(MPI_Get_count(&status, record, &count));
    CHECK(count == MPI_UNDEFINED);
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK(count == 17);
    OK(MPI_Status_set_elements(&status, MPI_BYTE, 10)); /* In the middle of a number. */
    OK(MPI_Get_elements(&status, record, &count));
    CHECK(count == MPI_UNDEFINED);
    OK(MPI_Status_set_elements_x(&status, MPI_INT, 1LL << 33));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == MPI_UNDEFINED);
    OK(MPI_Get_count_c(&status, MPI_INT, &large));
    CHECK(large == 1LL << 33);
    OK(MPI_Get_elements_x(&status, MPI_DOUBLE, &large));
    CHECK(large == 1LL << 32);
    OK(MPI_Get_elements_c(&status, MPI_DOUBLE, &large));
    CHECK(large == 1LL << 32);
    FAILS(MPI_ERR_COUNT, MPI_Status_set_elements(&status, MPI_INT, -1));
    OK(MPI_Type_free(&record));
}

static void large_counts(void)
{
    MPI_Datatype type, vector, inner[1];
    MPI_Count size, lb, extent, counts[16], ni, na, nc, nd;
    int integers[16], combiner, n;
    MPI_Aint addresses[1];
    OK(MPI_Type_contiguous_c(3000000000LL, MPI_DOUBLE, &type));
    OK(MPI_Type_size(type, &n));
    CHECK(n == MPI_UNDEFINED);
    OK(MPI_Type_size_c(type, &size));
    CHECK(size == 24000000000LL);
    OK(MPI_Pack_size(1, type, MPI_COMM_SELF, &n));
    CHECK(n == MPI_UNDEFINED);
    FAILS(MPI_ERR_TYPE, MPI_Type_get_envelope(type, &n, &n, &n, &combiner));
    OK(MPI_Type_get_envelope_c(type, &ni, &na, &nc, &nd, &combiner));
    CHECK(ni == 0 && na == 0 && nc == 1 && nd == 1 && combiner == MPI_COMBINER_CONTIGUOUS);
    FAILS(MPI_ERR_TYPE, MPI_Type_get_contents(type, 16, 1, 1, integers, addresses, inner));
    FAILS(MPI_ERR_ARG, MPI_Type_get_contents_c(type, 16, 1, 0, 1, integers, addresses, counts, inner));
    OK(MPI_Type_get_contents_c(type, 16, 1, 16, 1, integers, addresses, counts, inner));
    CHECK(counts[0] == 3000000000LL && inner[0] == MPI_DOUBLE);
    OK(MPI_Type_create_hvector_c(2, 1, 1LL << 40, type, &vector));
    OK(MPI_Type_get_extent_c(vector, &lb, &extent));
    CHECK(lb == 0 && extent == (1LL << 40) + 24000000000LL);
    FAILS(MPI_ERR_VALUE_TOO_LARGE, MPI_Type_contiguous_c(1LL << 40, vector, &type));
    OK(MPI_Type_free(&vector));
    OK(MPI_Type_free(&type));
    OK(MPI_Type_create_resized_c(MPI_INT, 0, 1LL << 40, &type));
    OK(MPI_Type_get_envelope_c(type, &ni, &na, &nc, &nd, &combiner));
    CHECK(ni == 0 && na == 0 && nc == 2 && nd == 1 && combiner == MPI_COMBINER_RESIZED);
    OK(MPI_Type_free(&type));
    MPI_Count sizes[] = {1LL << 20, 1LL << 20}, parts[] = {1, 1}, starts[] = {1, 1};
    OK(MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type));
    OK(MPI_Type_get_contents_c(type, 16, 1, 16, 1, integers, addresses, counts, inner));
    CHECK(integers[0] == 2 && integers[1] == MPI_ORDER_C && counts[0] == 1LL << 20 && counts[5] == 1);
    OK(MPI_Type_free(&type));
}

/* MPICH has a datatype of half precision, with a handle and a name of its own beside MPI_REAL2. */
static void half_precision(void)
{
#ifdef MPIX_C_FLOAT16
    const uint16_t one = 0x3c00, two = 0x4000, three = 0x4200;
    uint16_t sum = two;
    char name[MPI_MAX_OBJECT_NAME];
    int size, len;
    MPI_Datatype pair, of, freed = MPIX_C_FLOAT16;
    OK(MPI_Reduce_local(&one, &sum, 1, MPIX_C_FLOAT16, MPI_SUM));
    CHECK(sum == three);
    OK(MPI_Type_size(MPIX_C_FLOAT16, &size));
    OK(MPI_Type_get_name(MPIX_C_FLOAT16, name, &len));
    CHECK(size == 2 && strcmp(name, "MPIX_C_FLOAT16") == 0);
    OK(MPI_Type_get_name(MPI_REAL2, name, &len));
    CHECK(strcmp(name, "MPI_REAL2") == 0);
    OK(MPI_Type_contiguous(2, MPIX_C_FLOAT16, &pair));
    OK(MPI_Type_get_contents(pair, 1, 0, 1, &size, NULL, &of));
    CHECK(of == MPIX_C_FLOAT16);
    OK(MPI_Type_free(&pair));
    FAILS(MPI_ERR_TYPE, MPI_Type_free(&freed));
#endif
}

static void wrong_arguments(void)
{
    MPI_Datatype none = MPI_DATATYPE_NULL, type = MPI_INT, freed, types[] = {MPI_INT, MPI_DATATYPE_NULL};
    int size, position = 0, lengths[] = {1, -1};
    MPI_Aint at[] = {0, 8};
    FAILS(MPI_ERR_TYPE, MPI_Type_size(MPI_DATATYPE_NULL, &size));
    FAILS(MPI_ERR_TYPE, MPI_Type_commit(&none));
    FAILS(MPI_ERR_TYPE, MPI_Type_free(&none));
    FAILS(MPI_ERR_TYPE, MPI_Type_free(&type));
    CHECK(type == MPI_INT);
    FAILS(MPI_ERR_COUNT, MPI_Type_contiguous(-1, MPI_INT, &type));
    FAILS(MPI_ERR_TYPE, MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type));
    FAILS(MPI_ERR_ARG, MPI_Type_contiguous(1, MPI_INT, NULL));
    FAILS(MPI_ERR_ARG, MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &type));
    FAILS(MPI_ERR_ARG, MPI_Type_create_hindexed(1, NULL, at, MPI_INT, &type));
    lengths[1] = 1;
    FAILS(MPI_ERR_TYPE, MPI_Type_create_struct(2, lengths, at, types, &type));
    FAILS(MPI_ERR_TYPE, MPI_Type_get_contents(MPI_INT, 0, 0, 0, NULL, NULL, NULL));
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    FAILS(MPI_ERR_ARG, MPI_Type_get_contents(type, 0, 0, 1, &size, NULL, types));
    FAILS(MPI_ERR_TYPE, MPI_Pack(memory, 1, type, packed, 8, &position, MPI_COMM_SELF)); /* Not committed. */
    FAILS(MPI_ERR_TYPE, MPI_Send(memory, 1, type, 0, 0, MPI_COMM_SELF));
    OK(MPI_Type_commit(&type));
    FAILS(MPI_ERR_TRUNCATE, MPI_Pack(memory, 1, type, packed, 7, &position, MPI_COMM_SELF));
    CHECK(position == 0);
    position = -1;
    FAILS(MPI_ERR_ARG, MPI_Unpack(packed, 8, &position, received, 1, type, MPI_COMM_SELF));
    position = 0;
    FAILS(MPI_ERR_COMM, MPI_Pack(memory, 1, type, packed, 8, &position, MPI_COMM_NULL));
    FAILS(MPI_ERR_BUFFER, MPI_Pack(NULL, 1, type, packed, 8, &position, MPI_COMM_SELF));
    freed = type;
    OK(MPI_Type_free(&type));
    FAILS(MPI_ERR_TYPE, MPI_Type_size(freed, &size));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (int i = 0; i < (int)sizeof memory; i++)
        memory[i] = (i * 7 + i / 251) % 0xee; /* Never 0xee. */
    constructors();
    arrays();
    predefined();
    external();
    statuses();
    large_counts();
    half_precision();
    wrong_arguments();
    MPI_Finalize();
    return result();
}
