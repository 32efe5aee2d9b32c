/* Common parts of programs that use lanes: the lane of a communicator, and duplicates on a lane. */
#include "check.h"

/* Reads the text of a hint of a communicator; returns true if it has the hint. */
static int told_hint(MPI_Comm comm, const char *key, char *text, int length)
{
    MPI_Info info;
    int flag;
    OK(MPI_Comm_get_info(comm, &info));
    OK(MPI_Info_get_string(info, key, &length, text, &flag));
    OK(MPI_Info_free(&info));
    return flag;
}

/* Returns the lane of a communicator, the first one if there are several; -1 if that is not reported, because
   a rank has only one. */
static int told_lane(MPI_Comm comm)
{
    char text[64];
    return told_hint(comm, "canele_lies_on_lane", text, sizeof text) ? atoi(text) : -1;
}

/* Returns a duplicate of the world with this hint. */
static MPI_Comm dup_with(const char *key, const char *value)
{
    MPI_Comm comm;
    MPI_Info info;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, value));
    OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    OK(MPI_Info_free(&info));
    return comm;
}

/* Returns a duplicate of the world with a hint that names this lane. */
static inline MPI_Comm dup_on(const char *lane)
{
    return dup_with("canele_lane", lane);
}
