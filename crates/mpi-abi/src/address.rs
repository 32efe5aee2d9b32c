//! Addresses as numbers (MPI 5.0, §5.1.5).

use canele_mpi_macros::mpi;

use crate::error::Outcome;
use crate::pointer::{Memory, Out};

/// `MPI_Aint`.
type Aint = i64;

#[mpi]
fn MPI_Get_address(location: Memory, address: Out<Aint>) -> Outcome {
    Ok(address.set(location as usize as Aint, "address")?)
}

#[mpi(plain)]
fn MPI_Aint_add(base: Aint, disp: Aint) -> Aint {
    base.wrapping_add(disp)
}

#[mpi(plain)]
fn MPI_Aint_diff(addr1: Aint, addr2: Aint) -> Aint {
    addr1.wrapping_sub(addr2)
}
