//! What MPI 3.0 removed and has no successor with the same parameters. The others lead to their successors by the table.

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

/// `MPI_Type_struct`: the structure of what is no marker, with the bounds that markers give it.
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

/// What the arguments of `MPI_Type_struct` say of bounds and of types.
#[derive(Default)]
struct Parts {
    lb: Option<i64>,
    ub: Option<i64>,
    blocks: Vec<i64>,
    places: Vec<i64>,
    types: Vec<Arc<Datatype>>,
}

impl Parts {
    /// Takes the arguments apart. Of several bounds the outermost counts; a bound of an empty block does not count.
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

    /// Adds a bound: the marker says which of the two.
    fn add_bound(&mut self, marker: MPI_Datatype, place: i64) {
        if marker == MPI_LB {
            self.lb = Some(self.lb.map_or(place, |lb| lb.min(place)));
        } else {
            self.ub = Some(self.ub.map_or(place, |ub| ub.max(place)));
        }
    }
}
