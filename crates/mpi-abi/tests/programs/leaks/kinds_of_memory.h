/* Objects of memory and files that are made and freed: one function for each kind, after those of kinds.h. */
/* Memory and windows. */
static void memory_sent(void)
{
    void *memory;
    OK(MPI_Alloc_mem(LONG, MPI_INFO_NULL, &memory));
    memset(memory, 1, LONG);
    OK(MPI_Sendrecv(memory, LONG, MPI_CHAR, next, 0, in, LONG, MPI_CHAR, last, 0, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE));
    OK(MPI_Free_mem(memory));
}

static void put_and_free(MPI_Win win)
{
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&number, 1, MPI_INT, next, 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
}

static void win_create(void)
{
    MPI_Win win;
    void *memory;
    OK(MPI_Win_create(in, sizeof in, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    put_and_free(win);
    OK(MPI_Alloc_mem(5000, MPI_INFO_NULL, &memory));
    OK(MPI_Win_create(memory, 5000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    put_and_free(win);
    OK(MPI_Free_mem(memory));
}

static void win_allocate(void)
{
    MPI_Win win;
    void *memory;
    OK(MPI_Win_allocate(5000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    put_and_free(win);
}

static void win_shared(void)
{
    MPI_Win win;
    MPI_Comm here;
    MPI_Aint bytes;
    int unit;
    void *memory;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here));
    OK(MPI_Win_allocate_shared(1000, 1, MPI_INFO_NULL, here, &memory, &win));
    OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &memory));
    OK(MPI_Win_free(&win));
    OK(MPI_Comm_free(&here));
}

static void win_dynamic(void)
{
    MPI_Win win;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_attach(win, in, 100));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_detach(win, in));
    OK(MPI_Win_free(&win));
}

/* Files. */
static MPI_File opened(void)
{
    MPI_File file;
    OK(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    return file;
}

static void files(void)
{
    MPI_File file = opened();
    MPI_Request request;
    OK(MPI_File_write_shared(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_iwrite_at(file, 100 * rank, &number, 1, MPI_INT, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
}

static void file_views(void)
{
    MPI_File file = opened();
    MPI_Datatype every;
    OK(MPI_Type_vector(100, 1, ranks, MPI_INT, &every));
    OK(MPI_Type_commit(&every));
    OK(MPI_File_set_view(file, 4 * rank, MPI_INT, every, "native", MPI_INFO_NULL));
    OK(MPI_File_write_all(file, out, 1000, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
    OK(MPI_Type_free(&every));
}

static void file_missing(void)
{
    MPI_File file;
    FAILS(MPI_ERR_NO_SUCH_FILE,
          MPI_File_open(MPI_COMM_WORLD, "/nonexistent/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
}
