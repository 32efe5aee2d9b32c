//! Datatypes (MPI 5.0, chapter 5 and §19.1.9).
//!
//! This module owns the mapping of datatypes to handles. Predefined datatypes with a name have constants,
//! those without a name have one permanent handle. Each derived datatype given to the program gets a new
//! handle.

pub mod array;
pub mod construct;
pub mod contents;
pub mod counts;
pub mod external;
pub mod life;
pub mod pack;
pub mod parameterized;
pub mod sizes;

use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use canele_mpi::datatype::{Basic, Datatype, Order, Width};
use canele_mpi::{Result, fail};

use crate::constants::{DATATYPES, MPI_ORDER_C, MPI_ORDER_FORTRAN};
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, ObjectHandle};
use crate::pointer::Out;

/// Assigns objects to the handles of predefined datatypes.
pub(crate) fn predefine() {
    for basic in Basic::ALL {
        if let Some(handle) = constant(basic.name()) {
            handle.fix(Datatype::basic(*basic).clone());
        }
    }
    for (datatype, handle) in &*BEYOND_STANDARD {
        handle.fix(datatype.clone());
    }
    for (name, one) in [("MPI_2COMPLEX", Basic::Complex), ("MPI_2DOUBLE_COMPLEX", Basic::DoubleComplex)] {
        if let (Some(handle), Ok(two)) =
            (constant(name), Datatype::contiguous(Width::Int, 2, Datatype::basic(one)))
        {
            two.commit();
            handle.fix(two);
        }
    }
}

/// Returns the handle of a predefined datatype, if the ABI has one.
fn constant(name: &str) -> Option<MPI_Datatype> {
    DATATYPES.iter().find(|(known, _)| *known == name).map(|(_, handle)| *handle)
}

/// Predefined datatypes of the ABI that the standard lacks, and their handles.
static BEYOND_STANDARD: LazyLock<Vec<(Arc<Datatype>, MPI_Datatype)>> = LazyLock::new(|| {
    let all = [(Basic::Real2, "MPIX_C_FLOAT16")];
    let with_handle = |(basic, name)| Some((Datatype::predefined(basic, name), constant(name)?));
    all.into_iter().filter_map(with_handle).collect()
});

/// Unnamed predefined datatypes that the program has requested, and their permanent handles.
static UNNAMED: Mutex<Vec<(Arc<Datatype>, MPI_Datatype)>> = Mutex::new(Vec::new());

/// Returns a handle for the program.
///
/// # Errors
/// Fails if all handles are used.
pub(crate) fn publish(datatype: Arc<Datatype>) -> Result<MPI_Datatype> {
    if !datatype.is_predefined() {
        return MPI_Datatype::new(datatype);
    }
    if let Some((_, handle)) = BEYOND_STANDARD.iter().find(|(known, _)| Arc::ptr_eq(known, &datatype)) {
        return Ok(*handle);
    }
    if let Some(basic) = datatype.as_basic().filter(|_| datatype.is_named()) {
        return Ok(constant(basic.name()).expect("a program has those only that it has handles of"));
    }
    let mut unnamed = UNNAMED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, handle)) = unnamed.iter().find(|(known, _)| Arc::ptr_eq(known, &datatype)) {
        return Ok(*handle);
    }
    let handle = MPI_Datatype::new(datatype.clone())?;
    unnamed.push((datatype, handle));
    Ok(handle)
}

/// Stores a datatype's handle for the program.
pub(crate) fn give(newtype: Out<MPI_Datatype>, datatype: Arc<Datatype>) -> CallResult {
    Ok(newtype.set(publish(datatype)?, "newtype")?)
}

/// Returns the form that was called.
fn width(is_large: bool) -> Width {
    if is_large { Width::Large } else { Width::Int }
}

/// Converts the order of an array's dimensions.
fn order(order: core::ffi::c_int) -> Result<Order> {
    match order {
        MPI_ORDER_C => Ok(Order::C),
        MPI_ORDER_FORTRAN => Ok(Order::Fortran),
        _ => fail!(Argument, "order is {order}: it must be MPI_ORDER_C or MPI_ORDER_FORTRAN"),
    }
}
