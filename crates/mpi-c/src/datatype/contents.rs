//! Queries of a datatype's constructor call (MPI 5.0, §5.1.13).

use core::ffi::c_int;

use canele_mpi::datatype::{Combiner, Datatype, Distribution, Envelope, Integer, IntegerRun, Order};
use canele_mpi::{Result, fail};

use super::publish;
use crate::constants::*;
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, ObjectHandle};
use crate::pointer::Out;

/// `MPI_Type_get_envelope`.
pub fn type_get_envelope(
    datatype: MPI_Datatype,
    num_integers: Out<c_int>,
    num_addresses: Out<c_int>,
    num_datatypes: Out<c_int>,
    combiner: Out<c_int>,
) -> CallResult {
    let envelope = small(datatype.get()?)?;
    num_integers.set(envelope.integers.len() as c_int, "num_integers")?;
    num_addresses.set(envelope.addresses.len() as c_int, "num_addresses")?;
    num_datatypes.set(envelope.datatypes.len() as c_int, "num_datatypes")?;
    Ok(combiner.set(constant(envelope.combiner), "combiner")?)
}

/// `MPI_Type_get_envelope_c`.
pub fn type_get_envelope_c(
    datatype: MPI_Datatype,
    num_integers: Out<i64>,
    num_addresses: Out<i64>,
    num_large_counts: Out<i64>,
    num_datatypes: Out<i64>,
    combiner: Out<c_int>,
) -> CallResult {
    let envelope = datatype.get()?.envelope();
    num_integers.set(envelope.integers.len() as i64, "num_integers")?;
    num_addresses.set(envelope.addresses.len() as i64, "num_addresses")?;
    num_large_counts.set(envelope.counts.len() as i64, "num_large_counts")?;
    num_datatypes.set(envelope.datatypes.len() as i64, "num_datatypes")?;
    Ok(combiner.set(constant(envelope.combiner), "combiner")?)
}

/// `MPI_Type_get_contents`.
pub fn type_get_contents(
    datatype: MPI_Datatype,
    max_integers: c_int,
    max_addresses: c_int,
    max_datatypes: c_int,
    array_of_integers: Out<c_int>,
    array_of_addresses: Out<i64>,
    array_of_datatypes: Out<MPI_Datatype>,
) -> CallResult {
    let envelope = small(datatype.get()?)?;
    room("max_integers", max_integers.into(), envelope.integers.len())?;
    room("max_addresses", max_addresses.into(), envelope.addresses.len())?;
    room("max_datatypes", max_datatypes.into(), envelope.datatypes.len())?;
    tell(datatype.get()?, array_of_integers, array_of_addresses, array_of_datatypes)
}

/// `MPI_Type_get_contents_c`.
pub fn type_get_contents_c(
    datatype: MPI_Datatype,
    max_integers: i64,
    max_addresses: i64,
    max_large_counts: i64,
    max_datatypes: i64,
    array_of_integers: Out<c_int>,
    array_of_addresses: Out<i64>,
    array_of_large_counts: Out<i64>,
    array_of_datatypes: Out<MPI_Datatype>,
) -> CallResult {
    let envelope = datatype.get()?.envelope();
    room("max_integers", max_integers, envelope.integers.len())?;
    room("max_addresses", max_addresses, envelope.addresses.len())?;
    room("max_large_counts", max_large_counts, envelope.counts.len())?;
    room("max_datatypes", max_datatypes, envelope.datatypes.len())?;
    array_of_large_counts.set_all(envelope.counts.iter().copied(), "array_of_large_counts")?;
    tell(datatype.get()?, array_of_integers, array_of_addresses, array_of_datatypes)
}

/// Stores the results that both forms have.
fn tell(
    datatype: &Datatype,
    integers: Out<c_int>,
    addresses: Out<i64>,
    datatypes: Out<MPI_Datatype>,
) -> CallResult {
    if datatype.is_named() {
        fail!(Datatype, "datatype {} is predefined: it has no contents", datatype.name());
    }
    let (envelope, what) = (datatype.envelope(), "array_of_integers");
    let mut at = 0;
    for run in envelope.integers.runs() {
        at += match run {
            IntegerRun::One(integer) => integers.set_from(at, [number(*integer)], what)?,
            IntegerRun::Numbers(numbers) => integers.set_from(at, numbers.iter().copied(), what)?,
            IntegerRun::Wide(numbers) => integers.set_from(at, numbers.iter().map(|n| *n as c_int), what)?,
        };
    }
    addresses.set_all(envelope.addresses.iter().map(|address| *address as i64), "array_of_addresses")?;
    for (at, inner) in envelope.datatypes.iter().enumerate() {
        datatypes.set_at(at, publish(inner.clone())?, "array_of_datatypes")?;
    }
    Ok(())
}

/// Returns the envelope of a datatype whose arguments fit the form without large counts.
fn small(datatype: &Datatype) -> Result<&Envelope> {
    let envelope = datatype.envelope();
    if envelope.is_large() {
        fail!(Datatype, "the datatype was made with large counts: only the form with _c tells them");
    }
    Ok(envelope)
}

/// Fails unless an array of the program has enough room.
fn room(name: &str, max: i64, needed: usize) -> Result<()> {
    if usize::try_from(max).is_ok_and(|max| max >= needed) {
        return Ok(());
    }
    fail!(Argument, "{name} is {max}: it must be at least {needed}, as the envelope says")
}

fn constant(combiner: Combiner) -> c_int {
    match combiner {
        Combiner::Named => MPI_COMBINER_NAMED,
        Combiner::Dup => MPI_COMBINER_DUP,
        Combiner::Contiguous => MPI_COMBINER_CONTIGUOUS,
        Combiner::Vector => MPI_COMBINER_VECTOR,
        Combiner::Hvector => MPI_COMBINER_HVECTOR,
        Combiner::Indexed => MPI_COMBINER_INDEXED,
        Combiner::Hindexed => MPI_COMBINER_HINDEXED,
        Combiner::IndexedBlock => MPI_COMBINER_INDEXED_BLOCK,
        Combiner::HindexedBlock => MPI_COMBINER_HINDEXED_BLOCK,
        Combiner::Struct => MPI_COMBINER_STRUCT,
        Combiner::Subarray => MPI_COMBINER_SUBARRAY,
        Combiner::Darray => MPI_COMBINER_DARRAY,
        Combiner::F90Real => MPI_COMBINER_F90_REAL,
        Combiner::F90Complex => MPI_COMBINER_F90_COMPLEX,
        Combiner::F90Integer => MPI_COMBINER_F90_INTEGER,
        Combiner::Resized => MPI_COMBINER_RESIZED,
        Combiner::ValueIndex => MPI_COMBINER_VALUE_INDEX,
    }
}

/// Returns an argument of type `int`, as the program passed it.
fn number(integer: Integer) -> c_int {
    match integer {
        Integer::Number(number) => number as c_int,
        Integer::Order(Order::C) => MPI_ORDER_C,
        Integer::Order(Order::Fortran) => MPI_ORDER_FORTRAN,
        Integer::Distribution(Distribution::None) => MPI_DISTRIBUTE_NONE,
        Integer::Distribution(Distribution::Block) => MPI_DISTRIBUTE_BLOCK,
        Integer::Distribution(Distribution::Cyclic) => MPI_DISTRIBUTE_CYCLIC,
        Integer::DefaultBlock => MPI_DISTRIBUTE_DFLT_DARG,
        Integer::Undefined => MPI_UNDEFINED,
    }
}
