/* The frame of the generated program: the arguments of the calls, and the reports of calls that go wrong. */
#define MPI_REMOVED_API
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
/* There are thousands of calls, each made once: optimising them takes five times as long as the rest. */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O0")
#endif
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm freed_comm;
static MPI_Group freed_group;
static MPI_Datatype freed_datatype;
static MPI_Op freed_op;
static MPI_Info freed_info;
static MPI_Errhandler freed_errhandler;
static MPI_Request freed_request;
static MPI_Session freed_session, session;
static MPI_Comm made_comm;
static MPI_Request made_request;
static int keyval;
/* Zeros: empty strings, counts of nothing, null handles. Renewed before each call. */
static long long place[4096];
static int calls, wrong;

#define CALL(what, call)          \
    memset(place, 0, sizeof place); \
    last = what;                   \
    calls++;                       \
    code = (int)(long)(call);

#define RETURNS(what, call) \
    do {                    \
        int code;           \
        CALL(what, call)    \
        (void)code;         \
    } while (0)

#define FAILS(what, call)                                     \
    do {                                                      \
        int code;                                             \
        CALL(what, call)                                      \
        if (code == MPI_SUCCESS) wrong++, printf("no error: %s\n", what); \
    } while (0)

static const char *volatile last;

static void sum(void *in, void *inout, int *n, MPI_Datatype *of) { (void)in, (void)inout, (void)n, (void)of; }
static void told(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

static void try_all(void);

static void crashed(int signal) {
    printf("signal %d: %s\n", signal, last);
    fflush(stdout);
    _Exit(1);
}

#include <signal.h>

int main(void) {
    int level;
    MPI_Init(NULL, NULL);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    signal(SIGSEGV, crashed), signal(SIGABRT, crashed), signal(SIGBUS, crashed), signal(SIGFPE, crashed);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &freed_comm);
    MPI_Comm_group(MPI_COMM_SELF, &freed_group);
    MPI_Type_dup(MPI_INT, &freed_datatype);
    MPI_Op_create(sum, 1, &freed_op);
    MPI_Info_create(&freed_info);
    MPI_Comm_create_errhandler(told, &freed_errhandler);
    MPI_Send_init(place, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &freed_request);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &freed_session);
    MPI_Comm comm = freed_comm;
    MPI_Group group = freed_group;
    MPI_Datatype datatype = freed_datatype;
    MPI_Op op = freed_op;
    MPI_Info info = freed_info;
    MPI_Errhandler errhandler = freed_errhandler;
    MPI_Request request = freed_request;
    MPI_Session gone = freed_session;
    MPI_Comm_free(&comm), MPI_Group_free(&group), MPI_Type_free(&datatype), MPI_Op_free(&op);
    MPI_Info_free(&info), MPI_Errhandler_free(&errhandler), MPI_Request_free(&request), MPI_Session_finalize(&gone);
    MPI_Comm_dup(MPI_COMM_SELF, &made_comm);
    MPI_Send_init(place, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &made_request);
    try_all();
    printf("%d calls were made, %d of them without the error they have to give\n", calls, wrong);
    fflush(stdout);
    _Exit(wrong != 0);
}

