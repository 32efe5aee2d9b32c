// Functions of the program in C++ that throw an exception through a call of MPI, whose caller would catch it: which, the argument says.
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include <mpi.h>

static void fail() { throw std::runtime_error("thrown by a function of the program"); }

static void handle(MPI_Comm *, int *, ...) { fail(); }

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

static void call(const char *what) {
    int numbers[2] = {1, 2}, key;
    MPI_Comm made;
    MPI_Op op;
    MPI_Request request;
    if (!std::strcmp(what, "handler")) {
        MPI_Errhandler handler;
        MPI_Comm_create_errhandler(handle, &handler);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
        MPI_Send(numbers, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    } else if (!std::strcmp(what, "operation")) {
        MPI_Op_create(combine, 1, &op);
        MPI_Allreduce(MPI_IN_PLACE, numbers, 2, MPI_INT, op, MPI_COMM_WORLD);
    } else if (!std::strcmp(what, "copy")) {
        MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
        MPI_Comm_set_attr(MPI_COMM_WORLD, key, numbers);
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
    } else if (!std::strcmp(what, "delete")) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, nullptr);
        MPI_Comm_set_attr(MPI_COMM_WORLD, key, numbers);
        MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    } else if (!std::strcmp(what, "query")) {
        MPI_Grequest_start(query, release, cancel, nullptr, &request);
        MPI_Grequest_complete(request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Grequest_start(query, release, cancel, nullptr, &request);
        MPI_Cancel(&request);
    }
}

int main(int, char **arguments) {
    MPI_Init(nullptr, nullptr);
    try {
        call(arguments[1]);
    } catch (const std::exception &) {
        std::puts("caught");
    }
    MPI_Finalize();
}
