//! Graphs of which every rank knows all edges.

use core::ffi::c_int;

use canele_mpi::topology::{Graph, Topology};
use canele_mpi::{Comm, Result, fail};

use super::{ints, number};
use crate::comm::create::give;
use crate::constants::MPI_UNDEFINED;
use crate::error::CallResult;
use crate::handle::{MPI_Comm, ObjectHandle};
use crate::pointer::{In, Out};

/// Returns the graph of a communicator.
fn graph(comm: &Comm) -> Result<&Graph> {
    match comm.topology() {
        Some(Topology::Graph(graph)) => Ok(graph),
        _ => fail!(Topology, "comm has no graph topology: make one with MPI_Graph_create"),
    }
}

/// Makes the graph that the program describes.
fn described(nnodes: c_int, index: In<c_int>, edges: In<c_int>, ranks: usize) -> Result<Graph> {
    let index = index.slice(number(nnodes, "nnodes")?, "index")?;
    Graph::new(index, edges.slice(Graph::edge_count(index)?, "edges")?, ranks)
}

/// `MPI_Graph_create`.
pub fn graph_create(
    comm_old: MPI_Comm,
    nnodes: c_int,
    index: In<c_int>,
    edges: In<c_int>,
    _reorder: c_int,
    comm_graph: Out<MPI_Comm>,
) -> CallResult {
    let comm = comm_old.get()?;
    let graph = described(nnodes, index, edges, comm.size())?;
    let size = graph.size();
    give(comm_graph, comm.with_topology(Topology::Graph(graph), size)?)
}

/// `MPI_Graph_map`.
pub fn graph_map(
    comm: MPI_Comm,
    nnodes: c_int,
    index: In<c_int>,
    edges: In<c_int>,
    newrank: Out<c_int>,
) -> CallResult {
    let comm = comm.get()?;
    let place = described(nnodes, index, edges, comm.size())?.map(comm.rank());
    Ok(newrank.set(place.map_or(MPI_UNDEFINED, |rank| rank as c_int), "newrank")?)
}

/// `MPI_Graphdims_get`.
pub fn graphdims_get(comm: MPI_Comm, nnodes: Out<c_int>, nedges: Out<c_int>) -> CallResult {
    let graph = graph(comm.get()?)?;
    nnodes.set(graph.size() as c_int, "nnodes")?;
    Ok(nedges.set(graph.edges().len() as c_int, "nedges")?)
}

/// `MPI_Graph_get`.
pub fn graph_get(
    comm: MPI_Comm,
    maxindex: c_int,
    maxedges: c_int,
    index: Out<c_int>,
    edges: Out<c_int>,
) -> CallResult {
    let graph = graph(comm.get()?)?;
    index.set_all(ints(graph.index()).take(number(maxindex, "maxindex")?), "index")?;
    Ok(edges.set_all(ints(graph.edges()).take(number(maxedges, "maxedges")?), "edges")?)
}

/// Returns the neighbours of a rank.
fn neighbours(comm: MPI_Comm, rank: c_int) -> Result<&'static [usize]> {
    let graph = graph(comm.get()?)?;
    match usize::try_from(rank) {
        Ok(rank) if rank < graph.size() => Ok(graph.neighbours(rank)),
        _ => fail!(Rank, "rank is {rank}: it must be from 0 to {}", graph.size().saturating_sub(1)),
    }
}

/// `MPI_Graph_neighbors_count`.
pub fn graph_neighbors_count(comm: MPI_Comm, rank: c_int, nneighbors: Out<c_int>) -> CallResult {
    let count = neighbours(comm, rank)?.len();
    Ok(nneighbors.set(count as c_int, "nneighbors")?)
}

/// `MPI_Graph_neighbors`.
pub fn graph_neighbors(
    comm: MPI_Comm,
    rank: c_int,
    maxneighbors: c_int,
    neighbors: Out<c_int>,
) -> CallResult {
    let list = neighbours(comm, rank)?;
    Ok(neighbors.set_all(ints(list).take(number(maxneighbors, "maxneighbors")?), "neighbors")?)
}
