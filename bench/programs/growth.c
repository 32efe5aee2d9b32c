/* Nanoseconds for each object at 1, 100, 10,000 and 1,000,000 of them alive or under way on two ranks. A
 * figure that is not flat grows with the number of objects. Each figure is the fastest of a few passes that
 * make and free all objects. A size is left out if the previous one predicts a pass that takes too long, or
 * if implementations permit fewer objects. The third argument names one case. */
#include "measure.h"

enum { MOST = 1000000, PASSES = 3, OBJECTS = 1000, TAG = 7 };
static const double LONGEST_S = 4;

static union { int ints[MOST + 1]; double doubles[MOST + 1]; } data;
static int lengths[MOST], places[MOST];
static MPI_Aint addresses[MOST];
static MPI_Request requests[MOST];
static MPI_Datatype types[MOST];
static MPI_Group groups[MOST];
static MPI_Info infos[MOST];
static MPI_Errhandler handlers[MOST];
static MPI_Op ops[MOST];
static MPI_Comm comms[MOST];
static void *memory[MOST];
static int keys[MOST];

/* Objects of the process. */

static void free_types(long n) { for (long i = 0; i < n; i++) MPI_Type_free(&types[i]); }
static void contiguous(long n) { for (long i = 0; i < n; i++) { MPI_Type_contiguous(3, MPI_INT, &types[i]); MPI_Type_commit(&types[i]); } free_types(n); }
static void vector(long n) { for (long i = 0; i < n; i++) { MPI_Type_vector(3, 1, 2, MPI_INT, &types[i]); MPI_Type_commit(&types[i]); } free_types(n); }
static void dup_type(long n) { for (long i = 0; i < n; i++) MPI_Type_dup(MPI_INT, &types[i]); free_types(n); }
static void indexed(long n) { MPI_Type_indexed((int)n, lengths, places, MPI_INT, types); MPI_Type_commit(types); free_types(1); }
static void indexed_block(long n) { MPI_Type_create_indexed_block((int)n, 1, places, MPI_INT, types); MPI_Type_commit(types); free_types(1); }
static void hindexed(long n) { MPI_Type_create_hindexed((int)n, lengths, addresses, MPI_INT, types); MPI_Type_commit(types); free_types(1); }
static void structure(long n) {
    for (long i = 0; i < n; i++) types[i] = i % 2 ? MPI_DOUBLE : MPI_INT;
    MPI_Datatype made;
    MPI_Type_create_struct((int)n, lengths, addresses, types, &made);
    MPI_Type_commit(&made);
    MPI_Type_free(&made);
}
static void indexed_vectors(long n) {
    MPI_Datatype inner, made;
    MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
    MPI_Type_create_hindexed((int)n, lengths, addresses, inner, &made);
    MPI_Type_commit(&made);
    MPI_Type_free(&made);
    MPI_Type_free(&inner);
}
static void contents(long n) {
    MPI_Datatype inner;
    MPI_Type_create_indexed_block((int)n, 1, places, MPI_INT, types);
    int integers, count, inners, combiner;
    MPI_Type_get_envelope(types[0], &integers, &count, &inners, &combiner);
    if (integers <= MOST) MPI_Type_get_contents(types[0], integers, count, inners, data.ints, addresses, &inner);
    free_types(1);
}
static void group(long n) {
    MPI_Group all;
    int first = 0;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (long i = 0; i < n; i++) MPI_Group_incl(all, 1, &first, &groups[i]);
    for (long i = 0; i < n; i++) MPI_Group_free(&groups[i]);
    MPI_Group_free(&all);
}
static void group_union(long n) {
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (long i = 0; i < n; i++) MPI_Group_union(all, all, &groups[i]);
    for (long i = 0; i < n; i++) MPI_Group_free(&groups[i]);
    MPI_Group_free(&all);
}
static void translate(long n) {
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    memset(lengths, 0, n * sizeof *lengths);
    MPI_Group_translate_ranks(all, (int)n, lengths, all, data.ints);
    for (long i = 0; i < n; i++) lengths[i] = 1;
    MPI_Group_free(&all);
}
static void keyval(long n) {
    for (long i = 0; i < n; i++) MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keys[i], NULL);
    for (long i = 0; i < n; i++) MPI_Comm_free_keyval(&keys[i]);
}
static void attribute(long n) {
    for (long i = 0; i < n; i++) MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keys[i], NULL);
    for (long i = 0; i < n; i++) MPI_Comm_set_attr(MPI_COMM_SELF, keys[i], &keys[i]);
    for (long i = 0; i < n; i++) {
        void *value;
        int found;
        MPI_Comm_get_attr(MPI_COMM_SELF, keys[i], &value, &found);
        must_be(found, 1, "an attribute");
    }
    for (long i = 0; i < n; i++) MPI_Comm_delete_attr(MPI_COMM_SELF, keys[i]);
    for (long i = 0; i < n; i++) MPI_Comm_free_keyval(&keys[i]);
}
static void info(long n) {
    for (long i = 0; i < n; i++) { MPI_Info_create(&infos[i]); MPI_Info_set(infos[i], "key", "value"); }
    for (long i = 0; i < n; i++) MPI_Info_free(&infos[i]);
}
static void info_keys(long n) {
    MPI_Info_create(infos);
    for (long i = 0; i < n; i++) { char key[32]; sprintf(key, "key_%ld", i); MPI_Info_set(infos[0], key, "value"); }
    for (long i = 0; i < n; i++) { char key[32]; sprintf(key, "key_%ld", i); MPI_Info_delete(infos[0], key); }
    MPI_Info_free(infos);
}
static void handle_error(MPI_Comm *comm, int *code, ...) { (void)comm; (void)code; }
static void errhandler(long n) {
    for (long i = 0; i < n; i++) MPI_Comm_create_errhandler(handle_error, &handlers[i]);
    for (long i = 0; i < n; i++) MPI_Errhandler_free(&handlers[i]);
}
static void reduce(void *in, void *inout, int *len, MPI_Datatype *of) { (void)in; (void)inout; (void)len; (void)of; }
static void op(long n) {
    for (long i = 0; i < n; i++) MPI_Op_create(reduce, 1, &ops[i]);
    for (long i = 0; i < n; i++) MPI_Op_free(&ops[i]);
}
static void alloc_mem(long n) {
    for (long i = 0; i < n; i++) MPI_Alloc_mem(64, MPI_INFO_NULL, &memory[i]);
    for (long i = 0; i < n; i++) MPI_Free_mem(memory[i]);
}
static void persistent(long n) {
    for (long i = 0; i < n; i++) MPI_Recv_init(&data.ints[i], 1, MPI_INT, !rank, TAG, MPI_COMM_WORLD, &requests[i]);
    for (long i = 0; i < n; i++) MPI_Request_free(&requests[i]);
}
static int query(void *state, MPI_Status *status) {
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}
static int gone(void *state) { (void)state; return MPI_SUCCESS; }
static int cancel(void *state, int complete) { (void)state; (void)complete; return MPI_SUCCESS; }
static void generalized(long n) {
    for (long i = 0; i < n; i++) MPI_Grequest_start(query, gone, cancel, NULL, &requests[i]);
    for (long i = 0; i < n; i++) MPI_Grequest_complete(requests[i]);
    MPI_Waitall((int)n, requests, MPI_STATUSES_IGNORE);
}

/* Requests: tests while none has ended, and waits when only the last one has. */

static void start_generalized(long n) { for (long i = 0; i < n; i++) MPI_Grequest_start(query, gone, cancel, NULL, &requests[i]); }
static void end_generalized(long n) {
    for (long i = 0; i < n; i++) if (requests[i] != MPI_REQUEST_NULL) MPI_Grequest_complete(requests[i]);
    MPI_Waitall((int)n, requests, MPI_STATUSES_IGNORE);
}
static void testall(long n) { int flag; start_generalized(n); MPI_Testall((int)n, requests, &flag, MPI_STATUSES_IGNORE); end_generalized(n); }
static void testany(long n) { int at, flag; start_generalized(n); MPI_Testany((int)n, requests, &at, &flag, MPI_STATUS_IGNORE); end_generalized(n); }
static void testsome(long n) { int done; start_generalized(n); MPI_Testsome((int)n, requests, &done, data.ints, MPI_STATUSES_IGNORE); end_generalized(n); }
static void waitany(long n) { int at; start_generalized(n); MPI_Grequest_complete(requests[n - 1]); MPI_Waitany((int)n, requests, &at, MPI_STATUS_IGNORE); end_generalized(n); }
static void waitsome(long n) { int done; start_generalized(n); MPI_Grequest_complete(requests[n - 1]); MPI_Waitsome((int)n, requests, &done, data.ints, MPI_STATUSES_IGNORE); end_generalized(n); }

/* Messages from rank 0 to rank 1. */

static void synchronise(void) { MPI_Barrier(MPI_COMM_WORLD); }
static int tag(long i) { return (int)(i % 30000); }
static void send_all(long n) { for (long i = 0; i < n; i++) MPI_Isend(&data.ints[i], 1, MPI_INT, 1, tag(i), MPI_COMM_WORLD, &requests[i]); }
static void receive_all(long n, int source) { for (long i = 0; i < n; i++) MPI_Irecv(&data.ints[i], 1, MPI_INT, source, tag(i), MPI_COMM_WORLD, &requests[i]); }
static void wait_all(long n) { MPI_Waitall((int)n, requests, MPI_STATUSES_IGNORE); }
static void posted(long n) { if (rank == 1) receive_all(n, 0); synchronise(); if (rank == 0) send_all(n); wait_all(n); }
static void any_source(long n) { if (rank == 1) receive_all(n, MPI_ANY_SOURCE); synchronise(); if (rank == 0) send_all(n); wait_all(n); }
static void unexpected(long n) { if (rank == 0) send_all(n); synchronise(); if (rank == 1) receive_all(n, 0); wait_all(n); }
static void issend(long n) {
    if (rank == 1) receive_all(n, 0);
    synchronise();
    if (rank == 0) for (long i = 0; i < n; i++) MPI_Issend(&data.ints[i], 1, MPI_INT, 1, tag(i), MPI_COMM_WORLD, &requests[i]);
    wait_all(n);
}
static void probe(long n) {
    if (rank == 0) send_all(n);
    synchronise();
    if (rank == 1) for (long i = 0; i < n; i++) {
        MPI_Status status;
        MPI_Probe(0, tag(i), MPI_COMM_WORLD, &status);
        MPI_Recv(&data.ints[i], 1, MPI_INT, 0, tag(i), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    else wait_all(n);
}
static void cancelled(long n) {
    receive_all(n, !rank);
    for (long i = n - 1; i >= 0; i--) MPI_Cancel(&requests[i]);
    wait_all(n);
}
static void started(long n) {
    for (long i = 0; i < n; i++) {
        if (rank) MPI_Recv_init(&data.ints[i], 1, MPI_INT, 0, tag(i), MPI_COMM_WORLD, &requests[i]);
        else MPI_Send_init(&data.ints[i], 1, MPI_INT, 1, tag(i), MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Startall((int)n, requests);
    wait_all(n);
    for (long i = 0; i < n; i++) MPI_Request_free(&requests[i]);
}
static void bsend(long n) {
    long bytes = n * (4 + MPI_BSEND_OVERHEAD);
    void *space = malloc(bytes);
    MPI_Buffer_attach(space, (int)bytes);
    if (rank == 0) for (long i = 0; i < n; i++) MPI_Bsend(&data.ints[i], 1, MPI_INT, 1, tag(i), MPI_COMM_WORLD);
    synchronise();
    if (rank == 1) { receive_all(n, 0); wait_all(n); }
    MPI_Buffer_detach(&space, &(int){0});
    free(space);
}

/* Collectives. */

static void ibarrier(long n) { for (long i = 0; i < n; i++) MPI_Ibarrier(MPI_COMM_WORLD, &requests[i]); wait_all(n); }
static void iallreduce(long n) { for (long i = 0; i < n; i++) MPI_Iallreduce(MPI_IN_PLACE, &data.ints[i], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[i]); wait_all(n); }
static void ibcast(long n) { for (long i = 0; i < n; i++) MPI_Ibcast(&data.ints[i], 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[i]); wait_all(n); }
static void free_comms(long n) { for (long i = 0; i < n; i++) MPI_Comm_free(&comms[i]); }
static void comm_dup(long n) { for (long i = 0; i < n; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]); free_comms(n); }
static void comm_split(long n) { for (long i = 0; i < n; i++) MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comms[i]); free_comms(n); }
static void comm_idup(long n) { for (long i = 0; i < n; i++) MPI_Comm_idup(MPI_COMM_WORLD, &comms[i], &requests[i]); wait_all(n); free_comms(n); }
/* Open MPI's header tells the compiler that weights are read, MPI_UNWEIGHTED included. */
#pragma GCC diagnostic ignored "-Wstringop-overread"
static void dist_graph(long n) {
    int degree = (int)n;
    for (long i = 0; i < n; i++) data.ints[i] = (int)(i % ranks);
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, data.ints, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, comms);
    free_comms(1);
}

/* One-sided. */

static MPI_Win window;
static void window_create(long n) {
    static MPI_Win windows[100];
    for (long i = 0; i < n; i++) MPI_Win_create(data.ints, 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[i]);
    for (long i = 0; i < n; i++) MPI_Win_free(&windows[i]);
}
static void rput(long n) { for (long i = 0; i < n; i++) MPI_Rput(&data.ints[i], 1, MPI_INT, !rank, i, 1, MPI_INT, window, &requests[i]); wait_all(n); MPI_Win_flush(!rank, window); }
static void put(long n) { for (long i = 0; i < n; i++) MPI_Put(&data.ints[i], 1, MPI_INT, !rank, i, 1, MPI_INT, window); MPI_Win_flush(!rank, window); }
static void accumulate(long n) { for (long i = 0; i < n; i++) MPI_Accumulate(&data.ints[i], 1, MPI_INT, !rank, i, 1, MPI_INT, MPI_SUM, window); MPI_Win_flush(!rank, window); }
static void scattered(long n) {
    MPI_Datatype made;
    MPI_Type_create_indexed_block((int)n, 1, places, MPI_INT, &made);
    MPI_Type_commit(&made);
    MPI_Accumulate(data.ints, (int)n, MPI_INT, !rank, 0, 1, made, MPI_SUM, window);
    MPI_Win_flush(!rank, window);
    MPI_Type_free(&made);
}

static const struct { const char *name; void (*pass)(long n); long most; } cases[] = {
    {"type-contiguous", contiguous, 10000}, {"type-vector", vector, 10000}, {"type-dup", dup_type, 10000},
    {"type-indexed", indexed, MOST}, {"type-indexed-block", indexed_block, MOST}, {"type-hindexed", hindexed, MOST},
    {"type-struct", structure, MOST}, {"type-indexed-vectors", indexed_vectors, MOST}, {"type-contents", contents, 10000},
    {"group", group, 10000}, {"group-union", group_union, 10000}, {"translate-ranks", translate, MOST},
    {"keyval", keyval, 10000}, {"attribute", attribute, 10000}, {"info", info, 10000}, {"info-keys", info_keys, 10000},
    {"errhandler", errhandler, 10000}, {"op", op, 10000}, {"alloc-mem", alloc_mem, 10000},
    {"persistent", persistent, MOST}, {"generalized", generalized, MOST},
    {"testall", testall, MOST}, {"testany", testany, MOST}, {"testsome", testsome, MOST}, {"waitany", waitany, MOST}, {"waitsome", waitsome, MOST},
    {"irecv-posted", posted, MOST}, {"irecv-any-source", any_source, MOST}, {"irecv-unexpected", unexpected, MOST},
    {"issend", issend, MOST}, {"probe", probe, 10000}, {"cancel", cancelled, 10000}, {"start", started, MOST}, {"bsend", bsend, 10000},
    {"ibarrier", ibarrier, 10000}, {"iallreduce", iallreduce, 10000}, {"ibcast", ibcast, 10000},
    {"comm-dup", comm_dup, 1000}, {"comm-split", comm_split, 1000}, {"comm-idup", comm_idup, 1000}, {"dist-graph", dist_graph, MOST},
    {"win-create", window_create, 100}, {"put", put, 10000}, {"rput", rput, 10000}, {"accumulate", accumulate, 10000}, {"accumulate-scattered", scattered, 100000},
};

/* Returns the seconds for each object, on the slowest rank. */
static double each(void (*pass)(long n), long n) {
    long repeats = n < OBJECTS / 10 ? OBJECTS / 10 / n : 1;
    double best = 1e9;
    for (int i = 0; i < (quick ? 1 : PASSES); i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (long j = 0; j < repeats; j++) pass(n);
        double took = (MPI_Wtime() - begin) / repeats / n, longest;
        MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (longest < best) best = longest;
    }
    return best;
}

int main(int argc, char **argv) {
    start(argc, argv);
    for (int i = 0; i < MOST; i++) {
        lengths[i] = 1;
        places[i] = 2 * i + (i % 7 == 0);
        addresses[i] = 24L * i + 8 * (i % 7 == 0);
    }
    int *base;
    MPI_Win_allocate(8L * MOST + 64, sizeof *base, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
    MPI_Win_lock_all(0, window);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc > 3 && strcmp(argv[3], cases[i].name)) continue;
        long most = cases[i].most;
        for (long n = 1, next; n <= most; n = next) {
            double took = each(cases[i].pass, n);
            tell(cases[i].name, n, took * 1e9, "ns");
            next = 100 * n > most && n < most ? most : 100 * n;
            if (took * next > LONGEST_S) break;
        }
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
