/* Calls that any thread may make at any time, even at the level MPI_THREAD_FUNNELED, beside a thread that
   exchanges messages. */
#include "check.h"
#include <pthread.h>

enum { ROUNDS = 3000 };

static volatile int over;

static void once(void)
{
    int flag = 0, version, subversion, class, len, code, major, minor;
    char text[MPI_MAX_ERROR_STRING + MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Info info, copy;
    OK(MPI_Initialized(&flag));
    CHECK(flag);
    OK(MPI_Finalized(&flag));
    CHECK(!flag);
    OK(MPI_Query_thread(&version));
    CHECK(version == MPI_THREAD_FUNNELED);
    OK(MPI_Is_thread_main(&flag));
    CHECK(!flag);
    OK(MPI_Get_version(&version, &subversion));
    OK(MPI_Get_library_version(text, &len));
    CHECK(len == (int)strlen(text) && strstr(text, "Canel\xc3\xa9 "));
    OK(MPI_Abi_get_version(&major, &minor));
    /* Programs for another MPI's ABI expect its name first, those for the standard's ABI the library's. */
    CHECK(strncmp(text, major >= 0 ? "Canel\xc3\xa9 " : MPI_ANY_TAG == MPI_ANY_SOURCE ? "Open MPI v" : "MPICH Version:\t", 8) == 0);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "key", "value"));
    OK(MPI_Info_dup(info, &copy));
    OK(MPI_Info_get_nkeys(copy, &len));
    CHECK(len == 1);
    OK(MPI_Info_delete(copy, "key"));
    OK(MPI_Info_free(&copy));
    OK(MPI_Info_free(&info));
    OK(MPI_Error_class(MPI_ERR_RANK, &class));
    OK(MPI_Error_string(MPI_ERR_RANK, text, &len));
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_string(code, "text"));
    OK(MPI_Remove_error_string(code));
    OK(MPI_Remove_error_code(code));
    OK(MPI_Remove_error_class(class));
}

static void *asks(void *unused)
{
    (void)unused;
    MPI_Session session;
    for (int n = 0; !over || n == 0; n++)
        once();
    /* The session ends the deferring of receives, in the middle of the other thread's messages. */
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    over = 2;
    OK(MPI_Session_finalize(&session));
    return NULL;
}

static void exchange(int rank, int size, int round)
{
    MPI_Request requests[2];
    int sent[2] = {round, -round}, got[2] = {0, 0}, left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int n = 0; n < 2; n++)
        OK(MPI_Irecv(&got[n], 1, MPI_INT, left, n, MPI_COMM_WORLD, &requests[n]));
    for (int n = 1; n >= 0; n--)
        OK(MPI_Send(&sent[n], 1, MPI_INT, right, n, MPI_COMM_WORLD));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(got[0] == round && got[1] == -round);
}

int main(int argc, char **argv)
{
    int provided, rank, size;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pthread_create(&thread, NULL, asks, NULL);
    for (int round = 0; round < ROUNDS; round++)
        exchange(rank, size, round);
    over = 1;
    for (int round = 0; round < ROUNDS; round++)
        exchange(rank, size, round);
    pthread_join(thread, NULL);
    exchange(rank, size, 1);
    OK(MPI_Finalize());
    return result();
}
