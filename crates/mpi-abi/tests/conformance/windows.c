/* Windows: their creation and their attributes. */
#include "conformance.h"

static const char *flavor_name(int flavor)
{
    return flavor == MPI_WIN_FLAVOR_CREATE     ? "create"
           : flavor == MPI_WIN_FLAVOR_ALLOCATE ? "allocate"
           : flavor == MPI_WIN_FLAVOR_DYNAMIC  ? "dynamic"
           : flavor == MPI_WIN_FLAVOR_SHARED   ? "shared"
                                               : "?";
}

static void say_window(const char *what, MPI_Win window, const void *memory)
{
    void *base = NULL;
    MPI_Aint *bytes;
    int *unit, *flavor, *model, flags[5], n, mine;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Group group;
    MPI_Win_get_attr(window, MPI_WIN_BASE, &base, &flags[0]);
    MPI_Win_get_attr(window, MPI_WIN_SIZE, &bytes, &flags[1]);
    MPI_Win_get_attr(window, MPI_WIN_DISP_UNIT, &unit, &flags[2]);
    MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &flavor, &flags[3]);
    MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &flags[4]);
    say_ints(what, flags, 5);
    say("%s: base %d size %ld unit %d flavor %s unified %d", what, base == memory, (long)*bytes, *unit, flavor_name(*flavor),
        *model == MPI_WIN_UNIFIED);
    MPI_Win_get_group(window, &group);
    MPI_Group_size(group, &n);
    MPI_Group_rank(group, &mine);
    MPI_Group_free(&group);
    say("%s: rank %d of %d", what, mine, n);
    MPI_Win_get_name(window, name, &n);
    say("%s: name '%s' %d", what, name, n);
    MPI_Win_set_name(window, "plate");
    MPI_Win_get_name(window, name, &n);
    say("%s: name '%s' %d", what, name, n);
}

static void keys(const char *what, MPI_Win window)
{
    static const char *const asked[] = {"no_locks", "accumulate_ordering", "accumulate_ops", "same_size", "same_disp_unit"};
    char text[MPI_MAX_INFO_VAL];
    MPI_Info info;
    int flag, room;
    MPI_Win_get_info(window, &info);
    for (size_t n = 0; n < sizeof asked / sizeof *asked; n++) {
        room = sizeof text;
        MPI_Info_get_string(info, asked[n], &room, text, &flag);
        /* The standard leaves open which of two spellings a hint has, and whether a key without a value is
           returned. */
        if (flag && n != 1)
            say("%s: %s = %s", what, asked[n], text);
    }
    MPI_Info_free(&info);
}

static int copy(MPI_Win window, int key, void *state, void *in, void *out, int *flag)
{
    (void)window, (void)key, (void)state, (void)in, (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

static int delete(MPI_Win window, int key, void *value, void *state)
{
    (void)window, (void)key;
    say("delete %ld %ld", (long)state, (long)value);
    return MPI_SUCCESS;
}

static void window_attributes(MPI_Win window)
{
    int key, flag;
    void *value;
    MPI_Win_create_keyval(copy, delete, &key, (void *)4L);
    MPI_Win_get_attr(window, key, &value, &flag);
    say("unset: %d", flag);
    MPI_Win_set_attr(window, key, (void *)7L);
    MPI_Win_get_attr(window, key, &value, &flag);
    say("set: %d %ld", flag, (long)value);
    MPI_Win_set_attr(window, key, (void *)8L);
    MPI_Win_delete_attr(window, key);
    MPI_Win_get_attr(window, key, &value, &flag);
    say("deleted: %d", flag);
    MPI_Win_set_attr(window, key, (void *)9L);
    /* The key ends with the window. */
    MPI_Win_free_keyval(&key);
    say("key invalid: %d", key == MPI_KEYVAL_INVALID);
}

/* Tests shared memory of ranks of one host; does nothing on several hosts. */
void sharing(void)
{
    MPI_Comm host;
    int neighbours;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &neighbours);
    MPI_Comm_free(&host);
    MPI_Allreduce(MPI_IN_PLACE, &neighbours, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (neighbours < size)
        return;
    MPI_Win window;
    MPI_Aint bytes;
    int unit, *mine, *other;
    MPI_Win_allocate_shared(sizeof *mine * (rank + 1), sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window);
    say_window("shared", window, mine);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    for (int n = 0; n <= rank; n++)
        mine[n] = 100 * rank + n;
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(window);
    for (int n = 0; n < size; n++) {
        MPI_Win_shared_query(window, n, &bytes, &unit, &other);
        say("part %d: %ld bytes, unit %d", n, (long)bytes, unit);
        say_ints("part", other, n + 1);
    }
    MPI_Win_shared_query(window, MPI_PROC_NULL, &bytes, &unit, &other);
    say("first part: %ld bytes, unit %d, %d", (long)bytes, unit, other[0]);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &other);
    /* Parts of neighbours are contiguous, unless the info says otherwise. */
    int all = 0;
    for (int n = 0; n < size * (size + 1) / 2; n++)
        all = all * 3 + other[n];
    say("all parts: %d", all);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Win_allocate_shared(rank == 0 ? 64 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window);
    MPI_Win_shared_query(window, size - 1, &bytes, &unit, &other);
    say("of the last: %ld bytes", (long)bytes);
    MPI_Win_free(&window);
}

static int handled;

static void handler(MPI_Win *window, int *code, ...)
{
    int class;
    (void)window;
    MPI_Error_class(*code, &class);
    handled = class;
}

static void error_handlers(MPI_Win window)
{
    MPI_Errhandler own, found;
    MPI_Win_get_errhandler(window, &found);
    say("fatal at first: %d", found == MPI_ERRORS_ARE_FATAL);
    MPI_Win_create_errhandler(handler, &own);
    MPI_Win_set_errhandler(window, own);
    MPI_Win_call_errhandler(window, MPI_ERR_OTHER);
    say("handled other: %d", handled == MPI_ERR_OTHER);
    MPI_Errhandler_free(&own);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    MPI_Win_get_errhandler(window, &found);
    say("return: %d", found == MPI_ERRORS_RETURN);
}

void windows(void)
{
    MPI_Win window;
    MPI_Info info;
    double *own = calloc(10, sizeof *own), *memory, *attached = calloc(10, sizeof *attached);
    int key;
    MPI_Win_create(own, 10 * sizeof *own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    say_window("created", window, own);
    MPI_Win_free(&window);
    say("null: %d", window == MPI_WIN_NULL);
    MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    say_window("empty", window, NULL);
    MPI_Win_free(&window);
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Info_set(info, "accumulate_ops", "same_op");
    MPI_Info_set(info, "same_size", "false");
    MPI_Win_allocate((MPI_Aint)(8 * (rank + 1)), 2, info, MPI_COMM_WORLD, &memory, &window);
    MPI_Info_free(&info);
    say_window("allocated", window, memory);
    keys("allocated", window);
    window_attributes(window);
    error_handlers(window);
    MPI_Win_free(&window);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    say_window("dynamic", window, MPI_BOTTOM);
    CODE(MPI_Win_attach(window, attached, 10 * sizeof *attached));
    CODE(MPI_Win_detach(window, attached));
    MPI_Win_free(&window);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
    CODE(MPI_Win_free_keyval(&key));
    free(own);
    free(attached);
}
