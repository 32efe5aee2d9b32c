//! Lengths of arrays with an element for each rank, neighbour or dimension.

use core::ffi::c_int;

use crate::mpi::*;

/// `MPI_CART`, `MPI_GRAPH`, `MPI_DIST_GRAPH`.
const CART: c_int = 211;
const GRAPH: c_int = 212;
const DIST_GRAPH: c_int = 213;
/// `MPI_ROOT`.
const ROOT: c_int = -4;

/// Calls a function that writes a number, and returns the number, or 0 after an error. The later call of the
/// function with the array reports the error.
fn ask(call: impl FnOnce(&mut c_int) -> c_int) -> c_int {
    let mut number = 0;
    if call(&mut number) == SUCCESS { number } else { 0 }
}

/// Returns the number of ranks that have a block in a collective. On an intercommunicator these are the ranks
/// of the remote group.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub extern "C" fn canele_fort_peers(comm: c_int) -> c_int {
    // SAFETY: any number may be asked about, and the places are valid.
    unsafe {
        let comm = PMPI_Comm_fromint(comm);
        match ask(|is_inter| PMPI_Comm_test_inter(comm, is_inter)) {
            0 => ask(|size| PMPI_Comm_size(comm, size)),
            _ => ask(|size| PMPI_Comm_remote_size(comm, size)),
        }
    }
}

/// Returns 1 at the root of a collective: the named rank, or on an intercommunicator the one that passes
/// `MPI_ROOT`.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_is_root(comm: c_int, root: c_int) -> c_int {
    // SAFETY: as above.
    let rank = unsafe { ask(|rank| PMPI_Comm_rank(PMPI_Comm_fromint(comm), rank)) };
    c_int::from(rank == root || root == ROOT)
}

/// Returns the number of a rank's destinations or sources.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_neighbors(comm: c_int, outgoing: c_int) -> c_int {
    // SAFETY: as above.
    unsafe {
        let comm = PMPI_Comm_fromint(comm);
        match ask(|kind| PMPI_Topo_test(comm, kind)) {
            CART => 2 * ask(|dimensions| PMPI_Cartdim_get(comm, dimensions)),
            GRAPH => {
                let rank = ask(|rank| PMPI_Comm_rank(comm, rank));
                ask(|neighbors| PMPI_Graph_neighbors_count(comm, rank, neighbors))
            }
            DIST_GRAPH => ask(|number| {
                let (mut sources, mut targets, mut is_weighted) = (0, 0, 0);
                let code =
                    PMPI_Dist_graph_neighbors_count(comm, &mut sources, &mut targets, &mut is_weighted);
                *number = if outgoing != 0 { targets } else { sources };
                code
            }),
            _ => 0,
        }
    }
}

/// Returns the number of dimensions of a Cartesian communicator.
#[unsafe(no_mangle)] // SAFETY: as above.
pub extern "C" fn canele_fort_dimensions(comm: c_int) -> c_int {
    // SAFETY: as above.
    unsafe { ask(|dimensions| PMPI_Cartdim_get(PMPI_Comm_fromint(comm), dimensions)) }
}
