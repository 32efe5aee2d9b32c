//! Accesses to elements of exposed memory, carried out for their origins.
//!
//! Owns the checks before a byte is touched. The layer above defines operations and types
//! ([`RmaOperations`]).

use canele_mem::exposed::{Exposed, ExposedElements};
use canele_mem::layout::Layout;
use canele_sys::ids::Rank;

use super::exposures::Exposures;
use super::{ElementAccess, ElementAction, ExposureKey, MemoryKey, Refusal};

/// The result of an operation on elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    /// The operation was done.
    Done,
    /// Nothing was done, because others access the elements: the next pass tries again, and no other
    /// operation overtakes it.
    Busy,
    /// Nothing was done: there is no such operation on such elements, or they are not aligned or not whole.
    Refused,
}

/// The context of an operation on elements: their exposure, its origin, and the ranks that live.
pub struct ElementsOrigin<'a> {
    /// The exposure.
    pub window: ExposureKey,
    /// The origin.
    pub from: Rank,
    /// Returns true if a rank is gone, so that the locks it holds are free.
    pub is_gone: &'a dyn Fn(Rank) -> bool,
}

/// The operations on elements, of the layer above. Any call that makes progress calls them. They must not
/// call the library, and must not wait.
pub trait RmaOperations: Send + Sync {
    /// Combines packed data with elements: as many bytes, or none for an operation that needs none. `old`, if
    /// given, gets the previous packed bytes.
    fn accumulate(
        &self,
        origin: &ElementsOrigin<'_>,
        operation: (u16, u16),
        target: &ExposedElements<'_>,
        data: &[u8],
        old: Option<&mut [u8]>,
    ) -> Applied;

    /// Replaces one element by the second operand if it equals the first; `old` gets the previous element.
    fn compare_and_swap(
        &self,
        origin: &ElementsOrigin<'_>,
        operation: (u16, u16),
        target: &ExposedElements<'_>,
        operands: [&[u8]; 2],
        old: &mut [u8],
    ) -> Applied;
}

/// The result of an access to elements: `Ok(false)` if it is to be tried again.
pub(super) type Carried = Result<bool, Refusal>;

/// Carries out an access; `old` has room for the elements that it reads.
pub(super) fn carry_out(
    exposures: &Exposures,
    operations: Option<&dyn RmaOperations>,
    (from, is_gone): (Rank, &dyn Fn(Rank) -> bool),
    access: &ElementAccess,
    (layout, data): (&[u8], &[u8]),
    old: &mut [u8],
) -> Carried {
    let MemoryKey::Exposure(window) = access.place.key else { return Err(Refusal::NoRegion) };
    let exposure = exposures.get(window).ok_or(Refusal::NoRegion)?;
    let len = usize::try_from(access.len).map_err(|_| Refusal::Broken)?;
    let (layout, count, skip) = match access.elements {
        Some(elements) => {
            let layout = Layout::decode(layout).ok_or(Refusal::Broken)?;
            let number = |n: u64| usize::try_from(n).map_err(|_| Refusal::Broken);
            (layout, number(elements.count)?, number(elements.skip)?)
        }
        None => (Layout::block(isize::try_from(len).map_err(|_| Refusal::Broken)?.unsigned_abs()), 1, 0),
    };
    let origin = isize::try_from(access.place.offset).map_err(|_| exposure.outside())?;
    let find = |at: isize, len: usize| -> Option<(&Exposed, usize)> { exposure.find(at, len) };
    let elements = ExposedElements::find(&layout, count, origin, (skip, len), &find)
        .ok_or_else(|| exposure.outside())?;
    let given = match access.action {
        ElementAction::Get => data.is_empty(),
        ElementAction::Put => data.len() == len,
        ElementAction::Accumulate | ElementAction::GetAccumulate => data.len() == len || data.is_empty(),
        ElementAction::CompareAndSwap => data.len() == 2 * len,
    };
    if !given {
        return Err(Refusal::Broken);
    }
    let known = || operations.ok_or(Refusal::NotAccumulated);
    let (origin, operation) = (&ElementsOrigin { window, from, is_gone }, access.operation);
    let applied = match access.action {
        ElementAction::Put => {
            elements.store(data);
            Applied::Done
        }
        ElementAction::Get => {
            elements.load(old);
            Applied::Done
        }
        ElementAction::Accumulate => known()?.accumulate(origin, operation, &elements, data, None),
        ElementAction::GetAccumulate => known()?.accumulate(origin, operation, &elements, data, Some(old)),
        ElementAction::CompareAndSwap => {
            let (compare, new) = data.split_at(len);
            known()?.compare_and_swap(origin, operation, &elements, [compare, new], old)
        }
    };
    match applied {
        Applied::Done => Ok(true),
        Applied::Busy => Ok(false),
        Applied::Refused => Err(Refusal::NotAccumulated),
    }
}
