/* Sessions: process sets by their names. */
#include "lane.h"

enum { LONG = 1 << 18 };

/* Checks that communicators of a session have only one of the library's attributes (MPI 5.0, 9.1.2). */
static void attributes(MPI_Comm comm)
{
    const int others[] = {MPI_IO, MPI_HOST, MPI_WTIME_IS_GLOBAL, MPI_APPNUM, MPI_UNIVERSE_SIZE, MPI_LASTUSEDCODE};
    int *value = NULL, flag = 0;
    OK(MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value > 32767);
    for (size_t n = 0; n < sizeof others / sizeof *others; n++) {
        OK(MPI_Comm_get_attr(comm, others[n], &value, &flag));
        CHECK(!flag);
    }
}

/* A session's buffer serves communicators derived from its groups in any way; a communicator's own buffer has
   precedence. */
static void buffers(MPI_Session session)
{
    static int data[LONG], got[LONG];
    static char room[sizeof data + MPI_BSEND_OVERHEAD], own[sizeof room];
    void *address = NULL;
    MPI_Group group, same;
    MPI_Comm comm, copy;
    int rank, size, given = 0;
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Group_union(group, group, &same));
    OK(MPI_Comm_create_from_group(same, "buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Comm_dup(comm, &copy));
    attributes(comm);
    attributes(copy);
    OK(MPI_Comm_rank(comm, &rank));
    OK(MPI_Comm_size(comm, &size));
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    FAILS(MPI_ERR_BUFFER, MPI_Bsend(data, LONG, MPI_INT, right, 0, comm));
    OK(MPI_Session_attach_buffer(session, room, sizeof room));
    for (int n = 0; n < 2; n++) {
        data[LONG - 1] = rank;
        OK(MPI_Bsend(data, LONG, MPI_INT, right, 0, n == 0 ? comm : copy));
        data[LONG - 1] = -1;
        /* The buffer is full, so the other communicator has no room, until it has a buffer of its own. */
        FAILS(MPI_ERR_BUFFER, MPI_Bsend(data, LONG, MPI_INT, right, 0, comm));
        OK(MPI_Comm_attach_buffer(comm, own, sizeof own));
        OK(MPI_Bsend(data, LONG, MPI_INT, right, 1, comm));
        OK(MPI_Recv(got, LONG, MPI_INT, left, 0, n == 0 ? comm : copy, MPI_STATUS_IGNORE));
        CHECK(got[LONG - 1] == left);
        OK(MPI_Recv(got, LONG, MPI_INT, left, 1, comm, MPI_STATUS_IGNORE));
        CHECK(got[LONG - 1] == -1);
        OK(MPI_Comm_detach_buffer(comm, &address, &given));
        CHECK(address == own);
        OK(MPI_Session_flush_buffer(session));
    }
    OK(MPI_Session_detach_buffer(session, &address, &given));
    CHECK(address == room && given == sizeof room);
    /* Without a session's buffer, the process's buffer is used. */
    OK(MPI_Buffer_attach(room, sizeof room));
    OK(MPI_Bsend(data, LONG, MPI_INT, right, 0, comm));
    OK(MPI_Recv(got, LONG, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE));
    OK(MPI_Buffer_detach(&address, &given));
    OK(MPI_Comm_free(&copy));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&same));
    OK(MPI_Group_free(&group));
}

static int calls;

static void count(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_NULL && *code != MPI_SUCCESS);
    calls++;
}

static void count_session(MPI_Session *session, int *code, ...)
{
    CHECK(*session == MPI_SESSION_NULL && *code != MPI_SUCCESS);
    calls++;
}

static void levels(void)
{
    MPI_Session session;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_SINGLE"));
    OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    OK(MPI_Session_finalize(&session));
    OK(MPI_Info_set(info, "thread_level", "many"));
    FAILS(MPI_ERR_INFO_VALUE, MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    CHECK(session == MPI_SESSION_NULL);
    OK(MPI_Info_free(&info));
}

/* A function that gets an error handler calls it with its own errors. */
static void handlers(MPI_Session session)
{
    MPI_Errhandler handler, of_session;
    MPI_Group group;
    MPI_Comm comm;
    OK(MPI_Comm_create_errhandler(count, &handler));
    OK(MPI_Session_create_errhandler(count_session, &of_session));
    OK(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
    FAILS(MPI_ERR_ARG, MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL, handler, &comm));
    CHECK(calls == 1);
    FAILS(MPI_ERR_GROUP, MPI_Comm_create_from_group(MPI_GROUP_NULL, "name", MPI_INFO_NULL, handler, &comm));
    CHECK(calls == 2);
    FAILS(MPI_ERR_RANK, MPI_Intercomm_create_from_groups(group, 7, group, 0, "name", MPI_INFO_NULL, handler, &comm));
    CHECK(calls == 3);
    FAILS(MPI_ERR_ARG, MPI_Session_init(MPI_INFO_NULL, of_session, NULL));
    CHECK(calls == 4);
    OK(MPI_Group_free(&group));
    OK(MPI_Errhandler_free(&of_session));
    OK(MPI_Errhandler_free(&handler));
}

static const char *kinds(MPI_Info info)
{
    static char value[64];
    int len = sizeof value, flag = 0;
    OK(MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &len, value, &flag));
    OK(MPI_Info_free(&info));
    return flag ? value : "";
}

/* Checks the supported kinds of memory: two always, and the requested ones as far as possible. */
static void memory(void)
{
    const char *asked[3] = {NULL, "mpi:alloc_mem", "system,nothing:known"};
    const char *told[3] = {"mpi,system", "mpi,system,mpi:alloc_mem", "mpi,system"};
    for (int n = 0; n < 3; n++) {
        MPI_Session session;
        MPI_Info info;
        MPI_Group group;
        MPI_Comm comm, copy;
        OK(MPI_Info_create(&info));
        if (asked[n] != NULL)
            OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", asked[n]));
        OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
        OK(MPI_Info_free(&info));
        OK(MPI_Session_get_info(session, &info));
        CHECK(strcmp(kinds(info), told[n]) == 0);
        OK(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
        OK(MPI_Comm_create_from_group(group, "kinds", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
        OK(MPI_Comm_dup(comm, &copy));
        OK(MPI_Comm_get_info(copy, &info));
        CHECK(strcmp(kinds(info), told[n]) == 0);
        OK(MPI_Comm_free(&copy));
        OK(MPI_Comm_free(&comm));
        OK(MPI_Group_free(&group));
        OK(MPI_Session_finalize(&session));
    }
}

/* Returns the lane of a duplicate of a session's communicator with this level of thread support; -1 if a rank
   has one lane. */
static int lane_of_duplicate(const char *level)
{
    MPI_Session session;
    MPI_Group all;
    MPI_Comm comm, duplicate;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "thread_level", level));
    OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    OK(MPI_Info_free(&info));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
    OK(MPI_Comm_create_from_group(all, level, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Comm_dup(comm, &duplicate));
    OK(MPI_Barrier(duplicate));
    int lane = told_lane(duplicate);
    OK(MPI_Comm_free(&duplicate));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&all));
    OK(MPI_Session_finalize(&session));
    return lane;
}

/* The lanes of communicators depend on the level of threads that a session asks for. */
static void lanes(void)
{
    int of_one = lane_of_duplicate("MPI_THREAD_SERIALIZED"), of_several = lane_of_duplicate("MPI_THREAD_MULTIPLE");
    CHECK(of_one <= 0);
    CHECK(of_several == (of_one < 0 ? -1 : 1));
    if (getenv("CANELE_RANK") && getenv("CANELE_LANES"))
        CHECK((of_one >= 0) == (atoi(getenv("CANELE_LANES")) > 1));
}

int main(void)
{
    const char *names[2][2] = {{"mpi://WORLD", "mpi://world"}, {"mpi://SELF", "MPI://Self"}};
    MPI_Session session;
    MPI_Group one, other;
    int how = -1, size = -1;
    lanes();
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    for (int n = 0; n < 2; n++) {
        OK(MPI_Group_from_session_pset(session, names[n][0], &one));
        OK(MPI_Group_from_session_pset(session, names[n][1], &other));
        OK(MPI_Group_compare(one, other, &how));
        CHECK(how == MPI_IDENT);
        OK(MPI_Group_free(&one));
        OK(MPI_Group_free(&other));
    }
    OK(MPI_Group_from_session_pset(session, names[1][1], &one));
    OK(MPI_Group_size(one, &size));
    CHECK(size == 1);
    OK(MPI_Group_free(&one));
    FAILS(MPI_ERR_ARG, MPI_Group_from_session_pset(session, "mpi://worlds", &one));
    buffers(session);
    handlers(session);
    memory();
    levels();
    OK(MPI_Session_finalize(&session));
    return result();
}
