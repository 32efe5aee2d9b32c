//! Addresses as numbers (MPI 5.0, §5.1.5).

use crate::error::CallResult;
use crate::pointer::{Out, SendBuffer};

/// `MPI_Aint`.
type Aint = i64;

/// `MPI_Get_address`.
pub fn get_address(location: SendBuffer, address: Out<Aint>) -> CallResult {
    Ok(address.set(location as usize as Aint, "address")?)
}

/// `MPI_Aint_add`.
pub fn aint_add(base: Aint, disp: Aint) -> Aint {
    base.wrapping_add(disp)
}

/// `MPI_Aint_diff`.
pub fn aint_diff(addr1: Aint, addr2: Aint) -> Aint {
    addr1.wrapping_sub(addr2)
}
