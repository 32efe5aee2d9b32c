/* The tools interface: variables, sessions, enumerations and categories, before MPI_Init, from a second thread, after MPI_Finalize. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

/* Checks that a call returns exactly this code. */
#define GIVES(code, call) CHECK((call) == (code))

static int cvar(const char *name)
{
    int index = -1;
    GIVES(MPI_SUCCESS, MPI_T_cvar_get_index(name, &index));
    return index;
}

static int pvar(const char *name, int class)
{
    int index = -1;
    GIVES(MPI_SUCCESS, MPI_T_pvar_get_index(name, class, &index));
    return index;
}

static unsigned long get(const char *name)
{
    MPI_T_cvar_handle handle;
    union { int choice; unsigned long number; char text[4096]; } value = {.number = 0};
    int count;
    GIVES(MPI_SUCCESS, MPI_T_cvar_handle_alloc(cvar(name), NULL, &handle, &count));
    GIVES(MPI_SUCCESS, MPI_T_cvar_read(handle, &value));
    GIVES(MPI_SUCCESS, MPI_T_cvar_handle_free(&handle));
    CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
    return value.number;
}

static int set(const char *name, unsigned long number)
{
    MPI_T_cvar_handle handle;
    int count, code, choice = (int)number;
    MPI_Datatype type;
    GIVES(MPI_SUCCESS, MPI_T_cvar_handle_alloc(cvar(name), NULL, &handle, &count));
    CHECK(count == 1);
    GIVES(MPI_SUCCESS, MPI_T_cvar_get_info(cvar(name), NULL, NULL, NULL, &type, NULL, NULL, NULL, NULL, NULL));
    code = MPI_T_cvar_write(handle, type == MPI_INT ? (void *)&choice : (void *)&number);
    GIVES(MPI_SUCCESS, MPI_T_cvar_handle_free(&handle));
    return code;
}

static void not_initialized(void)
{
    int n, count;
    MPI_T_pvar_session session;
    MPI_T_cvar_handle handle;
    GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_get_num(&n));
    GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_session_create(&session));
    GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_cvar_handle_alloc(0, NULL, &handle, &count));
    GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_finalize());
}

static void controls(void)
{
    int num, verbosity, bind, scope, len, desc_len, items, value, index;
    char name[64], desc[8], item[16];
    MPI_Datatype type;
    MPI_T_enum words;
    MPI_T_cvar_handle handle;
    char text[4096];
    GIVES(MPI_SUCCESS, MPI_T_cvar_get_num(&num));
    CHECK(num > 10);
    for (int n = 0; n < num; n++) {
        len = sizeof(name), desc_len = sizeof(desc);
        GIVES(MPI_SUCCESS, MPI_T_cvar_get_info(n, name, &len, &verbosity, &type, &words, desc, &desc_len, &bind, &scope));
        CHECK(len == (int)strlen(name) + 1 && strlen(desc) == sizeof(desc) - 1 && desc_len > (int)sizeof(desc));
        CHECK(bind == MPI_T_BIND_NO_OBJECT);
        CHECK((type == MPI_INT) == (words != MPI_T_ENUM_NULL));
        CHECK(cvar(name) == n);
    }
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_get_info(num, name, &len, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_cvar_get_index("no such variable", &index));
    GIVES(MPI_T_ERR_INVALID, MPI_T_cvar_get_index(NULL, &index));
    GIVES(MPI_SUCCESS, MPI_T_cvar_get_info(cvar("wait"), NULL, NULL, NULL, NULL, &words, NULL, NULL, NULL, &scope));
    CHECK(scope == MPI_T_SCOPE_LOCAL);
    len = sizeof(name);
    GIVES(MPI_SUCCESS, MPI_T_enum_get_info(words, &items, name, &len));
    CHECK(items == 3 && strcmp(name, "wait") == 0);
    len = sizeof(item);
    GIVES(MPI_SUCCESS, MPI_T_enum_get_item(words, 2, &value, item, &len));
    CHECK(value == 2 && strcmp(item, "sleep") == 0 && len == 6);
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_enum_get_item(words, 3, &value, item, &len));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_enum_get_info(MPI_T_ENUM_NULL, &items, NULL, NULL));
    GIVES(MPI_SUCCESS, MPI_T_cvar_handle_alloc(cvar("mpi_memory_alloc_kinds"), NULL, &handle, &len));
    CHECK(len > 1 && len <= (int)sizeof(text));
    GIVES(MPI_SUCCESS, MPI_T_cvar_read(handle, text));
    GIVES(MPI_T_ERR_INVALID, MPI_T_cvar_read(handle, NULL));
    GIVES(MPI_SUCCESS, MPI_T_cvar_handle_free(&handle));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(&handle));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, text));
}

/* Values that are set before MPI_Init are used. */
static void set_before(void)
{
    GIVES(MPI_SUCCESS, set("mpi_errhandler", 2));
    GIVES(MPI_SUCCESS, set("eager_bytes", 4096));
    GIVES(MPI_SUCCESS, set("spin_ns", 5000));
    CHECK((int)get("mpi_errhandler") == 2 && get("eager_bytes") == 4096 && get("spin_ns") == 5000);
    GIVES(MPI_T_ERR_INVALID, set("ring_cells", 65));
    GIVES(MPI_T_ERR_INVALID, set("wait", 3));
    GIVES(MPI_T_ERR_CVAR_SET_NEVER, set("host_lost_ms", 1000));
}

static void set_after(void)
{
    CHECK(get("eager_bytes") == 4096 && get("spin_ns") == 5000);
    GIVES(MPI_T_ERR_CVAR_SET_NOT_NOW, set("eager_bytes", 8192));
    GIVES(MPI_T_ERR_CVAR_SET_NOT_NOW, set("mpi_errhandler", 0));
    GIVES(MPI_T_ERR_CVAR_SET_NEVER, set("remote_start_ms", 1000));
    GIVES(MPI_SUCCESS, set("spin_ns", 6000));
    GIVES(MPI_SUCCESS, set("strategy", 1));
    CHECK(get("spin_ns") == 6000 && (int)get("strategy") == 1);
    GIVES(MPI_SUCCESS, set("strategy", 0));
    FAILS(MPI_ERR_RANK, MPI_Send(NULL, 0, MPI_INT, -7, 0, MPI_COMM_WORLD));
}

static unsigned long read_pvar(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    unsigned long value = 99;
    GIVES(MPI_SUCCESS, MPI_T_pvar_read(session, handle, &value));
    return value;
}

static void performances(void)
{
    int num, class, len = 64, readonly, continuous, atomic, bind, count, index;
    char name[64];
    unsigned long value = 0;
    MPI_Datatype type;
    MPI_T_pvar_session session, other;
    MPI_T_pvar_handle sent, again, most, links;
    GIVES(MPI_SUCCESS, MPI_T_pvar_get_num(&num));
    for (int n = 0; n < num; n++) {
        len = sizeof(name);
        GIVES(MPI_SUCCESS, MPI_T_pvar_get_info(n, name, &len, NULL, &class, &type, NULL, NULL, NULL, &bind, &readonly, &continuous, &atomic));
        CHECK(type == MPI_UNSIGNED_LONG && bind == MPI_T_BIND_NO_OBJECT && readonly == continuous && atomic != readonly);
        CHECK(pvar(name, class) == n);
    }
    GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index("local_sent", MPI_T_PVAR_CLASS_LEVEL, &index));
    GIVES(MPI_SUCCESS, MPI_T_pvar_session_create(&session));
    GIVES(MPI_SUCCESS, MPI_T_pvar_session_create(&other));
    GIVES(MPI_SUCCESS, MPI_T_pvar_handle_alloc(session, pvar("local_sent", MPI_T_PVAR_CLASS_COUNTER), NULL, &sent, &count));
    CHECK(count == 1);
    GIVES(MPI_SUCCESS, MPI_T_pvar_handle_alloc(other, pvar("local_sent", MPI_T_PVAR_CLASS_COUNTER), NULL, &again, &count));
    GIVES(MPI_SUCCESS, MPI_T_pvar_handle_alloc(session, pvar("unexpected_most", MPI_T_PVAR_CLASS_HIGHWATERMARK), NULL, &most, &count));
    GIVES(MPI_SUCCESS, MPI_T_pvar_handle_alloc(session, pvar("rail1_links", MPI_T_PVAR_CLASS_LEVEL), NULL, &links, &count));
    GIVES(MPI_SUCCESS, MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    GIVES(MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_pvar_start(session, links));
    GIVES(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_reset(session, links));
    for (int n = 0; n < 5; n++)
        OK(MPI_Send(&n, 1, MPI_INT, 0, n, MPI_COMM_SELF));
    CHECK(read_pvar(session, most) == 5);
    for (int n = 0, got; n < 5; n++) {
        OK(MPI_Recv(&got, 1, MPI_INT, 0, n, MPI_COMM_SELF, MPI_STATUS_IGNORE));
        CHECK(got == n);
    }
    CHECK(read_pvar(session, sent) == 5 && read_pvar(other, again) == 0 && read_pvar(session, links) == 0);
    GIVES(MPI_SUCCESS, MPI_T_pvar_readreset(session, most, &value));
    CHECK(value == 5 && read_pvar(session, most) == 0);
    GIVES(MPI_SUCCESS, MPI_T_pvar_stop(session, sent));
    value = 17;
    GIVES(MPI_SUCCESS, MPI_T_pvar_write(session, sent, &value));
    CHECK(read_pvar(session, sent) == 17);
    GIVES(MPI_SUCCESS, MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    CHECK(read_pvar(session, sent) == 0);
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(other, sent, &value));
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &value));
    GIVES(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_read(MPI_T_PVAR_SESSION_NULL, sent, &value));
    GIVES(MPI_SUCCESS, MPI_T_pvar_handle_free(session, &sent));
    CHECK(sent == MPI_T_PVAR_HANDLE_NULL);
    GIVES(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_free(session, &sent));
    GIVES(MPI_SUCCESS, MPI_T_pvar_session_free(&session));
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
    GIVES(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free(&session));
    GIVES(MPI_SUCCESS, MPI_T_pvar_session_free(&other));
}

/* The variable of waiting time grows while a rank waits for one that sleeps. */
static void waited(int rank)
{
    int count, again = 1;
    unsigned long before;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    GIVES(MPI_SUCCESS, MPI_T_pvar_session_create(&session));
    GIVES(MPI_SUCCESS, MPI_T_pvar_handle_alloc(session, pvar("time_waited", MPI_T_PVAR_CLASS_TIMER), NULL, &handle, &count));
    GIVES(MPI_SUCCESS, MPI_T_pvar_start(session, handle));
    /* If rank 1 is late, the message is there and it does not wait; then the message is sent once more. */
    for (int round = 0; again && round < 100; round++) {
        before = read_pvar(session, handle);
        if (rank == 0) {
            usleep(50000);
            OK(MPI_Send(NULL, 0, MPI_INT, 1, 3, MPI_COMM_WORLD));
        }
        if (rank == 1) {
            OK(MPI_Recv(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            again = read_pvar(session, handle) <= before;
        }
        OK(MPI_Bcast(&again, 1, MPI_INT, 1, MPI_COMM_WORLD));
    }
    CHECK(!again);
    GIVES(MPI_SUCCESS, MPI_T_pvar_session_free(&session));
}

static int number_of(const char *name)
{
    int index = -1;
    GIVES(MPI_SUCCESS, MPI_T_category_get_index(name, &index));
    return index;
}

static void categories(void)
{
    int num, len, cvars, pvars, subs, events, stamp, list[256], found = 0, index;
    char name[64];
    GIVES(MPI_SUCCESS, MPI_T_category_get_num(&num));
    for (int n = 0; n < num; n++) {
        len = sizeof(name);
        GIVES(MPI_SUCCESS, MPI_T_category_get_info(n, name, &len, NULL, NULL, &cvars, &pvars, &subs));
        CHECK(number_of(name) == n && cvars < 256 && pvars < 256 && subs < 256);
        GIVES(MPI_SUCCESS, MPI_T_category_get_num_events(n, &events));
        CHECK(cvars + pvars + subs + events > 0);
    }
    GIVES(MPI_SUCCESS, MPI_T_category_get_info(number_of("eager"), NULL, NULL, NULL, NULL, &cvars, &pvars, &subs));
    CHECK(cvars == 1 && pvars == 4);
    GIVES(MPI_SUCCESS, MPI_T_category_get_cvars(number_of("eager"), 256, list));
    CHECK(list[0] == cvar("eager_bytes"));
    list[1] = -5;
    GIVES(MPI_SUCCESS, MPI_T_category_get_pvars(number_of("eager"), 1, list));
    CHECK(list[0] == pvar("eager_sent", MPI_T_PVAR_CLASS_COUNTER) && list[1] == -5);
    GIVES(MPI_SUCCESS, MPI_T_category_get_categories(number_of("rail"), 256, list));
    for (int n = 0; n < 4; n++)
        found += list[n] == number_of("rail3");
    CHECK(found == 1);
    GIVES(MPI_SUCCESS, MPI_T_category_get_events(number_of("rail"), 256, list));
    GIVES(MPI_SUCCESS, MPI_T_event_get_index("rail_lost", &index));
    CHECK(list[0] == index);
    GIVES(MPI_SUCCESS, MPI_T_category_changed(&stamp));
    GIVES(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_pvars(num, 1, list));
    GIVES(MPI_T_ERR_INVALID_NAME, MPI_T_category_get_index("no such category", &index));
}

static void codes(void)
{
    int class = 0, len = 0;
    char text[MPI_MAX_ERROR_STRING];
    OK(MPI_Error_class(MPI_T_ERR_INVALID_NAME, &class));
    CHECK(class == MPI_T_ERR_INVALID_NAME);
    OK(MPI_Error_string(MPI_T_ERR_INVALID_NAME, text, &len));
    CHECK(strncmp(text, "MPI_T_ERR_INVALID_NAME", 22) == 0);
}

static volatile int over;

static void *looks(void *unused)
{
    (void)unused;
    int count;
    unsigned long last = 0, value = 0;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    GIVES(MPI_SUCCESS, MPI_T_pvar_session_create(&session));
    GIVES(MPI_SUCCESS, MPI_T_pvar_handle_alloc(session, pvar("short_sent", MPI_T_PVAR_CLASS_COUNTER), NULL, &handle, &count));
    GIVES(MPI_SUCCESS, MPI_T_pvar_start(session, handle));
    do {
        GIVES(MPI_SUCCESS, MPI_T_pvar_read(session, handle, &value));
        CHECK(value >= last);
        last = value;
        CHECK(get("spin_ns") == 6000);
        usleep(100);
    } while (!over);
    GIVES(MPI_SUCCESS, MPI_T_pvar_session_free(&session));
    return NULL;
}

/* Another thread reads variables while this one, the only one that calls MPI, exchanges messages. */
static void beside(int rank, int size)
{
    pthread_t thread;
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    CHECK(pthread_create(&thread, NULL, looks, NULL) == 0);
    for (int n = 0, got; n < 2000; n++) {
        OK(MPI_Sendrecv(&n, 1, MPI_INT, to, 1, &got, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK(got == n);
    }
    over = 1;
    CHECK(pthread_join(thread, NULL) == 0);
}

int main(int argc, char **argv)
{
    int provided = -1, rank, size, num;
    unsigned long value;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    not_initialized();
    GIVES(MPI_T_ERR_INVALID, MPI_T_init_thread(-3, &provided));
    GIVES(MPI_SUCCESS, MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    GIVES(MPI_SUCCESS, MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    GIVES(MPI_SUCCESS, MPI_T_finalize());
    controls();
    categories();
    set_before();
    GIVES(MPI_SUCCESS, MPI_T_pvar_session_create(&session));
    GIVES(MPI_SUCCESS, MPI_T_pvar_handle_alloc(session, pvar("local_sent", MPI_T_PVAR_CLASS_COUNTER), NULL, &handle, &num));
    GIVES(MPI_SUCCESS, MPI_T_pvar_start(session, handle));
    CHECK(read_pvar(session, handle) == 0);

    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    set_after();
    performances();
    CHECK(read_pvar(session, handle) >= 5);
    codes();
    if (size > 1)
        waited(rank);
    beside(rank, size);
    OK(MPI_Finalize());

    GIVES(MPI_SUCCESS, MPI_T_cvar_get_num(&num));
    CHECK(get("eager_bytes") == 4096 && read_pvar(session, handle) >= 5);
    GIVES(MPI_T_ERR_CVAR_SET_NOT_NOW, set("eager_bytes", 8192));
    GIVES(MPI_SUCCESS, MPI_T_finalize());
    GIVES(MPI_T_ERR_NOT_INITIALIZED, MPI_T_pvar_read(session, handle, &value));
    GIVES(MPI_SUCCESS, MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    GIVES(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_read(session, handle, &value));
    GIVES(MPI_SUCCESS, MPI_T_finalize());
    not_initialized();
    return result();
}
