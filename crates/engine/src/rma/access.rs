//! Accesses to memory that other ranks have exposed: submitted here, waited for one by one or by a flush.

use std::sync::Arc;

use canele_mem::buffer::{InBuffer, OutBuffer};
use canele_mem::layout::Layout;
use canele_proto::rma::{
    CallEnding, ElementAccess, ElementAction, ExposureKey, LEAST_PIECE, MemoryAddress, NewCall, PutReport,
    RmaRequest,
};
use canele_rail::FetchOp;
use canele_sys::ids::Rank;

use crate::engine::Engine;
use crate::{Error, NotStarted, Pending};

/// The place of an access.
#[derive(Clone, Debug)]
pub struct RmaPlace {
    /// The owner of the memory.
    pub owner: Rank,
    /// The key under which the owner has exposed it.
    pub window: ExposureKey,
    /// Bytes from the start of the exposure; the address, if memory is attached.
    pub offset: u64,
    /// The layout and number of the elements from there on; otherwise they are one stretch, as long as the
    /// origin's data.
    pub elements: Option<(Arc<Layout>, usize)>,
}

/// An operation on elements and their type, by the numbers of the layer above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ElementOperation {
    /// The operation.
    pub op: u16,
    /// The type of the elements.
    pub element: u16,
    /// Packed bytes of one element, at most 256.
    pub element_bytes: usize,
    /// Its operation on an element that is a word of 64 bits, if the network may do it. Otherwise only atomic
    /// instructions of the processor change such an element there.
    pub fetch_op: Option<FetchOp>,
}

/// The operation of an access, with the origin's memory.
pub enum Access {
    /// Writes data.
    Put {
        /// The data.
        data: OutBuffer,
    },
    /// Reads elements.
    Get {
        /// The memory for them.
        into: InBuffer,
    },
    /// Combines data with elements.
    Accumulate {
        /// The operation.
        operation: ElementOperation,
        /// Packed elements.
        data: OutBuffer,
    },
    /// Reads elements and combines data with them, as one step for each element.
    GetAccumulate {
        /// The operation.
        operation: ElementOperation,
        /// Packed elements, or none for an operation that needs none.
        data: OutBuffer,
        /// The memory for the previous elements.
        into: InBuffer,
    },
    /// Reads one element and replaces it if it is as expected, as one step.
    CompareAndSwap {
        /// The type of the element.
        operation: ElementOperation,
        /// The expected element, then the new one.
        operands: OutBuffer,
        /// The memory for the previous element.
        into: InBuffer,
    },
}

/// The way in which the end of an access is reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tracked {
    /// By a [`Pending`] of its own.
    Request,
    /// By flushes of the exposure. Its buffers have no lender: they are of `Raw` memory or of regions.
    Counted,
}

impl Engine {
    /// Submits an access, and never waits. The end of a put or an accumulate means that the origin's memory
    /// may be used again. The end of other accesses means that the elements were read.
    ///
    /// Accesses of this rank to one owner are carried out in the order of their submission.
    ///
    /// # Errors
    /// No such rank; the lengths do not fit; the job is over. The memory comes back.
    pub fn access(
        &self,
        place: RmaPlace,
        access: Access,
        tracked: Tracked,
    ) -> Result<Option<Pending>, NotStarted<Access>> {
        let checked = self.check_rank(place.owner).and_then(|()| check_lengths(&place, &access));
        let mut core = match checked.and_then(|()| self.lock_to_submit()) {
            Ok(core) => core,
            Err(error) => return Err(Box::new((error, access))),
        };
        let ending = if tracked == Tracked::Request { CallEnding::Taken } else { CallEnding::Counted };
        let key = core.submit_rma(NewCall { ending, ..new_call(place, access) });
        Ok((tracked == Tracked::Request).then(|| Pending::rma(key).on_lane(self.lane_number())))
    }
}

/// Checks the lengths of the buffers of an access.
fn check_lengths(place: &RmaPlace, access: &Access) -> Result<(), Error> {
    let lengths = |what, given, needed| Err(Error::Lengths { what, given, needed });
    let (len, element) = match access {
        Access::Put { data } => (data.len(), None),
        Access::Get { into } => (into.len(), None),
        Access::Accumulate { operation, data } => (data.len(), Some(operation)),
        Access::GetAccumulate { operation, data, into } => {
            if !data.is_empty() && data.len() != into.len() {
                return lengths("bytes of the data of an accumulate", data.len(), into.len());
            }
            (into.len(), Some(operation))
        }
        Access::CompareAndSwap { operation, operands, into } => {
            let needed = operation.element_bytes;
            if into.len() != needed || operands.len() != 2 * needed {
                return lengths("bytes compared and swapped", operands.len(), 2 * needed);
            }
            (needed, Some(operation))
        }
    };
    if let Some((layout, count)) = &place.elements
        && layout.total(*count) != Some(len)
    {
        return lengths("packed bytes at the target", layout.total(*count).unwrap_or(usize::MAX), len);
    }
    let Some(ElementOperation { element_bytes, .. }) = element else { return Ok(()) };
    if *element_bytes == 0 || *element_bytes > LEAST_PIECE / 2 || !len.is_multiple_of(*element_bytes) {
        return lengths("bytes of elements of an operation", len, *element_bytes);
    }
    Ok(())
}

/// Makes the call of an access.
fn new_call(place: RmaPlace, access: Access) -> NewCall {
    let RmaPlace { owner, window, offset, elements } = place;
    let place = MemoryAddress { key: window.into(), offset };
    // One stretch from the place on needs no description.
    let elements = elements.filter(|(layout, _)| !layout.is_contiguous());
    let of_elements = |action, operation: Option<ElementOperation>, len| {
        let operation = operation.map_or((0, 0), |operation| (operation.op, operation.element));
        RmaRequest::Access(ElementAccess { action, place, operation, len, elements: None })
    };
    let call = |rma_request| NewCall::new(owner, rma_request);
    match access {
        Access::Put { data } => {
            let len = data.len() as u64;
            let rma_request = match &elements {
                None => RmaRequest::Put { place, len, report: PutReport::Flush },
                Some(_) => of_elements(ElementAction::Put, None, len),
            };
            NewCall { elements, data: Some(data), ..call(rma_request) }
        }
        Access::Get { into } => {
            let len = into.len() as u64;
            let rma_request = match &elements {
                None => RmaRequest::Get { place, len },
                Some(_) => of_elements(ElementAction::Get, None, len),
            };
            NewCall { elements, into: Some(into), ..call(rma_request) }
        }
        Access::Accumulate { operation, data } => {
            let rma_request = of_elements(ElementAction::Accumulate, Some(operation), data.len() as u64);
            let ElementOperation { element_bytes, fetch_op, .. } = operation;
            NewCall { elements, element_bytes, fetch_op, data: Some(data), ..call(rma_request) }
        }
        Access::GetAccumulate { operation, data, into } => {
            let rma_request = of_elements(ElementAction::GetAccumulate, Some(operation), into.len() as u64);
            let ElementOperation { element_bytes, fetch_op, .. } = operation;
            NewCall {
                elements,
                element_bytes,
                fetch_op,
                data: Some(data),
                into: Some(into),
                ..call(rma_request)
            }
        }
        Access::CompareAndSwap { operation, operands, into } => {
            let rma_request = of_elements(ElementAction::CompareAndSwap, Some(operation), into.len() as u64);
            let element_bytes = operation.element_bytes;
            NewCall { elements, element_bytes, data: Some(operands), into: Some(into), ..call(rma_request) }
        }
    }
}
