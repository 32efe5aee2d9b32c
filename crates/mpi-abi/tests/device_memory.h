/* The frame of the generated program: buffers in memory of a device, which the processors can neither read nor write. */
#define MPI_REMOVED_API
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("O0")
#endif
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BYTES = 1 << 16 };
static char *device;
static long long host[BYTES / 8], place[64], ones[64];
static int int_ones[64];
static MPI_Datatype types[64];
static MPI_Comm cart;
static MPI_Win win;
static MPI_File file;
static MPI_Session session;
static int calls, wrong;
static const char *volatile last;

/* The library calls this function for each buffer. */
int canele_device_of(const void *address)
{
    return (const char *)address >= device && (const char *)address < device + BYTES ? 3 : -1;
}

/* Checks that the call refuses the buffer, with the reason. */
static void refused(int code)
{
    int class = -1, length = 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    calls++;
    if (class == MPI_ERR_BUFFER && strstr(text, "memory of device 3") != NULL) return;
    wrong++;
    printf("%s: error class %d: %s\n", last, class, text);
}

#define REFUSED(what, call) memset(place, 0, sizeof place), last = what, refused(call)

static void crashed(int signal)
{
    printf("signal %d: %s\n", signal, last);
    fflush(stdout);
    _Exit(1);
}

static void try_all(void);

/* Tests the short paths of messages and mapped windows, which programs without a device take from the second
   call on. */
static void neighbours(int me)
{
    char *base;
    MPI_Win near;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &near);
    MPI_Win_set_errhandler(near, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, near);
    for (int i = 0; i < 10; i++) {
        if (me == 0) MPI_Send(host, 1, MPI_INT, 1, 0, MPI_COMM_WORLD), MPI_Recv(host, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Recv(host, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_Send(host, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Put(host, 1, MPI_INT, 1 - me, 0, 1, MPI_INT, near);
        MPI_Get(host, 1, MPI_INT, 1 - me, 0, 1, MPI_INT, near);
    }
    REFUSED("a second MPI_Send", MPI_Send(device, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD));
    REFUSED("a second MPI_Recv", MPI_Recv(device, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    REFUSED("a second MPI_Isend", MPI_Isend(device, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD, (MPI_Request *)place));
    REFUSED("a second MPI_Irecv", MPI_Irecv(device, 1, MPI_INT, 1 - me, 0, MPI_COMM_WORLD, (MPI_Request *)place));
    REFUSED("a second MPI_Put", MPI_Put(device, 1, MPI_INT, 1 - me, 0, 1, MPI_INT, near));
    REFUSED("a second MPI_Get", MPI_Get(device, 1, MPI_INT, 1 - me, 0, 1, MPI_INT, near));
    MPI_Win_unlock_all(near);
    MPI_Win_free(&near);
}

int main(void)
{
    device = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 64; i++) ones[i] = int_ones[i] = 1, types[i] = MPI_INT;
    int me, ranks;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    signal(SIGSEGV, crashed), signal(SIGABRT, crashed), signal(SIGBUS, crashed);
    /* This runs before the session, because with a session no path is short. */
    if (ranks == 2) neighbours(me);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Cart_create(MPI_COMM_SELF, 1, int_ones, int_ones, 0, &cart);
    MPI_Comm_set_errhandler(cart, MPI_ERRORS_RETURN);
    MPI_Win_create(host, sizeof host, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    char name[] = "/tmp/device-memory-XXXXXX";
    if (mkstemp(name) < 0 || MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS) return 1;
    remove(name);
    try_all();
    /* Memory of the host is still accepted. */
    MPI_Request request;
    int sent = 7, received = 0;
    MPI_Irecv(&received, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(&sent, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("%d calls were made, %d of them did not refuse the buffer as they have to\n", calls, wrong);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_File_close(&file), MPI_Comm_free(&cart), MPI_Session_finalize(&session);
    MPI_Finalize();
    return wrong != 0 || received != 7;
}
