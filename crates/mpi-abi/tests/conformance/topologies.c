/* Topologies, and the collectives among neighbours. */
#include "conformance.h"

static void grid(int ndims, const int *dims, const int *periods)
{
    MPI_Comm comm, sub;
    int there[3], around[3], at[3], n, kind, source, dest, mine, number;
    CODE(MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &comm));
    if (comm == MPI_COMM_NULL) {
        say("not in the grid");
        return;
    }
    MPI_Topo_test(comm, &kind);
    MPI_Cartdim_get(comm, &n);
    MPI_Comm_rank(comm, &mine);
    say("cart %d, %d dimensions, rank %d", kind == MPI_CART, n, mine);
    MPI_Cart_get(comm, ndims, there, around, at);
    say_ints("dims", there, ndims);
    say_ints("periods", around, ndims);
    say_ints("at", at, ndims);
    MPI_Cart_rank(comm, at, &number);
    say("rank %d", number);
    for (int d = 0; d < ndims; d++)
        for (int by = -2; by <= 2; by++) {
            MPI_Cart_shift(comm, d, by, &source, &dest);
            say("shift %d by %d: %d %d", d, by, source == MPI_PROC_NULL ? -1 : source,
                dest == MPI_PROC_NULL ? -1 : dest);
        }
    if (periods[0]) {
        at[0] += 3 * dims[0] - 1;
        MPI_Cart_rank(comm, at, &number);
        say("around: rank %d", number);
    }
    int remain[3] = {0, 1, 1};
    CODE(MPI_Cart_sub(comm, remain, &sub));
    MPI_Cartdim_get(sub, &n);
    MPI_Comm_size(sub, &number);
    say("sub: %d dimensions, %d ranks", n, number);
    if (n > 0) {
        MPI_Cart_get(sub, n, there, around, at);
        say_ints("sub dims", there, n);
        say_ints("sub at", at, n);
    }
    MPI_Comm_free(&sub);
    MPI_Comm_free(&comm);
}

void topologies(void)
{
    static const int counts[] = {1, 2, 4, 6, 7, 12, 36, 60, 64, 1000};
    int plain[3] = {size, 1, 1}, both[3] = {1, size, 1}, wrap[3] = {1, 0, 1}, none[3] = {0, 0, 0};
    int all[3] = {1, 1, 1}, square[2] = {(size + 1) / 2, size == 1 ? 1 : 2 - (size == 3)}, kind;
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
        for (int d = 1; d <= 4; d++) {
            int dims[4] = {0, 0, 0, 0};
            MPI_Dims_create(counts[n], d, dims);
            say_ints("dims", dims, d);
        }
    int fixed[3] = {0, 3, 0};
    CODE(MPI_Dims_create(12, 3, fixed));
    say_ints("fixed", fixed, 3);
    MPI_Topo_test(MPI_COMM_WORLD, &kind);
    say("none: %d", kind == MPI_UNDEFINED);
    grid(1, plain, none);
    grid(1, plain, all);
    grid(3, both, wrap);
    if (square[0] * square[1] <= size)
        grid(2, square, wrap);
    if (size > 1) {
        int less[1] = {size - 1};
        grid(1, less, all);
    }
    MPI_Comm graph;
    int index[4], edges[8], n = 0, nodes, count, list[8];
    for (int r = 0; r < size; r++) {
        edges[n++] = (r + 1) % size;
        if (r % 2 == 0)
            edges[n++] = (r + size - 1) % size;
        index[r] = n;
    }
    CODE(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph));
    MPI_Topo_test(graph, &kind);
    MPI_Graphdims_get(graph, &nodes, &n);
    say("graph %d: %d %d", kind == MPI_GRAPH, nodes, n);
    MPI_Graph_neighbors_count(graph, rank, &count);
    MPI_Graph_neighbors(graph, rank, count, list);
    say_ints("neighbours", list, count);
    int i[4], e[8];
    MPI_Graph_get(graph, size, n, i, e);
    say_ints("index", i, size);
    say_ints("edges", e, n);
    MPI_Comm_free(&graph);
    MPI_Comm dist;
    int source = rank, degree = 2, to[2] = {(rank + 1) % size, (rank + 2) % size}, weights[2] = {rank, 7};
    int in, out, weighted, from[8], in_weights[8], into[8], out_weights[8];
    int before[2] = {(rank + size - 1) % size, (rank + 2 * size - 2) % size};
    CODE(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, before, weights, 2, to, weights, MPI_INFO_NULL, 0, &dist));
    MPI_Dist_graph_neighbors_count(dist, &in, &out, &weighted);
    MPI_Topo_test(dist, &kind);
    say("dist graph %d: %d %d %d", kind == MPI_DIST_GRAPH, in, out, weighted);
    MPI_Dist_graph_neighbors(dist, in, from, in_weights, out, into, out_weights);
    say_ints("from", from, in);
    say_ints("weights", in_weights, in);
    say_ints("into", into, out);
    say_ints("weights", out_weights, out);
    MPI_Comm_free(&dist);
    CODE(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &dist));
    MPI_Dist_graph_neighbors_count(dist, &in, &out, &weighted);
    say("dist graph: %d %d %d", in, out, weighted);
    MPI_Comm_free(&dist);
}

static void among(MPI_Comm comm, int in, int out)
{
    int send[8], receive[16], counts[8], places[8], backwards[8];
    MPI_Aint bytes[8], back_bytes[8];
    MPI_Datatype types[8];
    MPI_Request request;
    for (int n = 0; n < 8; n++) {
        send[n] = rank * 10 + n;
        counts[n] = 1, places[n] = n, backwards[n] = 7 - n;
        bytes[n] = 4 * n, back_bytes[n] = 28 - 4 * n, types[n] = MPI_INT;
    }
    memset(receive, 0xff, sizeof receive);
    CODE(MPI_Neighbor_allgather(send, 2, MPI_INT, receive, 2, MPI_INT, comm));
    say_ints("allgather", receive, 2 * in);
    memset(receive, 0xff, sizeof receive);
    CODE(MPI_Neighbor_allgatherv(send, 1, MPI_INT, receive, counts, backwards, MPI_INT, comm));
    say_ints("allgatherv", receive, 8);
    memset(receive, 0xff, sizeof receive);
    CODE(MPI_Neighbor_alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, comm));
    say_ints("alltoall", receive, in);
    memset(receive, 0xff, sizeof receive);
    CODE(MPI_Neighbor_alltoallv(send, counts, places, MPI_INT, receive, counts, backwards, MPI_INT, comm));
    say_ints("alltoallv", receive, 8);
    memset(receive, 0xff, sizeof receive);
    CODE(MPI_Neighbor_alltoallw(send, counts, bytes, types, receive, counts, back_bytes, types, comm));
    say_ints("alltoallw", receive, 8);
    memset(receive, 0xff, sizeof receive);
    MPI_Ineighbor_alltoall(send, 1, MPI_INT, receive, 1, MPI_INT, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say_ints("ineighbor", receive, in);
    (void)out;
}

void neighbours(void)
{
    MPI_Comm comm;
    int dims[2] = {size, 1}, periods[2] = {0, 1}, wrap[1] = {1};
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm);
    among(comm, 4, 4);
    MPI_Comm_free(&comm);
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, wrap, 0, &comm);
    among(comm, 2, 2);
    MPI_Comm_free(&comm);
    /* Each rank sends to all ranks above it; the lowest receives no message. */
    int to[4], from[4], in = 0, out = 0;
    for (int r = rank + 1; r < size; r++)
        to[out++] = r;
    for (int r = rank - 1; r >= 0; r--)
        from[in++] = r;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, from, MPI_UNWEIGHTED, out, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &comm);
    among(comm, in, out);
    MPI_Comm_free(&comm);
}
