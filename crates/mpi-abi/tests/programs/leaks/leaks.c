/* Objects that are made and freed leave nothing behind: descriptors, mappings and memory are equal after many
 * rounds and after few.
 * The first argument is the number of rounds. The second is the beginning of a kind's name; without it, all
 * kinds run. */
#include "../check.h"
#include "measure.h"
#include "kinds.h"
#include "kinds_of_memory.h"

typedef struct {
    const char *name;
    void (*round)(void);
    /* The divisor of the rounds, 1 for cheap kinds. */
    int cost;
    /* Bytes that a round may add to memory for ever, because the library remembers each process. */
    int remembered, remembered_by_launcher;
} Kind;

static const Kind KINDS[] = {
    {"comm_dup", comm_dup, 1, 0, 0},
    {"comm_idup", comm_idup, 1, 0, 0},
    {"comm_split", comm_split, 1, 0, 0},
    {"comm_unreceived", comm_unreceived, 1, 0, 0},
    {"comm_pending", comm_pending, 1, 0, 0},
    {"topologies", topologies, 1, 0, 0},
    {"intercomms", intercomms, 2, 0, 0},
    {"groups", groups, 1, 0, 0},
    {"sessions", sessions, 2, 0, 0},
    {"datatypes", datatypes, 1, 0, 0},
    {"infos", infos, 1, 0, 0},
    {"operations", operations, 1, 0, 0},
    {"keyvals", keyvals, 1, 0, 0},
    {"error_classes", error_classes, 1, 0, 0},
    {"refusals", refusals, 1, 0, 0},
    {"freed_sends", freed_sends, 1, 0, 0},
    {"cancelled", cancelled, 1, 0, 0},
    {"matched", matched, 1, 0, 0},
    {"persistent", persistent, 2, 0, 0},
    {"partitioned", partitioned, 1, 0, 0},
    {"generalized", generalized, 1, 0, 0},
    {"collectives", collectives, 2, 0, 0},
    {"buffers", buffers, 1, 0, 0},
    {"memory_sent", memory_sent, 2, 0, 0},
    {"win_create", win_create, 4, 0, 0},
    {"win_allocate", win_allocate, 4, 0, 0},
    {"win_shared", win_shared, 4, 0, 0},
    {"win_dynamic", win_dynamic, 4, 0, 0},
    {"files", files, 4, 0, 0},
    {"file_views", file_views, 4, 0, 0},
    {"file_missing", file_missing, 1, 0, 0},
    {"names", names, 1, 0, 0},
    {"ports", ports, 4, 0, 0},
    /* The numbers of two ranks are never used again. */
    {"spawns", spawns, 40, 8 << 10, 4 << 10},
    {"tools", tools, 1, 0, 0},
};

/* Kilobytes by which memory may differ, because an allocator keeps some for itself. */
enum { SLACK = 384 };
/* Mappings for growing tables of remembered processes: an allocator maps large tables by themselves. */
enum { TABLES = 16 };
/* Checks, a hundredth of a second apart, until returned resources are gone: the launcher closes descriptors a
   while later. */
enum { LOOKS = 3000 };

static int is_more(Held now, Held before, long remembered)
{
    return now.descriptors > before.descriptors || now.mappings > before.mappings + (remembered > 0 ? TABLES : 2)
           || now.kilobytes > before.kilobytes + SLACK + remembered / 1024;
}

static void compare(const char *who, const Kind *kind, int pid, Held before, long remembered)
{
    Held now = held_by(pid);
    for (int i = 0; i < LOOKS && is_more(now, before, remembered); i++) {
        int flag;
        OK(MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
        usleep(10000);
        now = held_by(pid);
    }
    if (is_more(now, before, remembered)) {
        failures++;
        fprintf(stderr, "rank %d, %s: %s holds %ld descriptors, %ld mappings and %ld KB more than before\n", rank,
                kind->name, who, now.descriptors - before.descriptors, now.mappings - before.mappings,
                now.kilobytes - before.kilobytes);
    }
}

static void measure(const Kind *kind, int rounds)
{
    int n = rounds / kind->cost, few = n / 10 + 3;
    for (int i = 0; i < few; i++) kind->round();
    MPI_Barrier(MPI_COMM_WORLD);
    /* Resources of the first rounds may still be in use; measured now, they would hide a leak. */
    usleep(20000);
    Held own = held_by(getpid()), launchers = held_by(launcher), supervisors = held_by(supervisor);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) kind->round();
    MPI_Barrier(MPI_COMM_WORLD);
    compare("it", kind, getpid(), own, (long)n * kind->remembered);
    if (rank == 0 && launcher != 0) {
        compare("the launcher", kind, launcher, launchers, (long)n * kind->remembered_by_launcher);
        compare("the supervisor", kind, supervisor, supervisors, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    start(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        OK(MPI_Barrier(parent));
        OK(MPI_Comm_disconnect(&parent));
        MPI_Finalize();
        return failures != 0;
    }
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
    next = (rank + 1) % ranks;
    last = (rank + ranks - 1) % ranks;
    CHECK(argc > 1 && readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    snprintf(file_name, sizeof file_name, "%s.%d.data", program, getpid());
    OK(MPI_Bcast(file_name, sizeof file_name, MPI_CHAR, 0, MPI_COMM_WORLD));
    find_launcher();
    /* The library keeps the texts of the last errors in a table of a fixed size, which is full after this
       loop. */
    for (int i = 0; i < 10000; i++) refusals();
    for (size_t i = 0; argc > 1 && i < sizeof KINDS / sizeof *KINDS; i++)
        if (argc == 2 || strncmp(KINDS[i].name, argv[2], strlen(argv[2])) == 0) {
            double began = MPI_Wtime();
            measure(&KINDS[i], atoi(argv[1]));
            if (rank == 0) fprintf(stderr, "%s: %.3f s\n", KINDS[i].name, MPI_Wtime() - began);
        }
    if (rank == 0) unlink(file_name);
    MPI_Finalize();
    return result();
}
