//! Topologies (MPI 5.0, chapter 8).

pub mod cart;
pub mod dist_graph;
pub mod graph;

use core::ffi::c_int;

use canele_mpi::topology::Topology;
use canele_mpi::{Result, fail};

use crate::constants::{MPI_CART, MPI_DIST_GRAPH, MPI_GRAPH, MPI_PROC_NULL, MPI_UNDEFINED};
use crate::error::CallResult;
use crate::handle::{MPI_Comm, ObjectHandle};
use crate::pointer::Out;

/// `MPI_Topo_test`.
pub fn topo_test(comm: MPI_Comm, status: Out<c_int>) -> CallResult {
    let kind = match comm.get()?.topology() {
        Some(Topology::Cart(_)) => MPI_CART,
        Some(Topology::Graph(_)) => MPI_GRAPH,
        Some(Topology::DistGraph(_)) => MPI_DIST_GRAPH,
        None => MPI_UNDEFINED,
    };
    Ok(status.set(kind, "status")?)
}

/// Converts a number of elements.
fn number(value: c_int, what: &str) -> Result<usize> {
    match usize::try_from(value) {
        Ok(number) => Ok(number),
        Err(_) => fail!(Argument, "{what} is {value}: it must not be negative"),
    }
}

/// Returns a rank, or `MPI_PROC_NULL` where a grid ends.
fn or_null(rank: Option<usize>) -> c_int {
    rank.map_or(MPI_PROC_NULL, |rank| rank as c_int)
}

/// Converts numbers to C's type.
fn ints(numbers: &[usize]) -> impl Iterator<Item = c_int> {
    numbers.iter().map(|number| *number as c_int)
}
