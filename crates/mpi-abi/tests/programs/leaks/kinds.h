/* Objects that are made and freed: one function for each kind, called by all ranks together. */
static int rank, ranks, next, last;
static char file_name[4200];
static char program[4096];

enum { LONG = 300000 };
static char out[LONG], in[LONG];
static int number, got;

static void exchange(MPI_Comm comm)
{
    OK(MPI_Sendrecv(&number, 1, MPI_INT, next, 0, &got, 1, MPI_INT, last, 0, comm, MPI_STATUS_IGNORE));
}

/* Communicators and groups. */
static void comm_dup(void)
{
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    exchange(comm);
    OK(MPI_Allreduce(&number, &got, 1, MPI_INT, MPI_SUM, comm));
    OK(MPI_Comm_free(&comm));
}

static void comm_idup(void)
{
    MPI_Comm comm;
    MPI_Request request;
    OK(MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&comm));
}

static void comm_split(void)
{
    MPI_Comm comm;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
    OK(MPI_Comm_free(&comm));
}

static void comm_unreceived(void)
{
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Send(&number, 1, MPI_INT, next, 0, comm));
    OK(MPI_Barrier(comm));
    OK(MPI_Comm_free(&comm));
}

static void comm_pending(void)
{
    MPI_Comm comm;
    MPI_Request request;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Irecv(&got, 1, MPI_INT, last, 0, comm, &request));
    OK(MPI_Send(&number, 1, MPI_INT, next, 0, comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void topologies(void)
{
    MPI_Comm comm;
    MPI_Request request;
    int dims[1] = {ranks}, periods[1] = {1}, two[2] = {0}, both[2];
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm));
    OK(MPI_Neighbor_alltoall(two, 1, MPI_INT, both, 1, MPI_INT, comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                      MPI_INFO_NULL, 0, &comm));
    OK(MPI_Ineighbor_alltoall(&number, 1, MPI_INT, &got, 1, MPI_INT, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Comm_free(&comm));
}

static void intercomms(void)
{
    MPI_Comm half, both, merged;
    if (ranks == 1) return;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 5, &both));
    OK(MPI_Intercomm_merge(both, rank % 2, &merged));
    OK(MPI_Barrier(both));
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_free(&both));
    OK(MPI_Comm_free(&half));
}

static void groups(void)
{
    MPI_Group world, mine, rest;
    MPI_Comm comm;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_incl(world, 1, &rank, &mine));
    OK(MPI_Group_difference(world, mine, &rest));
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, world, 7, &comm));
    OK(MPI_Comm_free(&comm));
    if (rest != MPI_GROUP_EMPTY) OK(MPI_Group_free(&rest));
    OK(MPI_Group_free(&mine));
    OK(MPI_Group_free(&world));
}

static void sessions(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    OK(MPI_Comm_create_from_group(group, "leaks", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    OK(MPI_Comm_free(&comm));
    OK(MPI_Group_free(&group));
    OK(MPI_Session_finalize(&session));
}

/* Objects of one process. */
static void datatypes(void)
{
    MPI_Datatype vector, resized, inner[1];
    int integers[4];
    MPI_Aint addresses[2];
    OK(MPI_Type_vector(3, 1, 2, MPI_INT, &vector));
    OK(MPI_Type_create_resized(vector, 0, 100, &resized));
    OK(MPI_Type_commit(&resized));
    OK(MPI_Type_get_contents(resized, 0, 2, 1, integers, addresses, inner));
    OK(MPI_Type_free(&inner[0]));
    OK(MPI_Type_free(&vector));
    OK(MPI_Type_free(&resized));
}

static void infos(void)
{
    MPI_Info info, copy;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "key", "value"));
    OK(MPI_Info_dup(info, &copy));
    OK(MPI_Info_free(&info));
    OK(MPI_Info_free(&copy));
    OK(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
    OK(MPI_Info_free(&info));
}

static void combine(void *a, void *b, int *n, MPI_Datatype *of)
{
    (void)a, (void)b, (void)n, (void)of;
}

static void handle(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

static void operations(void)
{
    MPI_Op op;
    MPI_Errhandler handler;
    OK(MPI_Op_create(combine, 1, &op));
    OK(MPI_Op_free(&op));
    OK(MPI_Comm_create_errhandler(handle, &handler));
    OK(MPI_Errhandler_free(&handler));
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler));
    OK(MPI_Errhandler_free(&handler));
}

static void keyvals(void)
{
    int key;
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL));
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
    OK(MPI_Comm_free_keyval(&key));
}

static void error_classes(void)
{
    int class, code;
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_string(code, "text"));
    OK(MPI_Remove_error_string(code));
    OK(MPI_Remove_error_code(code));
    OK(MPI_Remove_error_class(class));
}

static void refusals(void)
{
    FAILS(MPI_ERR_RANK, MPI_Send(&number, 1, MPI_INT, 9999, 0, MPI_COMM_WORLD));
}

/* Requests. */
static void freed_sends(void)
{
    MPI_Request request;
    OK(MPI_Isend(&number, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Request_free(&request));
    OK(MPI_Recv(&got, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Isend(out, LONG, MPI_CHAR, next, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Request_free(&request));
    OK(MPI_Recv(in, LONG, MPI_CHAR, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void cancelled(void)
{
    MPI_Request request;
    OK(MPI_Irecv(&got, 1, MPI_INT, last, 9, MPI_COMM_WORLD, &request));
    OK(MPI_Cancel(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void matched(void)
{
    MPI_Message message;
    OK(MPI_Send(&number, 1, MPI_INT, next, 0, MPI_COMM_WORLD));
    OK(MPI_Mprobe(last, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    OK(MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
}

static void persistent(void)
{
    MPI_Request both[2], all;
    OK(MPI_Send_init(&number, 1, MPI_INT, next, 0, MPI_COMM_WORLD, &both[0]));
    OK(MPI_Recv_init(&got, 1, MPI_INT, last, 0, MPI_COMM_WORLD, &both[1]));
    OK(MPI_Startall(2, both));
    OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    OK(MPI_Request_free(&both[0]));
    OK(MPI_Request_free(&both[1]));
    OK(MPI_Allreduce_init(out, in, LONG, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &all));
    OK(MPI_Start(&all));
    OK(MPI_Wait(&all, MPI_STATUS_IGNORE));
    OK(MPI_Request_free(&all));
}

static void partitioned(void)
{
    MPI_Request both[2];
    OK(MPI_Psend_init(out, 4, 2, MPI_INT, next, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]));
    OK(MPI_Precv_init(in, 4, 2, MPI_INT, last, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]));
    OK(MPI_Startall(2, both));
    for (int i = 0; i < 4; i++) OK(MPI_Pready(i, both[0]));
    OK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    OK(MPI_Request_free(&both[0]));
    OK(MPI_Request_free(&both[1]));
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 0);
    return MPI_Status_set_cancelled(status, 0);
}

static int drop(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void generalized(void)
{
    MPI_Request request;
    OK(MPI_Grequest_start(query, drop, cancel, NULL, &request));
    OK(MPI_Grequest_complete(request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void collectives(void)
{
    MPI_Request request;
    MPI_Datatype pair;
    int two[2] = {0};
    OK(MPI_Type_contiguous(2, MPI_INT, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_Ibcast(two, 1, pair, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Type_free(&pair));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Allreduce(out, in, LONG, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD));
    OK(MPI_Bcast(in, LONG, MPI_CHAR, 0, MPI_COMM_WORLD));
}

static void buffers(void)
{
    static char room[10000];
    void *detached;
    int bytes;
    OK(MPI_Buffer_attach(room, sizeof room));
    OK(MPI_Bsend(&number, 1, MPI_INT, next, 0, MPI_COMM_WORLD));
    OK(MPI_Recv(&got, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Buffer_detach(&detached, &bytes));
}

/* Names, ports and processes. */
static void names(void)
{
    char name[64], port[MPI_MAX_PORT_NAME];
    snprintf(name, sizeof name, "leaks-%d", rank);
    OK(MPI_Open_port(MPI_INFO_NULL, port));
    OK(MPI_Publish_name(name, MPI_INFO_NULL, port));
    OK(MPI_Unpublish_name(name, MPI_INFO_NULL, port));
    OK(MPI_Close_port(port));
}

static void ports(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm with;
    if (ranks == 1) return;
    if (rank == 0) {
        OK(MPI_Open_port(MPI_INFO_NULL, port));
        OK(MPI_Send(port, sizeof port, MPI_CHAR, 1, 0, MPI_COMM_WORLD));
        OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &with));
        OK(MPI_Comm_disconnect(&with));
        OK(MPI_Close_port(port));
    } else if (rank == 1) {
        OK(MPI_Recv(port, sizeof port, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &with));
        OK(MPI_Comm_disconnect(&with));
    }
}

static void spawns(void)
{
    MPI_Comm children;
    if (ranks == 1) return;
    OK(MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                      MPI_ERRCODES_IGNORE));
    OK(MPI_Barrier(children));
    OK(MPI_Comm_disconnect(&children));
}

static void tools(void)
{
    int provided;
    MPI_T_pvar_session session;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
}
