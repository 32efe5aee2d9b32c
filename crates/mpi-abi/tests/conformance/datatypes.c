/* Facts of datatypes, their contents, and packed bytes. external32 is left out, because MPICH 5.0.2 crashes
   in its functions. */
#include "conformance.h"

#include <stddef.h>

struct mixed {
    char c;
    double d[2];
    int i;
};

enum { MADE = 14 };

static const char *const names[MADE] = {
    "contiguous", "vector",   "hvector", "indexed",      "hindexed", "block",   "hblock",
    "struct",     "resized",  "subarray", "fortran sub", "darray",   "dup",     "vector of vectors",
};

static void make(MPI_Datatype *made)
{
    int lengths[3] = {2, 0, 1}, places[3] = {4, 9, 1};
    int sizes[2] = {4, 5}, parts[2] = {2, 3}, starts[2] = {1, 1};
    int grid[2] = {2, 2}, how[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, whole[2] = {5, 7};
    MPI_Aint far[3] = {40, 72, -8};
    int of_struct[3] = {1, 2, 1};
    MPI_Aint at[3] = {offsetof(struct mixed, c), offsetof(struct mixed, d), offsetof(struct mixed, i)};
    MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    MPI_Type_contiguous(5, MPI_SHORT, &made[0]);
    MPI_Type_vector(3, 2, 4, MPI_INT, &made[1]);
    MPI_Type_create_hvector(2, 3, -20, MPI_CHAR, &made[2]);
    MPI_Type_indexed(3, lengths, places, MPI_DOUBLE, &made[3]);
    MPI_Type_create_hindexed(3, lengths, far, MPI_INT, &made[4]);
    MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &made[5]);
    MPI_Type_create_hindexed_block(3, 1, far, MPI_FLOAT, &made[6]);
    MPI_Type_create_struct(3, of_struct, at, types, &made[7]);
    MPI_Type_create_resized(MPI_INT, -4, 12, &made[8]);
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &made[9]);
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &made[10]);
    MPI_Type_create_darray(4, rank % 4, 2, whole, how, arguments, grid, MPI_ORDER_C, MPI_INT, &made[11]);
    MPI_Type_dup(made[7], &made[12]);
    MPI_Type_vector(2, 1, 2, made[1], &made[13]);
    for (int n = 0; n < MADE; n++)
        MPI_Type_commit(&made[n]);
}

static void facts(const char *name, MPI_Datatype datatype)
{
    MPI_Aint low, extent, true_low, true_extent;
    MPI_Count big;
    int bytes, combiner, integers, addresses, types, packed;
    MPI_Type_size(datatype, &bytes);
    MPI_Type_size_x(datatype, &big);
    MPI_Type_get_extent(datatype, &low, &extent);
    MPI_Type_get_true_extent(datatype, &true_low, &true_extent);
    MPI_Type_get_envelope(datatype, &integers, &addresses, &types, &combiner);
    MPI_Pack_size(3, datatype, MPI_COMM_WORLD, &packed);
    say("%s: size %d %d lb %ld extent %ld true %ld %ld envelope %d %d %d %d pack %d", name, bytes, (int)big, (long)low,
        (long)extent, (long)true_low, (long)true_extent, integers, addresses, types, combiner, packed >= 3 * bytes);
}

void datatypes(void)
{
    MPI_Datatype made[MADE], match;
    char name[MPI_MAX_OBJECT_NAME];
    int len;
    static const struct {
        const char *name;
        MPI_Datatype datatype;
    } basic[] = {
        {"char", MPI_CHAR}, {"byte", MPI_BYTE}, {"short", MPI_SHORT}, {"int", MPI_INT}, {"long", MPI_LONG},
        {"unsigned", MPI_UNSIGNED}, {"float", MPI_FLOAT}, {"double", MPI_DOUBLE}, {"longdouble", MPI_LONG_DOUBLE},
        {"bool", MPI_C_BOOL}, {"complex", MPI_C_COMPLEX}, {"wchar", MPI_WCHAR}, {"int8", MPI_INT8_T},
        {"uint64", MPI_UINT64_T}, {"aint", MPI_AINT}, {"count", MPI_COUNT}, {"offset", MPI_OFFSET},
        {"floatint", MPI_FLOAT_INT}, {"doubleint", MPI_DOUBLE_INT}, {"longint", MPI_LONG_INT}, {"2int", MPI_2INT},
        {"shortint", MPI_SHORT_INT}, {"longdoubleint", MPI_LONG_DOUBLE_INT}, {"packed", MPI_PACKED},
    };
    make(made);
    for (size_t n = 0; n < sizeof basic / sizeof *basic; n++) {
        MPI_Aint low, extent;
        int bytes;
        MPI_Type_size(basic[n].datatype, &bytes);
        MPI_Type_get_extent(basic[n].datatype, &low, &extent);
        MPI_Type_get_name(basic[n].datatype, name, &len);
        say("%s: %s %d: size %d lb %ld extent %ld", basic[n].name, name, len, bytes, (long)low, (long)extent);
    }
    for (int n = 0; n < MADE; n++)
        facts(names[n], made[n]);
    MPI_Type_set_name(made[0], "five shorts");
    MPI_Type_get_name(made[0], name, &len);
    say("name: %s %d", name, len);
    MPI_Type_get_name(made[1], name, &len);
    say("no name: '%s' %d", name, len);
    CODE(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, &match));
    CODE(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &match));
    say("aint: %ld %ld", (long)MPI_Aint_add((MPI_Aint)1000, 24), (long)MPI_Aint_diff((MPI_Aint)1000, 24));
    for (int n = 0; n < MADE; n++)
        MPI_Type_free(&made[n]);
    say("null: %d", made[0] == MPI_DATATYPE_NULL);
}

void contents(void)
{
    MPI_Datatype made[MADE];
    make(made);
    for (int n = 0; n < MADE; n++) {
        int integers, addresses, types, combiner, i[40];
        MPI_Aint a[10];
        MPI_Datatype t[10];
        MPI_Type_get_envelope(made[n], &integers, &addresses, &types, &combiner);
        if (integers > 40 || addresses > 10 || types > 10)
            continue;
        MPI_Type_get_contents(made[n], integers, addresses, types, i, a, t);
        say_ints(names[n], i, integers);
        for (int k = 0; k < addresses; k++)
            say("%s: address %ld", names[n], (long)a[k]);
        for (int k = 0; k < types; k++) {
            int of, none;
            MPI_Type_get_envelope(t[k], &none, &none, &none, &of);
            say("%s: type %d named %d int %d", names[n], of, of == MPI_COMBINER_NAMED, t[k] == MPI_INT);
            if (of != MPI_COMBINER_NAMED)
                MPI_Type_free(&t[k]);
        }
        MPI_Type_free(&made[n]);
    }
}

void packing(void)
{
    MPI_Datatype made[MADE];
    unsigned char memory[1000], back[1000], packed[1000];
    make(made);
    for (int n = 0; n < 1000; n++)
        memory[n] = (unsigned char)(n * 7 + rank);
    for (int n = 0; n < MADE; n++) {
        int at = 0, bytes, next = (rank + 1) % size, before = (rank + size - 1) % size;
        MPI_Status status;
        MPI_Type_size(made[n], &bytes);
        memset(packed, 0xee, sizeof packed);
        CODE(MPI_Pack(memory + 100, 2, made[n], packed, sizeof packed, &at, MPI_COMM_WORLD));
        say("%s: position %d", names[n], at);
        say_bytes(names[n], packed, at);
        memset(back, 0xdd, sizeof back);
        at = 0;
        CODE(MPI_Unpack(packed, sizeof packed, &at, back + 100, 1, made[n], MPI_COMM_WORLD));
        say("%s: position %d", names[n], at);
        say_bytes(names[n], back + 60, 240);
        memset(back, 0xdd, sizeof back);
        MPI_Sendrecv(memory + 100, 2, made[n], next, 50 + n, back + 100, 3, made[n], before, 50 + n, MPI_COMM_WORLD,
                     &status);
        say_status(names[n], &status, made[n]);
        say_bytes(names[n], back + 60, 300);
        MPI_Sendrecv(memory + 100, 1, made[n], next, 50 + n, back, 1000, MPI_BYTE, before, 50 + n, MPI_COMM_WORLD,
                     &status);
        say_status(names[n], &status, MPI_BYTE);
        say_bytes(names[n], back, bytes);
        MPI_Type_free(&made[n]);
    }
}
