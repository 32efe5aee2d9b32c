/* Resources that a process holds: descriptors, mappings and memory, its own and those of its launcher. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    long descriptors, mappings, kilobytes;
} Held;

static long lines(const char *path)
{
    long n = 0;
    int c;
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    while ((c = getc(file)) != EOF) n += c == '\n';
    fclose(file);
    return n;
}

static long entries(const char *path)
{
    long n = 0;
    DIR *folder = opendir(path);
    if (folder == NULL) return 0;
    while (readdir(folder) != NULL) n++;
    closedir(folder);
    return n;
}

/* Returns the resident memory of the process alone; shared pages are counted as mappings. */
static long kilobytes(const char *path)
{
    long size = 0, resident = 0, shared = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%ld %ld %ld", &size, &resident, &shared) != 3) resident = shared = 0;
    fclose(file);
    return (resident - shared) * (sysconf(_SC_PAGESIZE) / 1024);
}

static Held held_by(int pid)
{
    char path[64];
    Held held;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    held.descriptors = entries(path);
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    held.mappings = lines(path);
    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    held.kilobytes = kilobytes(path);
    return held;
}

static int parent_of(int pid)
{
    char path[64], line[512] = "", *end;
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    if (fgets(line, sizeof line, file) != NULL && (end = strrchr(line, ')')) != NULL)
        if (sscanf(end + 1, " %*c %d", &parent) != 1) parent = 0;
    fclose(file);
    return parent;
}

/* The supervisor, which is the ranks' parent, and the launcher; none if the program was started alone. */
static int supervisor, launcher;

static void find_launcher(void)
{
    char path[64], name[64] = "";
    int parent = parent_of(getpid());
    snprintf(path, sizeof path, "/proc/%d/comm", parent);
    FILE *file = fopen(path, "r");
    if (file == NULL) return;
    if (fgets(name, sizeof name, file) != NULL && strstr(name, "supervisor") != NULL) {
        supervisor = parent;
        launcher = parent_of(parent);
    }
    fclose(file);
}
