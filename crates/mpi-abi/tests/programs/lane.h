/* On which lane a communicator lies, and communicators that are to lie on one. */
#include "check.h"

/* The lane that a communicator lies on; -1 if that is not told, as where a rank has no other. */
static int told_lane(MPI_Comm comm)
{
    MPI_Info info;
    char text[32];
    int length = sizeof text, flag;
    OK(MPI_Comm_get_info(comm, &info));
    OK(MPI_Info_get_string(info, "canele_lies_on_lane", &length, text, &flag));
    OK(MPI_Info_free(&info));
    return flag ? atoi(text) : -1;
}

/* A duplicate of the world that is to lie on this lane. */
static MPI_Comm dup_on(const char *lane)
{
    MPI_Comm comm;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "canele_lane", lane));
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    OK(MPI_Info_free(&info));
    return comm;
}
