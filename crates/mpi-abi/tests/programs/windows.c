/* Windows as objects: their creation, their attributes and names, and the errors of wrong calls. */
#include "check.h"
#include <stdint.h>

static int rank, size;

static void quiet(MPI_Win win)
{
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
}

/* Checks the attributes of the standard. */
static void has(MPI_Win win, const void *base, MPI_Aint bytes, int unit, int flavor)
{
    void *value;
    int flag = 0;
    OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag));
    CHECK(flag && value == base);
    OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag));
    CHECK(flag && *(MPI_Aint *)value == bytes);
    OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag));
    CHECK(flag && *(int *)value == unit);
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag));
    CHECK(flag && *(int *)value == flavor);
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag));
    CHECK(flag && *(int *)value == MPI_WIN_UNIFIED);
}

static void flavors(void)
{
    MPI_Win win;
    int own[10];
    OK(MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    has(win, own, sizeof own, sizeof(int), MPI_WIN_FLAVOR_CREATE);
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);

    double *base = NULL;
    OK(MPI_Win_allocate(1000, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    CHECK(base != NULL && (uintptr_t)base % 64 == 0);
    has(win, base, 1000, 8, MPI_WIN_FLAVOR_ALLOCATE);
    base[124] = 1;
    OK(MPI_Win_free(&win));

    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    has(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
    quiet(win);
    OK(MPI_Win_attach(win, own, sizeof own));
    FAILS(MPI_ERR_RMA_ATTACH, MPI_Win_attach(win, own + 9, sizeof own));
    FAILS(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, own + 1));
    OK(MPI_Win_detach(win, own));
    FAILS(MPI_ERR_RMA_ATTACH, MPI_Win_detach(win, own));
    MPI_Aint bytes;
    int unit;
    void *at;
    FAILS(MPI_ERR_RMA_FLAVOR, MPI_Win_shared_query(win, 0, &bytes, &unit, &at));
    OK(MPI_Win_free(&win));

    /* Every rank has another size and unit; the last part is empty. */
    MPI_Aint mine = rank == size - 1 && size > 1 ? 0 : 100 + rank;
    char *part;
    OK(MPI_Win_allocate_shared(mine, 1 + rank, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win));
    has(win, part, mine, 1 + rank, MPI_WIN_FLAVOR_SHARED);
    char *next = NULL;
    for (int of = 0; of < size; of++) {
        OK(MPI_Win_shared_query(win, of, &bytes, &unit, &at));
        CHECK(bytes == (of == size - 1 && size > 1 ? 0 : 100 + of) && unit == 1 + of);
        /* A part without bytes has an address too. */
        CHECK(at != NULL && (next == NULL || at == next));
        next = (char *)at + bytes;
        if (of == rank)
            CHECK(at == part);
    }
    OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &at));
    CHECK(bytes == 100 && unit == 1);
    /* The other ranks see the bytes that one rank writes. */
    memset(part, rank + 1, (size_t)mine);
    OK(MPI_Win_fence(0, win));
    for (int i = 0; i < 100; i++)
        CHECK(((char *)at)[i] == 1);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    quiet(win);
    FAILS(MPI_ERR_RMA_FLAVOR, MPI_Win_attach(win, own, sizeof own));
    FAILS(MPI_ERR_RANK, MPI_Win_shared_query(win, size, &bytes, &unit, &at));
    OK(MPI_Win_free(&win));

    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "16384"));
    OK(MPI_Win_allocate_shared(10, 1, info, MPI_COMM_WORLD, &part, &win));
    CHECK((uintptr_t)part % 4096 == 0);
    OK(MPI_Win_free(&win));
    OK(MPI_Win_allocate(10, 1, info, MPI_COMM_WORLD, &part, &win));
    CHECK((uintptr_t)part % 16384 == 0);
    OK(MPI_Win_free(&win));
    OK(MPI_Info_free(&info));
}

static void names_infos_groups(void)
{
    MPI_Win win;
    char name[MPI_MAX_OBJECT_NAME], value[64];
    int len = -1, flag;
    OK(MPI_Win_get_name(MPI_WIN_NULL, name, &len));
    CHECK(len == 12 && strcmp(name, "MPI_WIN_NULL") == 0);
    MPI_Info info, used;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "no_locks", "true"));
    OK(MPI_Info_set(info, "unheard_of", "true"));
    OK(MPI_Win_create(NULL, 0, 1, info, MPI_COMM_WORLD, &win));
    quiet(win);
    OK(MPI_Win_get_name(win, name, &len));
    CHECK(len == 0 && name[0] == 0);
    OK(MPI_Win_set_name(win, "a view"));
    OK(MPI_Win_get_name(win, name, &len));
    CHECK(len == 6 && strcmp(name, "a view") == 0);
    /* A lock is permitted although the program has promised no locks. */
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Win_unlock(0, win));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Info_set(info, "no_locks", "false"));
    OK(MPI_Info_set(info, "accumulate_ordering", "none"));
    OK(MPI_Win_set_info(win, info));
    OK(MPI_Win_get_info(win, &used));
    const char *const expected[][2] = {{"no_locks", "false"}, {"accumulate_ordering", "none"},
        {"accumulate_ops", "same_op_no_op"}, {"same_size", "false"}, {"same_disp_unit", "false"}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        OK(MPI_Info_get(used, expected[i][0], 63, value, &flag));
        CHECK(flag && strcmp(value, expected[i][1]) == 0);
    }
    OK(MPI_Info_get(used, "unheard_of", 63, value, &flag));
    CHECK(!flag);
    OK(MPI_Info_free(&used));
    OK(MPI_Info_free(&info));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Win_unlock(0, win));

    MPI_Group group, world;
    int result = -1;
    OK(MPI_Win_get_group(win, &group));
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_compare(group, world, &result));
    CHECK(result == MPI_IDENT);
    OK(MPI_Group_free(&group));
    OK(MPI_Group_free(&world));
    CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win);
    OK(MPI_Win_free(&win));
}

static int deleted, handled_code;
static MPI_Win handled_win;

static int delete_attr(MPI_Win win, int keyval, void *value, void *state)
{
    (void)win, (void)keyval;
    CHECK(*(int *)value == 7 && state == &deleted);
    deleted++;
    return MPI_SUCCESS;
}

static int refuse(MPI_Win win, int keyval, void *value, void *state)
{
    (void)win, (void)keyval, (void)value, (void)state;
    return MPI_ERR_OTHER;
}

static void handle(MPI_Win *win, int *code, ...)
{
    handled_win = *win;
    MPI_Error_class(*code, &handled_code);
}

static void attributes_and_handlers(void)
{
    MPI_Win win;
    int key, refused, flag = -1, seven = 7;
    void *value;
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_attr, &key, &deleted));
    OK(MPI_Win_create_keyval(MPI_WIN_DUP_FN, refuse, &refused, NULL));
    OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    MPI_Errhandler fatal;
    OK(MPI_Win_get_errhandler(win, &fatal));
    CHECK(fatal == MPI_ERRORS_ARE_FATAL);
    quiet(win);
    OK(MPI_Win_get_attr(win, key, &value, &flag));
    CHECK(!flag);
    OK(MPI_Win_set_attr(win, key, &seven));
    OK(MPI_Win_get_attr(win, key, &value, &flag));
    CHECK(flag && value == &seven);
    OK(MPI_Win_set_attr(win, key, &seven));
    CHECK(deleted == 1);
    OK(MPI_Win_delete_attr(win, key));
    CHECK(deleted == 2);
    FAILS(MPI_ERR_KEYVAL, MPI_Win_set_attr(win, MPI_WIN_SIZE, &seven));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_WORLD, key, &seven));
    /* If a delete callback fails, the window is not freed. */
    OK(MPI_Win_set_attr(win, refused, &seven));
    FAILS(MPI_ERR_OTHER, MPI_Win_free(&win));
    CHECK(win != MPI_WIN_NULL);
    OK(MPI_Win_free_keyval(&refused));
    MPI_Errhandler handler;
    OK(MPI_Win_create_errhandler(handle, &handler));
    OK(MPI_Win_set_errhandler(win, handler));
    OK(MPI_Errhandler_free(&handler));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, win));
    CHECK(handled_win == win && handled_code == MPI_ERR_RMA_SYNC);
    OK(MPI_Win_call_errhandler(win, MPI_ERR_RANK));
    CHECK(handled_code == MPI_ERR_RANK);
    quiet(win);
    /* The value of this key stays until the window is freed. */
    OK(MPI_Win_free_keyval(&key));

    MPI_Win null = MPI_WIN_NULL;
    FAILS(MPI_ERR_WIN, MPI_Win_free(&null));
    FAILS(MPI_ERR_WIN, MPI_Win_fence(0, null));
    FAILS(MPI_ERR_WIN, MPI_Win_set_name(null, "x"));
}

/* Wrong arguments of one rank make the call fail on all. */
static void wrong_creation(void)
{
    MPI_Win win;
    void *base;
    int last = rank == size - 1;
    FAILS(last ? MPI_ERR_SIZE : MPI_ERR_OTHER,
        MPI_Win_allocate(last ? -1 : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    FAILS(last ? MPI_ERR_DISP : MPI_ERR_OTHER,
        MPI_Win_create(NULL, 0, last ? 0 : 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FAILS(last ? MPI_ERR_BASE : MPI_ERR_OTHER,
        MPI_Win_create(NULL, last ? 8 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    FAILS(last ? MPI_ERR_SIZE : MPI_ERR_OTHER,
        MPI_Win_allocate_shared(last ? -1 : 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    FAILS(MPI_ERR_COMM, MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win));
    FAILS(MPI_ERR_NO_MEM,
        MPI_Win_allocate_shared(INT64_MAX / 2 + 2, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
}

/* Accesses and synchronisation in the wrong order or place. */
static void wrong_use(void)
{
    MPI_Win win;
    int *base, value = 0, flag;
    MPI_Group group;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    OK(MPI_Win_allocate(40, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    quiet(win);
    FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock_all(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush_all(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_flush_local(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_complete(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_wait(win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_test(win, &flag));
    FAILS(MPI_ERR_LOCKTYPE, MPI_Win_lock(17, 0, 0, win));
    FAILS(MPI_ERR_RANK, MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win));
    FAILS(MPI_ERR_ASSERT, MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOSTORE, win));
    FAILS(MPI_ERR_ASSERT, MPI_Win_fence(1, win));

    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock_all(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_fence(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_start(group, MPI_MODE_NOCHECK, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Put(&value, 1, MPI_INT, rank, 10, 1, MPI_INT, win));
    FAILS(MPI_ERR_RMA_RANGE, MPI_Get(&value, 1, MPI_INT, rank, INT64_MAX / 8, 1, MPI_INT, win));
    FAILS(MPI_ERR_DISP, MPI_Get(&value, 1, MPI_INT, rank, -1, 1, MPI_INT, win));
    FAILS(MPI_ERR_DISP, MPI_Get(&value, 1, MPI_INT, rank, INT64_MAX, 1, MPI_INT, win));
    FAILS(MPI_ERR_TRUNCATE, MPI_Put(&value, 1, MPI_INT, rank, 0, 2, MPI_INT, win));
    FAILS(MPI_ERR_RANK, MPI_Put(&value, 1, MPI_INT, -17, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_TYPE, MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_DATATYPE_NULL, win));
    FAILS(MPI_ERR_COUNT, MPI_Put(&value, 1, MPI_INT, rank, 0, -1, MPI_INT, win));
    FAILS(MPI_ERR_BUFFER, MPI_Put(NULL, 1, MPI_INT, rank, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_MINLOC, win));
    FAILS(MPI_ERR_OP, MPI_Accumulate(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, MPI_OP_NULL, win));
    FAILS(MPI_ERR_TYPE, MPI_Compare_and_swap(&value, &value, &value, MPI_FLOAT, rank, 0, win));
    FAILS(MPI_ERR_TYPE, MPI_Compare_and_swap(&value, &value, &value, MPI_WCHAR, rank, 0, win));
    OK(MPI_Put(&value, 1, MPI_INT, rank, 9, 1, MPI_INT, win));
    if (size > 1)
        FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win));
    OK(MPI_Win_unlock(rank, win));

    OK(MPI_Win_lock_all(0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(rank, win));
    OK(MPI_Win_unlock_all(win));

    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
    MPI_Request request;
    FAILS(MPI_ERR_RMA_SYNC, MPI_Rput(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win, &request));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win));

    OK(MPI_Win_post(group, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_post(group, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_free(&win));
    OK(MPI_Win_start(group, 0, win));
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    OK(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win));
    OK(MPI_Win_complete(win));
    OK(MPI_Win_wait(win));
    OK(MPI_Win_free(&win));
    OK(MPI_Group_free(&group));
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    flavors();
    names_infos_groups();
    attributes_and_handlers();
    wrong_creation();
    wrong_use();
    MPI_Finalize();
    return result();
}
