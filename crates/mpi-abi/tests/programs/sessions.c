/* Sessions: process sets by their names. */
#include "check.h"

int main(void)
{
    const char *names[2][2] = {{"mpi://WORLD", "mpi://world"}, {"mpi://SELF", "MPI://Self"}};
    MPI_Session session;
    MPI_Group one, other;
    int how = -1, size = -1;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    for (int n = 0; n < 2; n++) {
        OK(MPI_Group_from_session_pset(session, names[n][0], &one));
        OK(MPI_Group_from_session_pset(session, names[n][1], &other));
        OK(MPI_Group_compare(one, other, &how));
        CHECK(how == MPI_IDENT);
        OK(MPI_Group_free(&one));
        OK(MPI_Group_free(&other));
    }
    OK(MPI_Group_from_session_pset(session, names[1][1], &one));
    OK(MPI_Group_size(one, &size));
    CHECK(size == 1);
    OK(MPI_Group_free(&one));
    FAILS(MPI_ERR_ARG, MPI_Group_from_session_pset(session, "mpi://worlds", &one));
    OK(MPI_Session_finalize(&session));
    return result();
}
