/* Attributes of the library, attributes of the program, and their deletion. */
#include "check.h"

static int deleted[4], deletions;

static int copy(MPI_Comm comm, int keyval, void *state, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)state, (void)in, (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

static int note(MPI_Comm comm, int keyval, void *value, void *state)
{
    (void)keyval;
    CHECK(comm == MPI_COMM_SELF && state == (void *)7);
    deleted[deletions++ % 4] = (int)(intptr_t)value;
    return MPI_SUCCESS;
}

static int refuse(MPI_Comm comm, int keyval, void *value, void *state)
{
    (void)comm, (void)keyval, (void)value, (void)state;
    return MPI_ERR_OTHER;
}

static MPI_Datatype noted = MPI_INT;

static int note_type(MPI_Datatype datatype, int keyval, void *value, void *state)
{
    (void)keyval, (void)state;
    CHECK(datatype == noted);
    deleted[deletions++ % 4] = (int)(intptr_t)value;
    return MPI_SUCCESS;
}

/* The number of this program among those of the job. */
static int program;

static int number(MPI_Comm comm, int keyval)
{
    int *value = NULL, flag = 0;
    OK(MPI_Comm_get_attr(comm, keyval, &value, &flag));
    CHECK(flag && value != NULL);
    return flag ? *value : -1;
}

static void predefined(void)
{
    int size, key = MPI_TAG_UB;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(number(MPI_COMM_WORLD, MPI_TAG_UB) >= 32767 && number(MPI_COMM_SELF, MPI_TAG_UB) >= 32767);
    CHECK(number(MPI_COMM_WORLD, MPI_HOST) == MPI_PROC_NULL);
    CHECK(number(MPI_COMM_WORLD, MPI_IO) == MPI_ANY_SOURCE);
    CHECK(number(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL) == 1);
    CHECK(number(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE) >= size);
    int *app = NULL, flag = -1;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &app, &flag));
    /* A program started alone has no number; one of several programs has the argument as its number. */
    CHECK(flag ? *app == program : size == 1);
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, NULL));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_IO));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_free_keyval(&key));
}

static void own(void)
{
    int key = MPI_KEYVAL_INVALID, stubborn, stale, flag = -1;
    void *value = NULL;
    OK(MPI_Comm_create_keyval(copy, note, &key, (void *)7));
    CHECK(key != MPI_KEYVAL_INVALID);
    OK(MPI_Comm_get_attr(MPI_COMM_SELF, key, &value, &flag));
    CHECK(!flag);
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)1));
    OK(MPI_Comm_get_attr(MPI_COMM_SELF, key, &value, &flag));
    CHECK(flag && value == (void *)1);
    OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)2));
    CHECK(deletions == 1 && deleted[0] == 1);
    stale = key;
    OK(MPI_Comm_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID);
    OK(MPI_Comm_delete_attr(MPI_COMM_SELF, stale));
    CHECK(deletions == 2 && deleted[1] == 2);
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_SELF, stale, NULL));
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_get_attr(MPI_COMM_SELF, MPI_KEYVAL_INVALID, &value, &flag));

    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &stubborn, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, stubborn, NULL));
    CHECK(MPI_Comm_delete_attr(MPI_COMM_WORLD, stubborn) == MPI_ERR_OTHER);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, stubborn, &value, &flag));
    CHECK(flag);
}

static int add(MPI_Comm comm, int keyval, void *state, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)state;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int count(MPI_Comm comm, int keyval, void *value, void *state)
{
    (void)comm, (void)keyval, (void)value;
    ++*(int *)state;
    return MPI_SUCCESS;
}

static void duplicates(void)
{
    int added, same, gone, flag, freed = 0;
    void *value;
    MPI_Comm duplicate;
    OK(MPI_Comm_create_keyval(add, count, &added, &freed));
    OK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, count, &same, &freed));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count, &gone, &freed));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, added, (void *)10));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, same, (void *)20));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, gone, (void *)30));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &duplicate));
    OK(MPI_Comm_get_attr(duplicate, added, &value, &flag));
    CHECK(flag && value == (void *)11);
    OK(MPI_Comm_get_attr(duplicate, same, &value, &flag));
    CHECK(flag && value == (void *)20);
    OK(MPI_Comm_get_attr(duplicate, gone, &value, &flag));
    CHECK(!flag);
    OK(MPI_Comm_free(&duplicate));
    CHECK(freed == 2);
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, added));
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, same));
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, gone));
    CHECK(freed == 5);
    OK(MPI_Comm_free_keyval(&added));
    OK(MPI_Comm_free_keyval(&same));
    OK(MPI_Comm_free_keyval(&gone));
}

static void deprecated(void)
{
    int key, flag;
    void *value;
    OK(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Attr_put(MPI_COMM_SELF, key, (void *)9));
    OK(MPI_Attr_get(MPI_COMM_SELF, key, &value, &flag));
    CHECK(flag && value == (void *)9);
    OK(MPI_Attr_delete(MPI_COMM_SELF, key));
    OK(MPI_Attr_get(MPI_COMM_SELF, key, &value, &flag));
    CHECK(!flag);
    OK(MPI_Keyval_free(&key));
}

static void others(void)
{
    int key, window, flag;
    void *value;
    deletions = 0;
    OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, note_type, &key, NULL));
    OK(MPI_Type_set_attr(MPI_INT, key, (void *)3));
    OK(MPI_Type_get_attr(MPI_INT, key, &value, &flag));
    CHECK(flag && value == (void *)3);
    OK(MPI_Type_get_attr(MPI_DOUBLE, key, &value, &flag));
    CHECK(!flag);
    FAILS(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
    FAILS(MPI_ERR_TYPE, MPI_Type_get_attr(MPI_DATATYPE_NULL, key, &value, &flag));
    OK(MPI_Type_delete_attr(MPI_INT, key));
    CHECK(deletions == 1 && deleted[0] == 3);
    MPI_Datatype one, duplicate;
    OK(MPI_Type_contiguous(3, MPI_INT, &one));
    OK(MPI_Type_set_attr(one, key, (void *)5));
    OK(MPI_Type_dup(one, &duplicate));
    OK(MPI_Type_get_attr(duplicate, key, &value, &flag));
    CHECK(flag && value == (void *)5);
    noted = duplicate;
    OK(MPI_Type_free(&duplicate));
    CHECK(deletions == 2 && deleted[1] == 5);
    noted = one;
    OK(MPI_Type_free(&one));
    CHECK(deletions == 3);
    OK(MPI_Type_free_keyval(&key));
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &window, NULL));
    FAILS(MPI_ERR_KEYVAL, MPI_Type_free_keyval(&window));
    OK(MPI_Win_free_keyval(&window));
}

int main(int argc, char **argv)
{
    program = argc > 1 ? atoi(argv[1]) : 0;
    int key[3], initialized = 0;
    start(&argc, &argv);
    predefined();
    duplicates();
    own();
    deprecated();
    others();
    /* The attribute that was set last is deleted first. */
    deletions = 0;
    for (int n = 0; n < 3; n++) {
        OK(MPI_Comm_create_keyval(copy, note, &key[n], (void *)7));
        OK(MPI_Comm_set_attr(MPI_COMM_SELF, key[n], (void *)(intptr_t)(n + 1)));
    }
    OK(MPI_Finalize());
    CHECK(deletions == 3 && deleted[0] == 3 && deleted[1] == 2 && deleted[2] == 1);
    OK(MPI_Initialized(&initialized));
    CHECK(initialized);
    return result();
}
