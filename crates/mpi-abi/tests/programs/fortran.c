/* Handles and statuses converted to Fortran and back: predefined ones and made ones of every kind. */
#include "check.h"

/* Converts there and back, by both names; null handles and others have the numbers of the ABI. */
#define ROUND(KIND, TYPE, handle)                                                                                              \
    do {                                                                                                                       \
        TYPE there = (handle);                                                                                                 \
        MPI_Fint number = MPI_##KIND##_c2f(there);                                                                             \
        CHECK(MPI_##KIND##_f2c(number) == there && PMPI_##KIND##_f2c(number) == there);                                        \
        CHECK(PMPI_##KIND##_c2f(there) == number && number == MPI_##KIND##_toint(there));                                      \
    } while (0)

static void sum(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *len; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void handles(void)
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Request request;
    MPI_Message message;
    MPI_Info info;
    MPI_Errhandler errhandler;
    MPI_Session session;
    int one = 1, two = 2, value = 0;

    OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    OK(MPI_Comm_group(comm, &group));
    OK(MPI_Type_contiguous(3, MPI_INT, &type));
    OK(MPI_Op_create(sum, 1, &op));
    OK(MPI_Info_create(&info));
    OK(MPI_Comm_get_errhandler(comm, &errhandler));
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Irecv(&value, 1, MPI_INT, 0, 1, comm, &request));
    ROUND(Comm, MPI_Comm, comm);
    ROUND(Group, MPI_Group, group);
    ROUND(Type, MPI_Datatype, type);
    ROUND(Op, MPI_Op, op);
    ROUND(Info, MPI_Info, info);
    ROUND(Errhandler, MPI_Errhandler, errhandler);
    ROUND(Session, MPI_Session, session);
    ROUND(Request, MPI_Request, request);

    /* Converted handles can be used. */
    type = MPI_Type_f2c(MPI_Type_c2f(type));
    OK(MPI_Type_commit(&type));
    comm = MPI_Comm_f2c(MPI_Comm_c2f(comm));
    OK(MPI_Send(&one, 1, MPI_INT, 0, 1, comm));
    request = MPI_Request_f2c(MPI_Request_c2f(request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(value == 1);
    op = MPI_Op_f2c(MPI_Op_c2f(op));
    OK(MPI_Reduce_local(&one, &two, 1, MPI_INT, op));
    CHECK(two == 3);
    OK(MPI_Isend(&one, 1, MPI_INT, 0, 2, comm, &request));
    OK(MPI_Mprobe(0, 2, comm, &message, MPI_STATUS_IGNORE));
    ROUND(Message, MPI_Message, message);
    message = MPI_Message_f2c(MPI_Message_c2f(message));
    OK(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));

    OK(MPI_Session_finalize(&session));
    OK(MPI_Errhandler_free(&errhandler));
    OK(MPI_Info_free(&info));
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&type));
    OK(MPI_Group_free(&group));
    OK(MPI_Comm_free(&comm));
}

static void constants(void)
{
    ROUND(Comm, MPI_Comm, MPI_COMM_WORLD);
    ROUND(Comm, MPI_Comm, MPI_COMM_SELF);
    ROUND(Comm, MPI_Comm, MPI_COMM_NULL);
    ROUND(Group, MPI_Group, MPI_GROUP_EMPTY);
    ROUND(Group, MPI_Group, MPI_GROUP_NULL);
    ROUND(Type, MPI_Datatype, MPI_DOUBLE);
    ROUND(Type, MPI_Datatype, MPI_DATATYPE_NULL);
    ROUND(Op, MPI_Op, MPI_SUM);
    ROUND(Op, MPI_Op, MPI_OP_NULL);
    ROUND(Request, MPI_Request, MPI_REQUEST_NULL);
    ROUND(Message, MPI_Message, MPI_MESSAGE_NULL);
    ROUND(Message, MPI_Message, MPI_MESSAGE_NO_PROC);
    ROUND(Win, MPI_Win, MPI_WIN_NULL);
    ROUND(File, MPI_File, MPI_FILE_NULL);
    ROUND(Session, MPI_Session, MPI_SESSION_NULL);
    ROUND(Info, MPI_Info, MPI_INFO_NULL);
    ROUND(Info, MPI_Info, MPI_INFO_ENV);
    ROUND(Errhandler, MPI_Errhandler, MPI_ERRORS_RETURN);
    ROUND(Errhandler, MPI_Errhandler, MPI_ERRHANDLER_NULL);
    /* The standard gives these numbers to both languages (MPI 5.0, appendix A). */
    CHECK(MPI_Comm_c2f(MPI_COMM_WORLD) == 257 && MPI_Type_c2f(MPI_INT) == 0x209);
}

/* A status says the same in all its forms. */
static void statuses(void)
{
    MPI_Status status, back;
    MPI_Fint f[MPI_F_STATUS_SIZE];
    MPI_F08_status f08;
    int sent[3] = {1, 2, 3}, got[3], count = -1;
    OK(MPI_Sendrecv(sent, 3, MPI_INT, 0, 7, got, 3, MPI_INT, 0, 7, MPI_COMM_SELF, &status));
    status.MPI_ERROR = 5;
    OK(MPI_Status_c2f(&status, f));
    CHECK(f[MPI_F_SOURCE] == 0 && f[MPI_F_TAG] == 7 && f[MPI_F_ERROR] == 5);
    memset(&back, 0xff, sizeof back);
    OK(MPI_Status_f2c(f, &back));
    CHECK(memcmp(&status, &back, sizeof status) == 0);
    OK(MPI_Get_count(&back, MPI_INT, &count));
    CHECK(count == 3);
    OK(MPI_Status_c2f08(&status, &f08));
    CHECK(f08.MPI_SOURCE == 0 && f08.MPI_TAG == 7 && f08.MPI_ERROR == 5);
    memset(f, 0xff, sizeof f);
    OK(MPI_Status_f082f(&f08, f));
    memset(&f08, 0xff, sizeof f08);
    OK(MPI_Status_f2f08(f, &f08));
    memset(&back, 0xff, sizeof back);
    OK(PMPI_Status_f082c(&f08, &back));
    CHECK(memcmp(&status, &back, sizeof status) == 0);
    FAILS(MPI_ERR_ARG, MPI_Status_f2c(MPI_F_STATUS_IGNORE, &back));
    FAILS(MPI_ERR_ARG, MPI_Status_f082c(MPI_F08_STATUS_IGNORE, &back));
    FAILS(MPI_ERR_ARG, MPI_Status_c2f(MPI_STATUS_IGNORE, f));
    CHECK(MPI_F_STATUSES_IGNORE == NULL && MPI_F08_STATUSES_IGNORE == NULL);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    constants();
    handles();
    statuses();
    OK(MPI_Finalize());
    return result();
}
