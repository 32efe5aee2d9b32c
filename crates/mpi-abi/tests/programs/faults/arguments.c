/* Wrong arguments: the class, a text that names function, argument and value, and a job that goes on. */
#include "../check.h"

static int size, rank;

/* Checks that a barrier and an exchange still work. */
static void go_on(int line)
{
    int in = -1, next = (rank + 1) % size, before = (rank + size - 1) % size;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Sendrecv(&rank, 1, MPI_INT, next, 1, &in, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    check(in == before, "the exchange after an error", __FILE__, line);
}

/* Checks that the call failed with this class, and that the text has all these words, which a null pointer
   ends. */
static void wrong(int line, int code, int class, const char *const *words)
{
    int found = -1, len = -1;
    char text[MPI_MAX_ERROR_STRING] = "";
    OK(MPI_Error_class(code, &found));
    OK(MPI_Error_string(code, text, &len));
    check(len == (int)strlen(text), "the length of the text", __FILE__, line);
    int whole = found == class;
    for (; *words; words++)
        whole = whole && strstr(text, *words);
    if (!whole) {
        failures++;
        fprintf(stderr, "%s:%d: class %d, not %d, or a word is missing: %s\n", __FILE__, line, found, class, text);
    }
    go_on(line);
}

#define WRONG(class, call, ...) wrong(__LINE__, call, class, (const char *const[]){__VA_ARGS__, NULL})

static void messages(void)
{
    int data[4] = {0};
    MPI_Request request;
    MPI_Status status;
    MPI_Comm world = MPI_COMM_WORLD;
    WRONG(MPI_ERR_RANK, MPI_Send(data, 1, MPI_INT, 4321, 0, world), "MPI_Send", "dest", "4321");
    WRONG(MPI_ERR_RANK, MPI_Isend(data, 1, MPI_INT, -77, 0, world, &request), "MPI_Isend", "dest", "-77");
    WRONG(MPI_ERR_RANK, MPI_Recv(data, 1, MPI_INT, 4321, 0, world, &status), "MPI_Recv", "source", "4321");
    WRONG(MPI_ERR_RANK, MPI_Probe(4321, 0, world, &status), "MPI_Probe", "source", "4321");
    WRONG(MPI_ERR_COUNT, MPI_Send(data, -5, MPI_INT, rank, 0, world), "MPI_Send", "count", "-5");
    WRONG(MPI_ERR_COUNT, MPI_Irecv(data, -5, MPI_INT, rank, 0, world, &request), "MPI_Irecv", "count", "-5");
    WRONG(MPI_ERR_TAG, MPI_Send(data, 1, MPI_INT, rank, -9, world), "MPI_Send", "tag", "-9");
    WRONG(MPI_ERR_TAG, MPI_Recv(data, 1, MPI_INT, rank, -9, world, &status), "MPI_Recv", "tag", "-9");
    WRONG(MPI_ERR_TAG, MPI_Send_init(data, 1, MPI_INT, rank, 2147483647, world, &request), "MPI_Send_init", "tag", "2147483647");
    WRONG(MPI_ERR_BUFFER, MPI_Send(NULL, 3, MPI_INT, rank, 0, world), "MPI_Send", "buffer", "3");
    WRONG(MPI_ERR_BUFFER, MPI_Recv(NULL, 3, MPI_INT, rank, 0, world, &status), "MPI_Recv", "buffer", "3");
    WRONG(MPI_ERR_TYPE, MPI_Send(data, 1, MPI_DATATYPE_NULL, rank, 0, world), "MPI_Send", "datatype");
    WRONG(MPI_ERR_COMM, MPI_Send(data, 1, MPI_INT, 0, 0, MPI_COMM_NULL), "MPI_Send", "communicator");
    int sizes = 0;
    WRONG(MPI_ERR_COMM, MPI_Comm_size(MPI_COMM_NULL, &sizes), "MPI_Comm_size", "communicator");
    WRONG(MPI_ERR_ARG, MPI_Comm_size(world, NULL), "MPI_Comm_size", "size", "null");
}

static void truncated(void)
{
    int two[2] = {1, 2}, got[2] = {0, 0}, next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    OK(MPI_Isend(two, 2, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[0]));
    WRONG(MPI_ERR_TRUNCATE, MPI_Recv(got, 1, MPI_INT, before, 3, MPI_COMM_WORLD, &statuses[0]), "MPI_Recv", "8", "4");
    OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(got[1] == 0);
    OK(MPI_Irecv(got, 1, MPI_INT, before, 3, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(two, 2, MPI_INT, next, 3, MPI_COMM_WORLD, &requests[1]));
    FAILS(MPI_ERR_IN_STATUS, MPI_Waitall(2, requests, statuses));
    FAILS(MPI_ERR_TRUNCATE, statuses[0].MPI_ERROR);
    OK(statuses[1].MPI_ERROR);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    go_on(__LINE__);
}

static void handles(void)
{
    int data = 0, flag;
    MPI_Comm freed, copy;
    MPI_Request request, old;
    MPI_Datatype pair, gone;
    MPI_Group group;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &freed));
    copy = freed;
    OK(MPI_Comm_free(&freed));
    CHECK(freed == MPI_COMM_NULL);
    WRONG(MPI_ERR_COMM, MPI_Barrier(copy), "MPI_Barrier", "freed");
    WRONG(MPI_ERR_COMM, MPI_Comm_free(&copy), "MPI_Comm_free", "freed");
    OK(MPI_Recv_init(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
    old = request;
    OK(MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
    WRONG(MPI_ERR_REQUEST, MPI_Start(&old), "MPI_Start", "freed");
    WRONG(MPI_ERR_REQUEST, MPI_Test(&old, &flag, MPI_STATUS_IGNORE), "MPI_Test", "freed");
    WRONG(MPI_ERR_REQUEST, MPI_Start(&request), "MPI_Start", "request");
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    WRONG(MPI_ERR_TYPE, MPI_Send(&data, 0, pair, rank, 0, MPI_COMM_WORLD), "MPI_Send", "commit");
    gone = pair;
    OK(MPI_Type_free(&pair));
    WRONG(MPI_ERR_TYPE, MPI_Send(&data, 0, gone, rank, 0, MPI_COMM_WORLD), "MPI_Send", "freed");
    WRONG(MPI_ERR_GROUP, MPI_Group_size(MPI_GROUP_NULL, &data), "MPI_Group_size", "group");
    WRONG(MPI_ERR_RANK, (MPI_Comm_group(MPI_COMM_WORLD, &group), MPI_Group_incl(group, 1, &(int){99}, &(MPI_Group){0})), "MPI_Group_incl", "99");
    OK(MPI_Group_free(&group));
}

static void user(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    (void)in, (void)inout, (void)len, (void)datatype;
}

static void collectives(void)
{
    int in = 1, out = 0;
    double d = 0, e = 0;
    MPI_Op op;
    MPI_Comm world = MPI_COMM_WORLD;
    WRONG(MPI_ERR_ROOT, MPI_Bcast(&in, 1, MPI_INT, 4321, world), "MPI_Bcast", "root", "4321");
    WRONG(MPI_ERR_ROOT, MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, -3, world), "MPI_Reduce", "root", "-3");
    WRONG(MPI_ERR_OP, MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_OP_NULL, world), "MPI_Allreduce", "op");
    WRONG(MPI_ERR_OP, MPI_Allreduce(&d, &e, 1, MPI_DOUBLE, MPI_BAND, world), "MPI_Allreduce", "MPI_BAND", "MPI_DOUBLE");
    WRONG(MPI_ERR_COUNT, MPI_Allreduce(&in, &out, -2, MPI_INT, MPI_SUM, world), "MPI_Allreduce", "count", "-2");
    WRONG(MPI_ERR_BUFFER, MPI_Allreduce(NULL, &out, 2, MPI_INT, MPI_SUM, world), "MPI_Allreduce", "buffer");
    WRONG(MPI_ERR_BUFFER, MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, world), "MPI_Bcast", "MPI_IN_PLACE");
    OK(MPI_Op_create(user, 1, &op));
    MPI_Op freed = op;
    OK(MPI_Op_free(&op));
    WRONG(MPI_ERR_OP, MPI_Allreduce(&in, &out, 1, MPI_INT, freed, world), "MPI_Allreduce", "freed");
    WRONG(MPI_ERR_OP, MPI_Op_free(&(MPI_Op){MPI_SUM}), "MPI_Op_free", "predefined");
    WRONG(MPI_ERR_TYPE, MPI_Bcast(&in, 1, MPI_DATATYPE_NULL, 0, world), "MPI_Bcast", "datatype");
}

static void others(void)
{
    int dims[2] = {0, 0}, n = 0;
    MPI_Info info;
    MPI_Datatype made;
    OK(MPI_Info_create(&info));
    WRONG(MPI_ERR_INFO_NOKEY, MPI_Info_delete(info, "a key"), "MPI_Info_delete", "a key");
    OK(MPI_Info_free(&info));
    WRONG(MPI_ERR_DIMS, MPI_Dims_create(7, 2, (dims[0] = 2, dims)), "MPI_Dims_create", "7");
    WRONG(MPI_ERR_TOPOLOGY, MPI_Cartdim_get(MPI_COMM_WORLD, &n), "MPI_Cartdim_get", "topology");
    WRONG(MPI_ERR_KEYVAL, MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, NULL), "MPI_Comm_set_attr", "key");
    WRONG(MPI_ERR_COUNT, MPI_Type_contiguous(-4, MPI_INT, &made), "MPI_Type_contiguous", "-4");
    WRONG(MPI_ERR_TYPE, MPI_Type_vector(1, 1, 1, MPI_DATATYPE_NULL, &made), "MPI_Type_vector", "datatype");
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    messages();
    truncated();
    handles();
    collectives();
    others();
    OK(MPI_Finalize());
    return result();
}
