/* Plays the part of MPICH's C++ library, libmpicxx.so.12: it names the functions that call the program's
   error handlers and operations. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef void function(void);
int MPII_Errhandler_set_cxx(MPI_Errhandler errhandler, void (*caller)(int kind, void *handle, int *code, function *handler));
int MPII_Op_set_cxx(MPI_Op op, void (*caller)(void *in, void *into, int count, MPI_Datatype type, MPI_User_function *of_program));
int MPII_Keyval_set_proxy(int keyval, int (*copy)(function *, int comm, int keyval, void *state, int kind, void *value, void **new_value, int *flag),
                          int (*delete)(function *, int comm, int keyval, int kind, void *value, void *state));

enum { COMM, FILES, WIN, NONE };

static void expect(int holds, int line) {
    if (holds) return;
    printf("line %d does not hold\n", line);
    exit(1);
}
#define EXPECT(condition) expect(condition, __LINE__)

static int class_of(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static int kind_seen, class_seen;
static MPI_Comm comm_seen;
static MPI_Win win_seen;
static MPI_File file_seen;
static function *handler_seen;

static void call_handler(int kind, void *handle, int *code, function *handler) {
    kind_seen = kind, class_seen = class_of(*code), handler_seen = handler;
    if (kind == COMM) comm_seen = *(MPI_Comm *)handle;
    if (kind == WIN) win_seen = *(MPI_Win *)handle;
    if (kind == FILES) file_seen = *(MPI_File *)handle;
}

/* Only the C++ library may call these. */
static void of_comm(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; abort(); }
static void of_win(MPI_Win *win, int *code, ...) { (void)win, (void)code; abort(); }
static void of_file(MPI_File *file, int *code, ...) { (void)file, (void)code; abort(); }
static void of_session(MPI_Session *session, int *code, ...) { (void)session, (void)code; abort(); }

static void handlers(void) {
    MPI_Errhandler comm_handler, win_handler, file_handler;
    /* All are made before the first caller is named. */
    MPI_Comm_create_errhandler(of_comm, &comm_handler);
    MPI_Win_create_errhandler(of_win, &win_handler);
    MPI_File_create_errhandler(of_file, &file_handler);
    EXPECT(MPII_Errhandler_set_cxx(comm_handler, call_handler) == MPI_SUCCESS);
    EXPECT(MPII_Errhandler_set_cxx(win_handler, call_handler) == MPI_SUCCESS);
    EXPECT(MPII_Errhandler_set_cxx(file_handler, call_handler) == MPI_SUCCESS);
    EXPECT(MPII_Errhandler_set_cxx(file_handler, call_handler) == MPI_SUCCESS);

    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, comm_handler);
    kind_seen = NONE;
    MPI_Send(NULL, 0, MPI_INT, 7, 0, comm);
    EXPECT(kind_seen == COMM && comm_seen == comm && class_seen == MPI_ERR_RANK && handler_seen == (function *)of_comm);

    /* A communicator that was freed before its receive has failed. */
    MPI_Request request;
    int sent[2] = {1, 2}, got = 0;
    MPI_Irecv(&got, 1, MPI_INT, 0, 0, comm, &request);
    MPI_Send(sent, 2, MPI_INT, 0, 0, comm);
    MPI_Comm_free(&comm);
    kind_seen = NONE;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(kind_seen == COMM && class_seen == MPI_ERR_TRUNCATE);

    MPI_Win win;
    MPI_Win_create(sent, sizeof sent, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
    MPI_Win_set_errhandler(win, win_handler);
    kind_seen = NONE;
    MPI_Win_call_errhandler(win, MPI_ERR_ARG);
    EXPECT(kind_seen == WIN && win_seen == win && class_seen == MPI_ERR_ARG && handler_seen == (function *)of_win);
    MPI_Win_free(&win);

    MPI_File_set_errhandler(MPI_FILE_NULL, file_handler);
    kind_seen = NONE;
    MPI_File file;
    MPI_File_open(MPI_COMM_SELF, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    EXPECT(kind_seen == FILES && file_seen == MPI_FILE_NULL && handler_seen == (function *)of_file);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);

    MPI_Errhandler_free(&comm_handler);
    MPI_Errhandler_free(&win_handler);
    MPI_Errhandler_free(&file_handler);
}

static void refused(void) {
    MPI_Errhandler handler, session_handler;
    MPI_Comm_create_errhandler(of_comm, &handler);
    MPI_Session_create_errhandler(of_session, &session_handler);
    EXPECT(class_of(MPII_Errhandler_set_cxx(handler, NULL)) == MPI_ERR_ARG);
    EXPECT(class_of(MPII_Errhandler_set_cxx(session_handler, call_handler)) == MPI_ERR_ERRHANDLER);
    EXPECT(class_of(MPII_Errhandler_set_cxx(MPI_ERRORS_RETURN, call_handler)) == MPI_ERR_ERRHANDLER);
    MPI_Errhandler freed = handler;
    MPI_Errhandler_free(&handler);
    MPI_Errhandler_free(&session_handler);
    EXPECT(MPII_Errhandler_set_cxx(freed, call_handler) != MPI_SUCCESS);
    EXPECT(class_of(MPII_Op_set_cxx(MPI_OP_NULL, NULL)) == MPI_ERR_OP);
}

/* The handler with which the C++ library throws: functions return the code. */
static void exceptions(void) {
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPIR_ERRORS_THROW_EXCEPTIONS);
    MPI_Comm_get_errhandler(comm, &handler);
    EXPECT(handler == MPIR_ERRORS_THROW_EXCEPTIONS);
    EXPECT(class_of(MPI_Send(NULL, 0, MPI_INT, 7, 0, comm)) == MPI_ERR_RANK);
    MPI_Comm_free(&comm);
}

static void never(void *in, void *into, int *count, MPI_Datatype *type) { (void)in, (void)into, (void)count, (void)type; abort(); }

static void call_operation(void *in, void *into, int count, MPI_Datatype type, MPI_User_function *of_program) {
    EXPECT(type == MPI_INT && of_program == never);
    for (int n = 0; n < count; n++) ((int *)into)[n] += 10 * ((int *)in)[n];
}

static void operations(void) {
    MPI_Op op;
    MPI_Op_create(never, 0, &op);
    EXPECT(class_of(MPII_Op_set_cxx(op, NULL)) == MPI_ERR_ARG);
    EXPECT(MPII_Op_set_cxx(op, call_operation) == MPI_SUCCESS);
    int first[3] = {1, 2, 3}, second[3] = {4, 5, 6};
    MPI_Reduce_local(first, second, 3, MPI_INT, op);
    EXPECT(second[0] == 14 && second[1] == 25 && second[2] == 36);
    MPI_Op_free(&op);
}

/* A value that C has set is an address, of kind 0, for functions in C++. */
static int deleted;
static int copy_never(MPI_Comm comm, int key, void *state, void *value, void *copy, int *flag) {
    (void)comm, (void)key, (void)state, (void)value, (void)copy, (void)flag;
    abort();
}
static int delete_never(MPI_Comm comm, int key, void *value, void *state) { (void)comm, (void)key, (void)value, (void)state; abort(); }

static int call_copy(function *copy, int comm, int key, void *state, int kind, void *value, void **new_value, int *flag) {
    EXPECT(copy == (function *)copy_never && comm != MPI_COMM_NULL && key != MPI_KEYVAL_INVALID && kind == 0);
    *new_value = (char *)value + *(int *)state;
    *flag = 1;
    return MPI_SUCCESS;
}

static int call_delete(function *delete, int comm, int key, int kind, void *value, void *state) {
    EXPECT(delete == (function *)delete_never && comm != MPI_COMM_NULL && key != MPI_KEYVAL_INVALID && kind == 0 && *(int *)state == 5);
    deleted += (int)(long)value;
    return MPI_SUCCESS;
}

static void attributes(void) {
    int key, five = 5, flag = 0;
    void *value = NULL;
    MPI_Comm comm, dup;
    MPI_Comm_create_keyval(copy_never, delete_never, &key, &five);
    EXPECT(MPII_Keyval_set_proxy(key, call_copy, call_delete) == MPI_SUCCESS);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_attr(comm, key, (void *)1000);
    MPI_Comm_dup(comm, &dup);
    MPI_Comm_get_attr(dup, key, &value, &flag);
    EXPECT(flag && value == (void *)1005);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&comm);
    EXPECT(deleted == 2005);
    MPI_Comm_free_keyval(&key);
}

int main(void) {
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    handlers();
    refused();
    exceptions();
    operations();
    attributes();
    printf("the C++ library's part passed\n");
    return MPI_Finalize();
}
