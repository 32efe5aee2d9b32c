// Handles and statuses converted to Fortran and back, in C++: predefined ones and made ones of every kind.
#include <mpi.h>
#include <cstdio>
#include <cstring>

static int failures;

static void check(bool holds, const char *claim, int line)
{
    if (!holds) {
        failures++;
        std::fprintf(stderr, "line %d: this does not hold: %s\n", line, claim);
    }
}
#define CHECK(condition) check(condition, #condition, __LINE__)

// Converts there and back, by both names.
template <typename Handle>
static bool round(Handle handle, MPI_Fint to(Handle), Handle from(MPI_Fint), MPI_Fint pto(Handle), Handle pfrom(MPI_Fint))
{
    return from(to(handle)) == handle && pfrom(pto(handle)) == handle && to(handle) == pto(handle);
}
#define ROUND(KIND, handle)                                                                                                    \
    CHECK(round(handle, MPI_##KIND##_c2f, MPI_##KIND##_f2c, PMPI_##KIND##_c2f, PMPI_##KIND##_f2c))

static void constants()
{
    ROUND(Comm, MPI_COMM_WORLD);
    ROUND(Comm, MPI_COMM_NULL);
    ROUND(Group, MPI_GROUP_EMPTY);
    ROUND(Type, MPI_CXX_BOOL);
    ROUND(Op, MPI_MAXLOC);
    ROUND(Request, MPI_REQUEST_NULL);
    ROUND(Message, MPI_MESSAGE_NO_PROC);
    ROUND(Win, MPI_WIN_NULL);
    ROUND(File, MPI_FILE_NULL);
    ROUND(Session, MPI_SESSION_NULL);
    ROUND(Info, MPI_INFO_ENV);
    ROUND(Errhandler, MPI_ERRORS_ARE_FATAL);
}

static void made()
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Request request;
    MPI_Info info;
    MPI_Errhandler errhandler;
    MPI_Session session;
    int value = 0, one = 1;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_group(comm, &group);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Op_create([](void *, void *, int *, MPI_Datatype *) {}, 1, &op);
    MPI_Info_create(&info);
    MPI_Comm_get_errhandler(comm, &errhandler);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Irecv(&value, 1, MPI_INT, 0, 1, comm, &request);
    ROUND(Comm, comm);
    ROUND(Group, group);
    ROUND(Type, type);
    ROUND(Op, op);
    ROUND(Info, info);
    ROUND(Errhandler, errhandler);
    ROUND(Session, session);
    ROUND(Request, request);
    MPI_Send(&one, 1, MPI_INT, 0, 1, MPI_Comm_f2c(MPI_Comm_c2f(comm)));
    MPI_Status status, back;
    MPI_Wait(&request, &status);
    CHECK(value == 1);
    MPI_Fint f[MPI_F_STATUS_SIZE];
    MPI_F08_status f08;
    CHECK(MPI_Status_c2f(&status, f) == MPI_SUCCESS && f[MPI_F_TAG] == 1);
    CHECK(MPI_Status_f2f08(f, &f08) == MPI_SUCCESS && MPI_Status_f082c(&f08, &back) == MPI_SUCCESS);
    CHECK(std::memcmp(&status, &back, sizeof status) == 0);
    CHECK(MPI_Status_f2c(MPI_F_STATUS_IGNORE, &back) == MPI_ERR_ARG);
    MPI_Message message;
    MPI_Isend(&one, 1, MPI_INT, 0, 2, comm, &request);
    MPI_Mprobe(0, 2, comm, &message, MPI_STATUS_IGNORE);
    ROUND(Message, message);
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Session_finalize(&session);
    MPI_Errhandler_free(&errhandler);
    MPI_Info_free(&info);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    constants();
    made();
    MPI_Finalize();
    if (failures == 0)
        std::printf("passed\n");
    return failures != 0;
}
