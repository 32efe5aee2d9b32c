//! Graphs of which each rank knows its own edges.

use core::ffi::c_int;

use canele_mpi::topology::{DistGraph, Topology};
use canele_mpi::{Comm, Result, fail};

use super::{ints, number};
use crate::comm::create::{give, given};
use crate::constants::{MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY};
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Info, ObjectHandle};
use crate::pointer::{In, Out};

/// Returns the graph of a communicator.
fn graph(comm: &Comm) -> Result<&DistGraph> {
    match comm.topology() {
        Some(Topology::DistGraph(graph)) => Ok(graph),
        _ => fail!(Topology, "comm has no distributed graph topology: make one with MPI_Dist_graph_create"),
    }
}

/// Returns the weights of `n` edges, if there are any.
fn weights<'a>(of: In<c_int>, n: usize, what: &str) -> Result<Option<&'a [c_int]>> {
    if of.address() == MPI_UNWEIGHTED {
        return Ok(None);
    }
    if of.address() != MPI_WEIGHTS_EMPTY {
        return of.slice(n, what).map(Some);
    }
    if n > 0 {
        fail!(Argument, "{what} is MPI_WEIGHTS_EMPTY, but there are {n} edges");
    }
    Ok(Some(&[]))
}

/// `MPI_Dist_graph_create_adjacent`.
pub fn dist_graph_create_adjacent(
    comm_old: MPI_Comm,
    indegree: c_int,
    sources: In<c_int>,
    sourceweights: In<c_int>,
    outdegree: c_int,
    destinations: In<c_int>,
    destweights: In<c_int>,
    info: MPI_Info,
    _reorder: c_int,
    comm_dist_graph: Out<MPI_Comm>,
) -> CallResult {
    let comm = comm_old.get()?;
    let (n, m) = (number(indegree, "indegree")?, number(outdegree, "outdegree")?);
    let from = (sources.slice(n, "sources")?, weights(sourceweights, n, "sourceweights")?);
    let to = (destinations.slice(m, "destinations")?, weights(destweights, m, "destweights")?);
    let graph = DistGraph::adjacent(comm.size(), from, to)?;
    finish(comm, graph, info, comm_dist_graph)
}

/// `MPI_Dist_graph_create`.
pub fn dist_graph_create(
    comm_old: MPI_Comm,
    n: c_int,
    sources: In<c_int>,
    degrees: In<c_int>,
    destinations: In<c_int>,
    edge_weights: In<c_int>,
    info: MPI_Info,
    _reorder: c_int,
    comm_dist_graph: Out<MPI_Comm>,
) -> CallResult {
    let comm = comm_old.get()?;
    let n = number(n, "n")?;
    let degrees = degrees.slice(n, "degrees")?;
    let count = DistGraph::edge_count(degrees)?;
    let weights = weights(edge_weights, count, "weights")?;
    let destinations = destinations.slice(count, "destinations")?;
    let mine = DistGraph::edges(comm.size(), sources.slice(n, "sources")?, degrees, destinations, weights)?;
    let (told, counts) = mine.for_ends(comm.size())?;
    let (told, counts) = comm.exchange_edges(&told, &counts)?;
    let mut rest = &told[..];
    let each = counts.into_iter().map(|count| rest.split_off(..count).expect("as many came"));
    let graph = DistGraph::of(comm.size(), each, weights.is_some())?;
    finish(comm, graph, info, comm_dist_graph)
}

fn finish(comm: &Comm, graph: DistGraph, info: MPI_Info, made: Out<MPI_Comm>) -> CallResult {
    let new = comm.with_topology(Topology::DistGraph(graph), comm.size())?;
    if let Some(new) = &new {
        new.set_info(&*given(info)?);
    }
    give(made, new)
}

/// `MPI_Dist_graph_neighbors_count`.
pub fn dist_graph_neighbors_count(
    comm: MPI_Comm,
    indegree: Out<c_int>,
    outdegree: Out<c_int>,
    weighted: Out<c_int>,
) -> CallResult {
    let graph = graph(comm.get()?)?;
    indegree.set(graph.sources.len() as c_int, "indegree")?;
    outdegree.set(graph.destinations.len() as c_int, "outdegree")?;
    Ok(weighted.set(c_int::from(graph.weights.is_some()), "weighted")?)
}

/// `MPI_Dist_graph_neighbors`.
pub fn dist_graph_neighbors(
    comm: MPI_Comm,
    maxindegree: c_int,
    sources: Out<c_int>,
    sourceweights: Out<c_int>,
    maxoutdegree: c_int,
    destinations: Out<c_int>,
    destweights: Out<c_int>,
) -> CallResult {
    let graph = graph(comm.get()?)?;
    let (n, m) = (number(maxindegree, "maxindegree")?, number(maxoutdegree, "maxoutdegree")?);
    sources.set_all(ints(&graph.sources).take(n), "sources")?;
    destinations.set_all(ints(&graph.destinations).take(m), "destinations")?;
    if let Some((from, to)) = &graph.weights {
        give_weights(sourceweights, &from[..n.min(from.len())])?;
        give_weights(destweights, &to[..m.min(to.len())])?;
    }
    Ok(())
}

/// Stores weights, unless they are not wanted.
fn give_weights(place: Out<c_int>, weights: &[c_int]) -> Result<()> {
    if [MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY].contains(&place.address().addr()) {
        return Ok(());
    }
    place.set_all(weights.iter().copied(), "the array of weights")
}
