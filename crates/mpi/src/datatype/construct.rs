//! The constructors: datatypes placed at displacements (MPI 5.0, §5.1.2 to §5.1.9).
//!
//! Each checks its arguments, makes the map and records the call. Displacements are 64-bit numbers: in bytes
//! for the `h` forms, otherwise in extents of the old datatype.

use std::iter;
use std::sync::Arc;

use super::envelope::{Combiner, CountNumber, Envelope, Width};
use super::map::Map;
use super::{Datatype, too_large};
use crate::{Result, fail};

/// Checks a count.
pub fn length(name: &str, value: i64) -> Result<usize> {
    match usize::try_from(value) {
        Ok(length) => Ok(length),
        Err(_) => fail!(Argument, "{name} is {value}: it must not be negative"),
    }
}

/// Fails unless all values are valid block lengths.
fn check_lengths<N: CountNumber>(name: &str, values: &[N]) -> Result<()> {
    match values.iter().map(|value| (*value).into()).enumerate().find(|(_, value)| *value < 0) {
        None => Ok(()),
        Some((i, value)) => fail!(Argument, "{name}[{i}] is {value}: it must not be negative"),
    }
}

/// Returns displacement and length of each block; none if a displacement leaves the address space.
fn placed<L: CountNumber, P: CountNumber>(
    lengths: impl ExactSizeIterator<Item = L>,
    places: &[P],
    unit: isize,
) -> impl ExactSizeIterator<Item = Option<(isize, usize)>> {
    lengths.zip(places).map(move |(length, place)| {
        let (length, place): (i64, i64) = (length.into(), (*place).into());
        match length {
            0 => Some((0, 0)),
            _ => Some(((place as isize).checked_mul(unit)?, length as usize)),
        }
    })
}

/// Fails unless two arguments have the same number of entries.
fn same_number(name: &str, given: usize, count: usize) -> Result<()> {
    if given != count {
        fail!(Argument, "{name} has {given} entries: it must have {count}, as many as there are blocks");
    }
    Ok(())
}

impl Datatype {
    /// Makes `count` elements side by side (`MPI_Type_contiguous`).
    pub fn contiguous(width: Width, count: i64, old: &Arc<Self>) -> Result<Arc<Self>> {
        let map = old.map.repeated(length("count", count)?, old.extent).ok_or_else(too_large)?;
        let envelope = Envelope::new(Combiner::Contiguous).counts(width, &[count]).datatype(old);
        Self::made(map, envelope)
    }

    /// Makes `count` blocks of `blocklength` elements, `stride` extents apart (`MPI_Type_vector`).
    pub fn vector(
        width: Width,
        count: i64,
        blocklength: i64,
        stride: i64,
        old: &Arc<Self>,
    ) -> Result<Arc<Self>> {
        let bytes = (stride as isize).checked_mul(old.extent);
        let envelope = Envelope::new(Combiner::Vector).counts(width, &[count, blocklength, stride]);
        old.blocks_apart(count, blocklength, bytes, envelope)
    }

    /// Makes `count` blocks of `blocklength` elements, `stride` bytes apart (`MPI_Type_create_hvector`).
    pub fn hvector(
        width: Width,
        count: i64,
        blocklength: i64,
        stride: i64,
        old: &Arc<Self>,
    ) -> Result<Arc<Self>> {
        let envelope =
            Envelope::new(Combiner::Hvector).counts(width, &[count, blocklength]).addresses(width, &[stride]);
        old.blocks_apart(count, blocklength, Some(stride as isize), envelope)
    }

    fn blocks_apart(
        self: &Arc<Self>,
        count: i64,
        blocklength: i64,
        stride: Option<isize>,
        envelope: Envelope,
    ) -> Result<Arc<Self>> {
        let (count, blocklength) = (length("count", count)?, length("blocklength", blocklength)?);
        let map = match count.min(blocklength) {
            0 => Map::empty(),
            // The stride of a single block does not matter.
            _ => {
                let stride = if count == 1 { 0 } else { stride.ok_or_else(too_large)? };
                let block = self.map.repeated(blocklength, self.extent);
                block.and_then(|block| block.repeated(count, stride)).ok_or_else(too_large)?
            }
        };
        Self::made(map, envelope.datatype(self))
    }

    /// Makes blocks of several lengths at displacements in extents (`MPI_Type_indexed`).
    pub fn indexed<N: CountNumber>(
        width: Width,
        lengths: &[N],
        places: &[N],
        old: &Arc<Self>,
    ) -> Result<Arc<Self>> {
        let envelope = Envelope::new(Combiner::Indexed)
            .counts(width, &[lengths.len() as i64])
            .counts(width, lengths)
            .counts(width, places);
        old.blocks_at(lengths, places, old.extent, envelope.datatype(old))
    }

    /// Makes blocks of several lengths at displacements in bytes (`MPI_Type_create_hindexed`).
    pub fn hindexed<N: CountNumber>(
        width: Width,
        lengths: &[N],
        places: &[i64],
        old: &Arc<Self>,
    ) -> Result<Arc<Self>> {
        let envelope = Envelope::new(Combiner::Hindexed)
            .counts(width, &[lengths.len() as i64])
            .counts(width, lengths)
            .addresses(width, places);
        old.blocks_at(lengths, places, 1, envelope.datatype(old))
    }

    /// Makes blocks of one length at displacements in extents (`MPI_Type_create_indexed_block`).
    pub fn indexed_block<N: CountNumber>(
        width: Width,
        blocklength: i64,
        places: &[N],
        old: &Arc<Self>,
    ) -> Result<Arc<Self>> {
        let envelope = Envelope::new(Combiner::IndexedBlock)
            .counts(width, &[places.len() as i64, blocklength])
            .counts(width, places);
        old.equal_blocks_at(blocklength, places, old.extent, envelope)
    }

    /// Makes blocks of one length at displacements in bytes (`MPI_Type_create_hindexed_block`).
    pub fn hindexed_block(
        width: Width,
        blocklength: i64,
        places: &[i64],
        old: &Arc<Self>,
    ) -> Result<Arc<Self>> {
        let envelope = Envelope::new(Combiner::HindexedBlock)
            .counts(width, &[places.len() as i64, blocklength])
            .addresses(width, places);
        old.equal_blocks_at(blocklength, places, 1, envelope)
    }

    fn blocks_at<L: CountNumber, P: CountNumber>(
        &self,
        blocks: &[L],
        places: &[P],
        unit: isize,
        envelope: Envelope,
    ) -> Result<Arc<Self>> {
        same_number("array_of_displacements", places.len(), blocks.len())?;
        check_lengths("array_of_blocklengths", blocks)?;
        let blocks = placed(blocks.iter().copied(), places, unit);
        Self::made(self.map.indexed(&self.layout, blocks).ok_or_else(too_large)?, envelope)
    }

    fn equal_blocks_at<P: CountNumber>(
        self: &Arc<Self>,
        blocklength: i64,
        places: &[P],
        unit: isize,
        envelope: Envelope,
    ) -> Result<Arc<Self>> {
        length("blocklength", blocklength)?;
        let blocks = placed(iter::repeat_n(blocklength, places.len()), places, unit);
        let map = self.map.indexed(&self.layout, blocks).ok_or_else(too_large)?;
        Self::made(map, envelope.datatype(self))
    }

    /// Makes blocks of several datatypes at displacements in bytes (`MPI_Type_create_struct`).
    pub fn structure<N: CountNumber>(
        width: Width,
        blocks: &[N],
        places: &[i64],
        types: &[Arc<Self>],
    ) -> Result<Arc<Self>> {
        same_number("array_of_displacements", places.len(), blocks.len())?;
        same_number("array_of_types", types.len(), blocks.len())?;
        let envelope = Envelope::new(Combiner::Struct)
            .counts(width, &[blocks.len() as i64])
            .counts(width, blocks)
            .addresses(width, places);
        let envelope = Envelope { datatypes: types.to_vec(), ..envelope };
        if let [first, rest @ ..] = types
            && rest.iter().all(|other| Arc::ptr_eq(first, other))
        {
            return first.blocks_at(blocks, places, 1, envelope);
        }
        check_lengths("array_of_blocklengths", blocks)?;
        let parts = blocks.iter().zip(places).zip(types).map(|((length, place), old)| {
            let length: i64 = (*length).into();
            (&old.map, &*old.layout, *place as isize, length as usize)
        });
        Self::made(Map::sequence(parts).ok_or_else(too_large)?, envelope)
    }

    /// Makes the datatype with other bounds (`MPI_Type_create_resized`).
    pub fn resized(width: Width, old: &Arc<Self>, lower_bound: i64, extent: i64) -> Result<Arc<Self>> {
        let map = old.map.clone().bounded(lower_bound as isize, extent as isize).ok_or_else(too_large)?;
        let envelope = Envelope::new(Combiner::Resized).addresses(width, &[lower_bound, extent]);
        Self::made(map, envelope.datatype(old))
    }

    /// Makes a copy, committed if the old datatype is (`MPI_Type_dup`).
    pub fn dup(old: &Arc<Self>) -> Result<Arc<Self>> {
        let copy = Self::made(old.map.clone(), Envelope::new(Combiner::Dup).datatype(old))?;
        if old.is_committed() {
            copy.commit();
        }
        Ok(copy)
    }
}
