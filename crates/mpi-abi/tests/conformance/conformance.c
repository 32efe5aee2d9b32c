/* Results of many calls, line by line, equal for all implementations. Rank 0 prints all ranks' lines. */
#include "conformance.h"

#include <stdarg.h>

int size, rank;

static char *lines;
static size_t used, room;

void say(const char *format, ...)
{
    va_list arguments;
    if (room - used < 4096) {
        room = room * 2 + 8192;
        lines = realloc(lines, room);
        if (lines == NULL)
            abort();
    }
    va_start(arguments, format);
    used += (size_t)vsnprintf(lines + used, 4000, format, arguments);
    va_end(arguments);
    lines[used++] = '\n';
    lines[used] = 0;
}

void say_ints(const char *what, const int *numbers, int n)
{
    char text[2000];
    int at = 0;
    text[0] = 0;
    for (int i = 0; i < n && at < 1900; i++)
        at += sprintf(text + at, " %d", numbers[i]);
    say("%s:%s", what, text);
}

void say_doubles(const char *what, const double *numbers, int n)
{
    char text[2000];
    int at = 0;
    text[0] = 0;
    for (int i = 0; i < n && at < 1900; i++)
        at += sprintf(text + at, " %.17g", numbers[i]);
    say("%s:%s", what, text);
}

/* Adds the first bytes, and a hash (FNV-1a) of all, to the lines of this rank. */
void say_bytes(const char *what, const void *bytes, int n)
{
    char text[65] = "";
    unsigned hash = 2166136261u;
    for (int i = 0; i < n; i++) {
        unsigned char byte = ((const unsigned char *)bytes)[i];
        hash = (hash ^ byte) * 16777619u;
        if (i < 32)
            sprintf(text + 2 * i, "%02x", byte);
    }
    say("%s: %s%s %08x", what, text, n > 32 ? "..." : "", hash);
}

void say_code(const char *call, int code)
{
    static const struct {
        int class;
        const char *name;
    } classes[] = {
        {MPI_SUCCESS, "success"},      {MPI_ERR_BUFFER, "buffer"},         {MPI_ERR_COUNT, "count"},
        {MPI_ERR_TYPE, "type"},        {MPI_ERR_TAG, "tag"},               {MPI_ERR_COMM, "comm"},
        {MPI_ERR_RANK, "rank"},        {MPI_ERR_REQUEST, "request"},       {MPI_ERR_ROOT, "root"},
        {MPI_ERR_GROUP, "group"},      {MPI_ERR_OP, "op"},                 {MPI_ERR_TOPOLOGY, "topology"},
        {MPI_ERR_DIMS, "dims"},        {MPI_ERR_ARG, "arg"},               {MPI_ERR_TRUNCATE, "truncate"},
        {MPI_ERR_IN_STATUS, "status"}, {MPI_ERR_KEYVAL, "keyval"},         {MPI_ERR_INFO, "info"},
        {MPI_ERR_OTHER, "other"},      {MPI_ERR_INFO_NOKEY, "info_nokey"}, {MPI_ERR_INFO_KEY, "info_key"},
        {MPI_ERR_WIN, "win"},          {MPI_ERR_RMA_SYNC, "rma_sync"},     {MPI_ERR_RMA_RANGE, "rma_range"},
        {MPI_ERR_FILE, "file"},        {MPI_ERR_NO_SUCH_FILE, "no_such_file"}, {MPI_ERR_FILE_EXISTS, "file_exists"},
        {MPI_ERR_AMODE, "amode"},      {MPI_ERR_ACCESS, "access"},         {MPI_ERR_READ_ONLY, "read_only"},
        {MPI_ERR_BAD_FILE, "bad_file"}, {MPI_ERR_IO, "io"},                {MPI_ERR_NOT_SAME, "not_same"},
        {MPI_ERR_UNSUPPORTED_DATAREP, "unsupported_datarep"},
        {MPI_ERR_UNSUPPORTED_OPERATION, "unsupported_operation"},
        {MPI_ERR_SPAWN, "spawn"},      {MPI_ERR_PORT, "port"},             {MPI_ERR_SERVICE, "service"},
        {MPI_ERR_NAME, "name"},
    };
    int class = -1;
    MPI_Error_class(code, &class);
    for (size_t n = 0; n < sizeof classes / sizeof *classes; n++)
        if (classes[n].class == class) {
            say("%s -> %s", call, classes[n].name);
            return;
        }
    say("%s -> class %d", call, class);
}

const char *relation(int result)
{
    return result == MPI_IDENT       ? "identical"
           : result == MPI_CONGRUENT ? "congruent"
           : result == MPI_SIMILAR   ? "similar"
           : result == MPI_UNEQUAL   ? "unequal"
                                     : "?";
}

void say_status(const char *what, const MPI_Status *status, MPI_Datatype datatype)
{
    int count = -1, elements = -1, cancelled = -1;
    MPI_Get_count(status, datatype, &count);
    MPI_Get_elements(status, datatype, &elements);
    MPI_Test_cancelled(status, &cancelled);
    say("%s: source %d tag %d count %d elements %d cancelled %d", what,
        status->MPI_SOURCE == MPI_ANY_SOURCE  ? -1
        : status->MPI_SOURCE == MPI_PROC_NULL ? -2
                                              : status->MPI_SOURCE,
        status->MPI_TAG == MPI_ANY_TAG ? -1 : status->MPI_TAG, count == MPI_UNDEFINED ? -3 : count, elements,
        cancelled);
}

/* Returns the lines of a rank in this part, with zeros for the ends of lines. */
static char *said(int from, int *len)
{
    MPI_Status status;
    char *text;
    if (from == 0) {
        *len = (int)used;
        return lines;
    }
    MPI_Probe(from, 9, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, len);
    text = malloc((size_t)*len + 1);
    MPI_Recv(text, *len, MPI_CHAR, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return text;
}

/* Rank 0 prints the lines of each rank in this part; a line that all ranks have is printed once. */
static void print(const char *part)
{
    enum { MOST = 8 };
    char *texts[MOST], *at[MOST], *ends[MOST];
    int rest = size;
    for (size_t n = 0; n < used; n++)
        if (lines[n] == '\n')
            lines[n] = 0;
    if (rank != 0)
        MPI_Send(lines, (int)used, MPI_CHAR, 0, 9, MPI_COMM_WORLD);
    for (int n = 0; rank == 0 && n < size; n++) {
        int len;
        at[n] = texts[n] = said(n, &len);
        ends[n] = texts[n] + len;
    }
    while (rank == 0 && rest > 0) {
        int same = 1;
        for (int n = 1; n < size; n++)
            same = same && at[0] < ends[0] && at[n] < ends[n] && strcmp(at[0], at[n]) == 0;
        if (same)
            printf("%s: %s\n", part, at[0]);
        rest = 0;
        for (int n = 0; n < size; n++) {
            if (at[n] == ends[n])
                continue;
            if (!same)
                printf("%s, rank %d: %s\n", part, n, at[n]);
            at[n] += strlen(at[n]) + 1;
            rest += at[n] < ends[n];
        }
    }
    for (int n = 1; rank == 0 && n < size; n++)
        free(texts[n]);
    used = 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {
        {"blocking", blocking},         {"nonblocking", nonblocking},
        {"persistent", persistent},     {"datatypes", datatypes},
        {"contents", contents},         {"packing", packing},
        {"groups", groups},             {"communicators", communicators},
        {"topologies", topologies},     {"neighbours", neighbours},
        {"collectives", collectives},   {"uneven", uneven},
        {"operations", operations},     {"intercommunicators", intercommunicators},
        {"attributes", attributes},     {"infos", infos},
        {"errors", errors},             {"windows", windows},
        {"sharing", sharing},           {"onesided", onesided},
        {"files", files},               {"views", views},
        {"pointers", pointers},         {"processes", processes},
        {"tools", tools},
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (size > 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (is_child(argc, argv)) {
        MPI_Finalize();
        return 0;
    }
    for (size_t n = 0; n < sizeof parts / sizeof *parts; n++) {
        /* A single part can be run to find a wrong result. */
        if (argc == 2 && strcmp(argv[1], parts[n].name) != 0)
            continue;
        say("begins");
        parts[n].run();
        print(parts[n].name);
    }
    MPI_Finalize();
    return 0;
}
