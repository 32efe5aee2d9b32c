/* Error handlers before the program sets any. Argument: the name of the handler that the program was started
   with. */
#include "check.h"

static void expect(MPI_Errhandler found, const char *name)
{
    CHECK((found == MPI_ERRORS_ARE_FATAL) == (strcmp(name, "mpi_errors_are_fatal") == 0));
    CHECK((found == MPI_ERRORS_ABORT) == (strcmp(name, "mpi_errors_abort") == 0));
    CHECK((found == MPI_ERRORS_RETURN) == (strcmp(name, "mpi_errors_return") == 0));
}

static int calls;

static void count(MPI_Comm *comm, int *code, ...)
{
    (void)code;
    calls++;
    CHECK(*comm == MPI_COMM_WORLD);
}

/* A program that sets only the handler of MPI_COMM_WORLD gets errors without an object there, until it sets
   that of MPI_COMM_SELF. */
static void world_only(void)
{
    MPI_Datatype type = MPI_INT;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Errhandler handler;
    int n;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_TYPE, MPI_Type_free(&type));
    FAILS(MPI_ERR_GROUP, MPI_Group_size(group, &n));
    FAILS(MPI_ERR_COMM, MPI_Comm_rank(MPI_COMM_NULL, &n));
    OK(MPI_Comm_create_errhandler(count, &handler));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    FAILS(MPI_ERR_GROUP, MPI_Group_size(group, &n));
    CHECK(calls == 1);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    FAILS(MPI_ERR_GROUP, MPI_Group_size(group, &n));
    CHECK(calls == 1);
    OK(MPI_Errhandler_free(&handler));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "mpi_errors_are_fatal";
    char told[MPI_MAX_INFO_VAL] = "";
    int len = sizeof told, flag = 0;
    MPI_Errhandler found;
    if (strcmp(name, "mpi_errors_return") == 0)
        FAILS(MPI_ERR_COMM, MPI_Barrier(MPI_COMM_WORLD));
    MPI_Init(&argc, &argv);
    OK(MPI_Info_get_string(MPI_INFO_ENV, "mpi_initial_errhandler", &len, told, &flag));
    CHECK(flag && strcmp(told, name) == 0);
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found));
    expect(found, name);
    OK(MPI_Comm_get_errhandler(MPI_COMM_SELF, &found));
    expect(found, name);
    /* Sessions and files start with their usual handlers. */
    MPI_Session session;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ABORT, &session));
    OK(MPI_Session_get_errhandler(session, &found));
    expect(found, "mpi_errors_abort");
    OK(MPI_Session_finalize(&session));
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &found));
    expect(found, "mpi_errors_return");
    if (strcmp(name, "mpi_errors_return") == 0)
        FAILS(MPI_ERR_RANK, MPI_Send(&len, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD));
    world_only();
    MPI_Finalize();
    return result();
}
