// An error handler in C++ that throws an exception through a call of MPI, whose caller would catch it.
#include <cstdio>
#include <stdexcept>

#include <mpi.h>

static void handle(MPI_Comm *, int *, ...) { throw std::runtime_error("thrown by a handler"); }

int main() {
    MPI_Init(nullptr, nullptr);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    int number = 1;
    try {
        MPI_Send(&number, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    } catch (const std::exception &) {
        std::puts("caught");
    }
    MPI_Finalize();
}
