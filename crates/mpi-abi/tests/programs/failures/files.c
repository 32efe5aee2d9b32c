/* Ranks die at random moments during collective writes, until one is left. The survivors get errors, and go
 * on with a file of their own; data of successful calls stay. Arguments: a seed, the milliseconds within
 * which ranks die, a folder. */
#include "deaths.h"

/* Numbers of all ranks in a region of the file; regions, one for each call; numbers of a block; rounds of the
   last rank. */
enum { NUMBERS = 120000, REGIONS = 400, BLOCK = 10, ALONE = 3 };

static char path[300];
/* True for each region that this rank knows to be written. */
static char written[REGIONS];
static int data[NUMBERS], back[NUMBERS];

static int number(int region, int at)
{
    return region * 1000003 + at;
}

/* Fills in this rank's numbers: blocks are dealt to the ranks in turn. */
static int fill(int region, int rank, int size)
{
    int count = 0;
    for (int block = rank; block < NUMBERS / BLOCK; block += size)
        for (int n = 0; n < BLOCK; n++)
            data[count++] = number(region, block * BLOCK + n);
    return count;
}

/* Writes and reads regions from `*region` on, until a call fails or this rank was alone long enough. */
static int write_regions(MPI_File fh, MPI_Comm comm, int *region)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Datatype vector, filetype;
    MPI_Type_vector(1, BLOCK, BLOCK, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, (MPI_Aint)sizeof(int) * BLOCK * size, &filetype);
    MPI_Type_commit(&filetype);
    MPI_Type_free(&vector);
    int fine = 1;
    for (int alone = 0; fine && *region < REGIONS && (size > 1 || alone < ALONE); alone++) {
        int count = fill(*region, rank, size), part = count / 3;
        MPI_Offset start = ((MPI_Offset)*region * NUMBERS + rank * BLOCK) * (MPI_Offset)sizeof(int);
        MPI_Request request;
        fine = went_well(MPI_File_set_view(fh, start, MPI_INT, filetype, "native", MPI_INFO_NULL), "set_view")
            && went_well(MPI_File_write_all(fh, data, part, MPI_INT, MPI_STATUS_IGNORE), "write_all")
            && went_well(MPI_File_write_all_begin(fh, data + part, part, MPI_INT), "write_all_begin")
            && went_well(MPI_File_write_all_end(fh, data + part, MPI_STATUS_IGNORE), "write_all_end")
            && went_well(MPI_File_iwrite_at_all(fh, 2 * part, data + 2 * part, count - 2 * part, MPI_INT, &request),
                "iwrite_at_all")
            && went_well(MPI_Wait(&request, MPI_STATUS_IGNORE), "wait");
        if (fine) {
            written[(*region)++] = 1;
            fine = went_well(MPI_File_read_at_all(fh, 0, back, count, MPI_INT, MPI_STATUS_IGNORE), "read_at_all");
            CHECK(!fine || memcmp(data, back, (size_t)count * sizeof(int)) == 0);
        }
    }
    MPI_Type_free(&filetype);
    return fine;
}

/* Writes with the ranks of a communicator; returns true if all regions are done. */
static int work(MPI_Comm comm, int *region)
{
    int next;
    MPI_File fh;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "65536");
    MPI_Info_set(info, "cb_nodes", below(2) ? "2" : "1");
    STEP(MPI_Allreduce(region, &next, 1, MPI_INT, MPI_MAX, comm));
    *region = next + 1;
    STEP(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    MPI_Info_free(&info);
    int fine = write_regions(fh, comm, region);
    return went_well(MPI_File_close(&fh), "close") && fine;
}

/* Checks that the written regions are in the file. */
static void look_back(void)
{
    MPI_File fh;
    int regions = 0;
    OK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
    for (int region = 0; region < REGIONS; region++) {
        if (!written[region])
            continue;
        MPI_Offset at = (MPI_Offset)region * NUMBERS * (MPI_Offset)sizeof(int);
        OK(MPI_File_read_at(fh, at, back, NUMBERS, MPI_INT, MPI_STATUS_IGNORE));
        int wrong = 0;
        for (int n = 0; n < NUMBERS; n++)
            wrong += back[n] != number(region, n);
        CHECK(wrong == 0);
        regions++;
    }
    CHECK(regions >= ALONE);
    OK(MPI_File_close(&fh));
    printf("%d regions\n", regions);
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    int region = -1, size, done = 0;
    snprintf(path, sizeof path, "%s/canele-deaths-%d", argv[3], (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    choose_death(strtoul(argv[1], NULL, 10), (unsigned)atoi(argv[2]));
    MPI_Comm comm = MPI_COMM_WORLD;
    while (!done) {
        int fine = work(comm, &region);
        MPI_Comm_size(comm, &size);
        done = fine && size == 1;
        if (!fine)
            OK(MPIX_Comm_revoke(comm));
        int all_fine = fine;
        if (!went_well(MPIX_Comm_agree(comm, &all_fine), "agree") || !all_fine) {
            MPI_Comm left;
            OK(MPIX_Comm_shrink(comm, &left));
            if (comm != MPI_COMM_WORLD)
                OK(MPI_Comm_free(&comm));
            comm = left;
            done = 0;
        }
    }
    look_back();
    MPI_Finalize();
    return result();
}
