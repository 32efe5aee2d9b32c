// The C++ bindings that MPI 3.0 removed. The library for C++ needs more of the library for C than functions
// of MPI: for exceptions, error handlers, operations, attributes with functions in C++, generalized requests
// and data representations. Each rank prints its results.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#ifdef OPEN_MPI
// A library that was built without exceptions keeps the code here.
static int &kept_code = MPI::mpi_errno;
typedef const void *Value;
#define NO_COPY_OF_WIN MPI_WIN_NULL_COPY_FN
#else
static int kept_code;
typedef void *Value;
#define NO_COPY_OF_WIN MPI::Win::NULL_COPY_FN
#endif

static int wrong;

static void expect(bool holds, const char *what)
{
    if (!holds) {
        wrong++;
        std::printf("rank %d: not so: %s\n", MPI::COMM_WORLD.Get_rank(), what);
    }
}

static int handled;
static void handle(MPI::Comm &comm, int *code, ...)
{
    expect(comm.Get_size() > 0, "the handler gets a communicator");
    handled = MPI::Get_error_class(*code);
}
static void handle_of_win(MPI::Win &win, int *code, ...)
{
    expect(win != MPI::WIN_NULL, "the handler gets a window");
    handled = 100 + MPI::Get_error_class(*code);
}
static void handle_of_file(MPI::File &, int *code, ...)
{
    handled = 200 + MPI::Get_error_class(*code);
}

// Not commutative: the first operand is the result.
static void first(const void *in, void *into, int count, const MPI::Datatype &datatype)
{
    expect(datatype.Get_size() == 4, "the operation gets its datatype");
    std::memcpy(into, in, count * sizeof(int));
}

static int deleted, copied;
static int copy_of_comm(const MPI::Comm &comm, int, void *state, void *value, void *copy, bool &flag)
{
    copied += dynamic_cast<const MPI::Cartcomm *>(&comm) ? 100 : dynamic_cast<const MPI::Intercomm *>(&comm) ? 10 : 1;
    *(void **)copy = (char *)value + *(int *)state;
    flag = true;
    return MPI::SUCCESS;
}
static int delete_of_comm(MPI::Comm &, int, void *value, void *)
{
    deleted += (int)(long)value;
    return MPI::SUCCESS;
}
static int copy_of_type(const MPI::Datatype &type, int, void *, Value value, void *copy, bool &flag)
{
    expect(type.Get_size() == 8, "the function gets its datatype");
    *(Value *)copy = value;
    flag = true;
    return MPI::SUCCESS;
}
static int delete_of_type(MPI::Datatype &, int, void *value, void *)
{
    deleted += (int)(long)value;
    return MPI::SUCCESS;
}
static int delete_of_win(MPI::Win &, int, void *value, void *)
{
    deleted += (int)(long)value;
    return MPI::SUCCESS;
}

static int asked, freed;
static int query(void *state, MPI::Status &status)
{
    asked = *(int *)state;
    status.Set_elements(MPI::INT, 3);
    status.Set_cancelled(false);
    return MPI::SUCCESS;
}
static int release(void *state)
{
    freed = *(int *)state;
    return MPI::SUCCESS;
}
static int cancel(void *, bool)
{
    return MPI::SUCCESS;
}

static void errors()
{
    MPI::Intracomm comm = MPI::COMM_WORLD.Dup();
    comm.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    expect(comm.Get_errhandler() == MPI::ERRORS_THROW_EXCEPTIONS, "the handler is the constant");
    int caught = kept_code = 0, number = 0;
    try {
        comm.Send(&number, 1, MPI::INT, comm.Get_size() + 3, 0);
    } catch (MPI::Exception &failed) {
        caught = failed.Get_error_class();
        expect(std::strlen(failed.Get_error_string()) > 0, "an exception has a text");
    }
    // Debian's Open MPI was built without exceptions: it prints that.
    expect(caught == MPI::ERR_RANK || MPI::Get_error_class(kept_code) == MPI::ERR_RANK, "a wrong rank throws");

    MPI::Errhandler own = MPI::Comm::Create_errhandler(handle);
    comm.Set_errhandler(own);
    own.Free();
    comm.Send(&number, 1, MPI::INT, comm.Get_size() + 3, 0);
    expect(handled == MPI::ERR_RANK, "a wrong rank calls the handler");
    comm.Free();

    int memory = 0;
    MPI::Win win = MPI::Win::Create(&memory, sizeof memory, sizeof memory, MPI::INFO_NULL, MPI::COMM_WORLD);
    MPI::Errhandler of_win = MPI::Win::Create_errhandler(handle_of_win);
    win.Set_errhandler(of_win);
    win.Call_errhandler(MPI::ERR_ARG);
    expect(handled == 100 + MPI::ERR_ARG, "the window's handler is called");
    win.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
    caught = kept_code = 0;
    try {
        win.Call_errhandler(MPI::ERR_ARG);
    } catch (MPI::Exception &failed) {
        caught = failed.Get_error_class();
    }
    expect(caught == MPI::ERR_ARG || kept_code == MPI::ERR_ARG, "the window's error throws");
    of_win.Free();
    win.Free();

    MPI::Errhandler of_file = MPI::File::Create_errhandler(handle_of_file);
    MPI::FILE_NULL.Set_errhandler(of_file);
    MPI::File::Open(MPI::COMM_SELF, "/nowhere/at/all", MPI::MODE_RDONLY, MPI::INFO_NULL);
    expect(handled > 200, "a file that is not there calls the handler");
    MPI::FILE_NULL.Set_errhandler(MPI::ERRORS_RETURN);
    of_file.Free();
}

static void attributes()
{
    int five = 5;
    int key = MPI::Comm::Create_keyval(copy_of_comm, delete_of_comm, &five);
    MPI::Intracomm comm = MPI::COMM_WORLD.Dup();
    comm.Set_attr(key, (void *)1000);
    MPI::Intracomm dup = comm.Dup();
    void *value = 0;
    expect(dup.Get_attr(key, &value) && value == (void *)1005, "the copy has another value");
    dup.Free();
    int size = MPI::COMM_WORLD.Get_size();
    bool period = false;
    MPI::Cartcomm grid = comm.Create_cart(1, &size, &period, false);
    grid.Set_attr(key, (void *)2000);
    MPI::Cartcomm other = grid.Dup();
    other.Free();
    grid.Free();
    comm.Free();
    // Two deletions of the first two attributes, and two of the grids' attributes.
    expect(deleted == 1005 + 2005 + 2000 + 1000, "all values are deleted");
    expect(copied == 101, "the function sees which kind of communicator it is");
    MPI::Comm::Free_keyval(key);

    deleted = 0;
    int of_type = MPI::Datatype::Create_keyval(copy_of_type, delete_of_type, 0);
    MPI::Datatype two = MPI::INT.Create_contiguous(2);
    two.Set_attr(of_type, (void *)7);
    MPI::Datatype again = two.Dup();
    expect(again.Get_attr(of_type, &value) && value == (void *)7, "the datatype's copy has the value");
    again.Free();
    two.Free();
    MPI::Datatype::Free_keyval(of_type);
    int memory = 0, of_win = MPI::Win::Create_keyval(NO_COPY_OF_WIN, delete_of_win, 0);
    MPI::Win win = MPI::Win::Create(&memory, sizeof memory, sizeof memory, MPI::INFO_NULL, MPI::COMM_WORLD);
    win.Set_attr(of_win, (void *)50);
    win.Free();
    MPI::Win::Free_keyval(of_win);
    expect(deleted == 64, "values of datatypes and windows are deleted");
}

static void operations()
{
    int rank = MPI::COMM_WORLD.Get_rank(), mine[2] = {rank + 1, 9 - rank}, all[2] = {0, 0};
    MPI::Op op;
    op.Init(first, false);
    MPI::COMM_WORLD.Allreduce(mine, all, 2, MPI::INT, op);
    expect(all[0] == 1 && all[1] == 9, "the operation combines in the order of the ranks");
    op.Free();
}

static void generalized()
{
    int state = 42;
    MPI::Grequest request;
    request = request.Start(query, release, cancel, &state);
    request.Complete();
    MPI::Status status;
    request.Wait(status);
    expect(status.Get_count(MPI::INT) == 3 && asked == 42 && freed == 42, "a generalized request calls its functions");
}

#ifdef OPEN_MPI
static void convert(void *, MPI::Datatype &, int, void *, MPI::Offset, void *)
{
}
static void extent_of(const MPI::Datatype &type, MPI::Aint &extent, void *)
{
    extent = type.Get_size();
}

// Open MPI 4.1 refuses data representations; the library for C++ makes an object for one before it asks.
static void representation()
{
    MPI::FILE_NULL.Set_errhandler(MPI::ERRORS_RETURN);
    MPI::COMM_SELF.Set_errhandler(MPI::ERRORS_RETURN);
    MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_RETURN);
    MPI::Register_datarep("own", convert, convert, extent_of, 0);
    MPI::COMM_SELF.Set_errhandler(MPI::ERRORS_ARE_FATAL);
    MPI::COMM_WORLD.Set_errhandler(MPI::ERRORS_ARE_FATAL);
}

#endif

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    errors();
    attributes();
    operations();
    generalized();
#ifdef OPEN_MPI
    representation();
#endif
    std::printf("rank %d of %d: %d wrong\n", MPI::COMM_WORLD.Get_rank(), MPI::COMM_WORLD.Get_size(), wrong);
    MPI::Finalize();
    return wrong != 0;
}
