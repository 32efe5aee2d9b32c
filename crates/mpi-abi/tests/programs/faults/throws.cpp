// Functions of a C++ program that throw an exception through a call of MPI, whose caller catches it; the
// argument selects one. MPI goes on.
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include <mpi.h>

static void fail() { throw std::runtime_error("thrown by a function of the program"); }

static void handle(MPI_Comm *, int *, ...) { fail(); }

static void handle_win(MPI_Win *, int *, ...) { fail(); }

static void handle_file(MPI_File *, int *, ...) { fail(); }

static void combine(void *, void *, int *, MPI_Datatype *) { fail(); }

static int copy(MPI_Comm, int, void *, void *, void *, int *) {
    fail();
    return MPI_SUCCESS;
}

static int forget(MPI_Comm, int, void *, void *) {
    fail();
    return MPI_SUCCESS;
}

static int query(void *, MPI_Status *) {
    fail();
    return MPI_SUCCESS;
}

static int release(void *) { return MPI_SUCCESS; }

static int cancel(void *, int) {
    fail();
    return MPI_SUCCESS;
}

static int numbers[2] = {1, 2};

static void call_with_handler(const char *what) {
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    if (!std::strcmp(what, "handler"))
        MPI_Send(numbers, 1, MPI_INT, 99, 0, comm);
    else if (!std::strcmp(what, "called"))
        MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    else
        MPI_Bcast(numbers, 1, MPI_INT, 77, comm);
}

static void call_wait() {
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Irecv(numbers, 0, MPI_INT, 0, 0, comm, &request);
    MPI_Send(numbers, 1, MPI_INT, 0, 0, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void call_win() {
    MPI_Win win;
    MPI_Errhandler handler;
    void *base;
    MPI_Win_create_errhandler(handle_win, &handler);
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win);
    MPI_Win_set_errhandler(win, handler);
    MPI_Put(numbers, 1, MPI_INT, 55, 0, 1, MPI_INT, win);
}

static void call_file() {
    MPI_File file;
    MPI_Errhandler handler;
    MPI_File_create_errhandler(handle_file, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    MPI_File_open(MPI_COMM_SELF, "/nonexistent/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
}

static void call_operation(bool local) {
    MPI_Op op;
    int other[2] = {3, 4};
    MPI_Op_create(combine, 1, &op);
    if (local)
        MPI_Reduce_local(other, numbers, 2, MPI_INT, op);
    else
        MPI_Allreduce(MPI_IN_PLACE, numbers, 2, MPI_INT, op, MPI_COMM_WORLD);
}

static void call_attribute(bool copies, bool starts) {
    int key;
    static MPI_Comm made;
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (copies)
        MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
    else
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, nullptr);
    MPI_Comm_set_attr(comm, key, numbers);
    if (starts)
        MPI_Comm_idup(comm, &made, &request);
    else if (copies)
        MPI_Comm_dup(comm, &made);
    else
        MPI_Comm_delete_attr(comm, key);
}

static void call_generalized(bool cancels) {
    MPI_Request request;
    MPI_Grequest_start(query, release, cancel, nullptr, &request);
    if (cancels)
        MPI_Cancel(&request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void call(const char *what) {
    if (!std::strcmp(what, "wait"))
        call_wait();
    else if (!std::strcmp(what, "win"))
        call_win();
    else if (!std::strcmp(what, "file"))
        call_file();
    else if (!std::strcmp(what, "operation") || !std::strcmp(what, "local"))
        call_operation(!std::strcmp(what, "local"));
    else if (!std::strcmp(what, "copy") || !std::strcmp(what, "idup") || !std::strcmp(what, "delete"))
        call_attribute(std::strcmp(what, "delete") != 0, !std::strcmp(what, "idup"));
    else if (!std::strcmp(what, "query") || !std::strcmp(what, "cancel"))
        call_generalized(!std::strcmp(what, "cancel"));
    else
        call_with_handler(what);
}

// All ranks go on, with messages, collectives and communicators.
static bool goes_on() {
    int rank, size, one = 1, sum = 0, got = -1;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0, comm,
                 MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    return sum == size && got == (rank + size - 1) % size;
}

int main(int n, char **arguments) {
    bool right = true;
    MPI_Init(nullptr, nullptr);
    for (int at = 1; at < n; at++) {
        bool caught = false;
        try {
            call(arguments[at]);
        } catch (const std::exception &) {
            caught = true;
        }
        right = caught && goes_on() && right;
        if (!caught)
            std::printf("%s: nothing was caught\n", arguments[at]);
    }
    MPI_Finalize();
    if (right)
        std::puts("passed");
    return !right;
}
