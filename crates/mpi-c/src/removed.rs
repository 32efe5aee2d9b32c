//! Functions that MPI 3.0 removed. No successor takes the same parameters. Functions with a successor are
//! mapped to it in the table of `canele-mpi-tables`.

use std::sync::Arc;

use canele_mpi::Result;
use canele_mpi::datatype::{Datatype, Width};

use crate::constants::{MPI_LB, MPI_UB};
use crate::datatype::give;
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, ObjectHandle};
use crate::pointer::{In, Out};
use crate::width::{Count, Counts};

/// `MPI_Type_extent`.
pub fn type_extent(datatype: MPI_Datatype, extent: Out<i64>) -> CallResult {
    Ok(extent.set(datatype.get()?.extent() as i64, "extent")?)
}

/// `MPI_Type_lb`.
pub fn type_lb(datatype: MPI_Datatype, displacement: Out<i64>) -> CallResult {
    Ok(displacement.set(datatype.get()?.lower_bound() as i64, "displacement")?)
}

/// `MPI_Type_ub`.
pub fn type_ub(datatype: MPI_Datatype, displacement: Out<i64>) -> CallResult {
    let of = datatype.get()?;
    Ok(displacement.set((of.lower_bound() + of.extent()) as i64, "displacement")?)
}

/// `MPI_Type_struct`: makes the structure of all types that are no markers, with the bounds of the markers.
pub fn type_struct(
    count: Count,
    array_of_blocklengths: Counts,
    array_of_displacements: In<i64>,
    array_of_types: In<MPI_Datatype>,
    newtype: Out<MPI_Datatype>,
) -> CallResult {
    let n = count.get()?;
    let blocks = array_of_blocklengths.0.read(n, "array_of_blocklengths")?;
    let places = array_of_displacements.slice(n, "array_of_displacements")?;
    let types = array_of_types.slice(n, "array_of_types")?;
    let Parts { lb, ub, blocks, places, types } = Parts::of(&blocks, places, types)?;
    let inner = Datatype::structure(Width::Int, &blocks, &places, &types)?;
    if lb.is_none() && ub.is_none() {
        return give(newtype, inner);
    }
    let inner = Arc::new(inner);
    let (lower, extent) = (inner.lower_bound() as i64, inner.extent() as i64);
    let (first, end) = (lb.unwrap_or(lower), ub.unwrap_or(lower.wrapping_add(extent)));
    give(newtype, Datatype::resized(Width::Int, &inner, first, end.wrapping_sub(first))?)
}

/// The bounds and types in the arguments of `MPI_Type_struct`.
#[derive(Default)]
struct Parts {
    lb: Option<i64>,
    ub: Option<i64>,
    blocks: Vec<i64>,
    places: Vec<i64>,
    types: Vec<Arc<Datatype>>,
}

impl Parts {
    /// Separates the arguments. The outermost of several bounds is used; a bound of an empty block is
    /// ignored.
    fn of(blocks: &[i64], places: &[i64], types: &[MPI_Datatype]) -> Result<Self> {
        let mut parts = Self::default();
        for ((&block, &place), &of) in blocks.iter().zip(places).zip(types) {
            if of == MPI_LB || of == MPI_UB {
                if block != 0 {
                    parts.add_bound(of, place);
                }
                continue;
            }
            parts.blocks.push(block);
            parts.places.push(place);
            parts.types.push(of.share()?);
        }
        Ok(parts)
    }

    /// Adds a lower or upper bound, according to the marker.
    fn add_bound(&mut self, marker: MPI_Datatype, place: i64) {
        if marker == MPI_LB {
            self.lb = Some(self.lb.map_or(place, |lb| lb.min(place)));
        } else {
            self.ub = Some(self.ub.map_or(place, |ub| ub.max(place)));
        }
    }
}
