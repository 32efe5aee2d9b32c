/* Views whose accesses go through other members, or through larger pieces of the file, as hints say. */
#include "file.h"
#include "file_dealt.h"
#include <signal.h>
#include <sys/resource.h>

static MPI_File fh;

/* Only the aggregator can access the file: the other members' data go through it, from other hosts too. */
static void one_aggregator(void)
{
    enum { COUNT = 50000 };
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "collective_buffering", "enable");
    MPI_Info_set(info, "cb_nodes", "1");
    MPI_Info_set(info, "cb_buffer_size", "65536");
    MPI_Datatype filetype = dealt(3, 1, rank);
    OK(MPI_File_set_size(fh, 0));
    OK(MPI_File_set_view(fh, 0, MPI_INT, filetype, "native", info));
    int *data = malloc(COUNT * sizeof *data), *back = calloc(COUNT, sizeof *back);
    for (int n = 0; n < COUNT; n++)
        data[n] = rank * 1000000 + n;
    MPI_Status status;
    /* The first write makes the aggregator's buffers, before the limit of this rank's files counts. */
    OK(MPI_File_write_at_all(fh, 0, back, COUNT, MPI_INT, &status));
    struct rlimit old, none;
    getrlimit(RLIMIT_FSIZE, &old);
    none = old;
    none.rlim_cur = 0;
    signal(SIGXFSZ, SIG_IGN);
    if (rank > 0)
        CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
    OK(MPI_File_write_at_all(fh, 0, data, COUNT, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == COUNT);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    OK(MPI_File_read_at_all(fh, 0, back, COUNT, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == COUNT && memcmp(data, back, COUNT * sizeof *data) == 0);
    /* If the file ends within the data, each member reads up to there. */
    together();
    OK(MPI_File_set_size(fh, (MPI_Offset)sizeof(int) * size * 3 * 1000));
    memset(back, 0, COUNT * sizeof *back);
    OK(MPI_File_read_at_all(fh, 0, back, COUNT, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == 3000 && memcmp(data, back, 3000 * sizeof *data) == 0);
    together();
    free(data);
    free(back);
    MPI_Type_free(&filetype);
    MPI_Info_free(&info);
}

/* Each member writes alone small stretches of the file, between those of the others: none of them is lost. */
static void sieved(void)
{
    enum { COUNT = 3000 };
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "enable");
    MPI_Info_set(info, "ind_wr_buffer_size", "8192");
    MPI_Datatype filetype = dealt(2, 1, rank);
    for (int way = 0; way < 3; way++) {
        OK(MPI_File_set_size(fh, 0));
        OK(MPI_File_set_view(fh, 4, MPI_INT, way == 2 && rank == 0 ? MPI_INT : filetype, "native", info));
        int data[COUNT], back[COUNT];
        for (int n = 0; n < COUNT; n++)
            data[n] = (way + 1) * 1000000 + rank * 10000 + n;
        MPI_Request requests[4];
        if (way == 1)
            /* Four requests of each member write at once. */
            for (int n = 0; n < 4; n++)
                OK(MPI_File_iwrite_at(fh, n * COUNT / 4, data + n * COUNT / 4, COUNT / 4, MPI_INT, &requests[n]));
        else if (way == 2 && rank == 0)
            /* Each member writes stretch after stretch alone. */
            for (int n = 0; n < COUNT; n += 2)
                OK(MPI_File_write_at(fh, n * size, data + n, 2, MPI_INT, MPI_STATUS_IGNORE));
        else
            OK(MPI_File_write_at(fh, 0, data, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        if (way == 1)
            OK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
        together();
        CHECK(size_of(fh) == 4 + (MPI_Offset)sizeof(int) * COUNT * size);
        OK(MPI_File_set_view(fh, 4, MPI_INT, filetype, "native", info));
        OK(MPI_File_read_at(fh, 0, back, COUNT, MPI_INT, MPI_STATUS_IGNORE));
        CHECK(memcmp(data, back, sizeof data) == 0);
        together();
    }
    MPI_Info none;
    MPI_Info_create(&none);
    MPI_Info_set(none, "romio_ds_write", "automatic");
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", none));
    MPI_Info_free(&none);
    MPI_Info_free(&info);
    MPI_Type_free(&filetype);
}

int main(int argc, char **argv)
{
    start_file(&argc, &argv, "hints");
    fh = fresh(MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    one_aggregator();
    sieved();
    OK(MPI_File_close(&fh));
    MPI_Finalize();
    return result();
}
