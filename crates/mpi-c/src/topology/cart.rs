//! Grids.

use core::ffi::c_int;

use canele_mpi::topology::{self, Cart, Topology};
use canele_mpi::{Comm, Result, fail};

use super::{ints, number, or_null};
use crate::comm::create::give;
use crate::constants::MPI_UNDEFINED;
use crate::error::CallResult;
use crate::handle::{MPI_Comm, ObjectHandle};
use crate::pointer::{In, Out};

/// Returns the grid of a communicator.
fn cart(comm: &Comm) -> Result<&Cart> {
    match comm.topology() {
        Some(Topology::Cart(cart)) => Ok(cart),
        _ => fail!(Topology, "comm has no Cartesian topology: make one with MPI_Cart_create"),
    }
}

/// Makes the grid that the program describes.
fn described(ndims: c_int, dims: In<c_int>, periods: In<c_int>, ranks: usize) -> Result<Cart> {
    let ndims = number(ndims, "ndims")?;
    let periods: Vec<bool> = periods.slice(ndims, "periods")?.iter().map(|period| *period != 0).collect();
    Cart::new(dims.slice(ndims, "dims")?, &periods, ranks)
}

/// `MPI_Dims_create`.
pub fn dims_create(nnodes: c_int, ndims: c_int, dims: Out<c_int>) -> CallResult {
    Ok(topology::dims_create(nnodes, dims.slice(number(ndims, "ndims")?, "dims")?)?)
}

/// `MPI_Cart_create`.
pub fn cart_create(
    comm_old: MPI_Comm,
    ndims: c_int,
    dims: In<c_int>,
    periods: In<c_int>,
    _reorder: c_int,
    comm_cart: Out<MPI_Comm>,
) -> CallResult {
    let comm = comm_old.get()?;
    let cart = described(ndims, dims, periods, comm.size())?;
    let size = cart.size();
    give(comm_cart, comm.with_topology(Topology::Cart(cart), size)?)
}

/// `MPI_Cart_map`; a grid with a dimension of size 0 is empty, so no process is in it.
pub fn cart_map(
    comm: MPI_Comm,
    ndims: c_int,
    dims: In<c_int>,
    periods: In<c_int>,
    newrank: Out<c_int>,
) -> CallResult {
    let comm = comm.get()?;
    let has_no_places = dims.slice(number(ndims, "ndims")?, "dims")?.contains(&0);
    let place = match has_no_places {
        true => None,
        false => described(ndims, dims, periods, comm.size())?.map(comm.rank()),
    };
    Ok(newrank.set(place.map_or(MPI_UNDEFINED, |rank| rank as c_int), "newrank")?)
}

/// `MPI_Cartdim_get`.
pub fn cartdim_get(comm: MPI_Comm, ndims: Out<c_int>) -> CallResult {
    Ok(ndims.set(cart(comm.get()?)?.dims().len() as c_int, "ndims")?)
}

/// `MPI_Cart_get`.
pub fn cart_get(
    comm: MPI_Comm,
    maxdims: c_int,
    dims: Out<c_int>,
    periods: Out<c_int>,
    coords: Out<c_int>,
) -> CallResult {
    let comm = comm.get()?;
    let (cart, most) = (cart(comm)?, number(maxdims, "maxdims")?);
    dims.set_all(ints(cart.dims()).take(most), "dims")?;
    periods.set_all(cart.periods().iter().take(most).map(|period| c_int::from(*period)), "periods")?;
    Ok(coords.set_all(ints(&cart.coords(comm.rank() as c_int)?).take(most), "coords")?)
}

/// `MPI_Cart_rank`.
pub fn cart_rank(comm: MPI_Comm, coords: In<c_int>, rank: Out<c_int>) -> CallResult {
    let cart = cart(comm.get()?)?;
    let place = cart.rank_of(coords.slice(cart.dims().len(), "coords")?)?;
    Ok(rank.set(place as c_int, "rank")?)
}

/// `MPI_Cart_coords`.
pub fn cart_coords(comm: MPI_Comm, rank: c_int, maxdims: c_int, coords: Out<c_int>) -> CallResult {
    let of = cart(comm.get()?)?.coords(rank)?;
    Ok(coords.set_all(ints(&of).take(number(maxdims, "maxdims")?), "coords")?)
}

/// `MPI_Cart_shift`.
pub fn cart_shift(
    comm: MPI_Comm,
    direction: c_int,
    disp: c_int,
    rank_source: Out<c_int>,
    rank_dest: Out<c_int>,
) -> CallResult {
    let comm = comm.get()?;
    let (source, dest) = cart(comm)?.shift(comm.rank(), direction, disp)?;
    rank_source.set(or_null(source), "rank_source")?;
    Ok(rank_dest.set(or_null(dest), "rank_dest")?)
}

/// `MPI_Cart_sub`.
pub fn cart_sub(comm: MPI_Comm, remain_dims: In<c_int>, newcomm: Out<MPI_Comm>) -> CallResult {
    let comm = comm.get()?;
    let cart = cart(comm)?;
    let remain = remain_dims.slice(cart.dims().len(), "remain_dims")?;
    let remain: Vec<bool> = remain.iter().map(|remains| *remains != 0).collect();
    let (sub, members) = cart.sub(comm.rank(), &remain);
    give(newcomm, comm.part_with_topology(Topology::Cart(sub), &members)?)
}
