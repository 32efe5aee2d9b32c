//! New flows: all ranks agree on a number that none of them has used.

use canele_sys::ids::FlowId;

use super::{Op, Operation, Reduction, Shape};
use crate::Error;
use crate::engine::Engine;

/// Flow numbers are pairs: of the users' messages, and of their collectives. Below this pair they are the library's.
pub(crate) const FIRST_PAIR: u32 = 4;
const PAIRS: u32 = canele_proto::MAX_FLOWS / 2;

impl Engine {
    /// A flow that is new on all ranks, which all call this on the flow of collectives `parent`. The flow after it is
    /// the one of its collectives.
    ///
    /// # Errors
    /// As [`Engine::collective`]; all flows are used up.
    pub fn create_flow(&self, parent: FlowId) -> Result<FlowId, Error> {
        loop {
            let next = self.enter()?.next_flow;
            let proposed = self.agree(parent, next, Op::Max)?;
            if proposed >= PAIRS {
                let (given, needed) = (PAIRS as usize, proposed as usize + 1);
                return Err(Error::Lengths { what: "flows in the life of a job", given, needed });
            }
            // Another thread may have agreed on the same number, on another parent, meanwhile: then all try again.
            let is_free = {
                let mut core = self.enter()?;
                let is_free = core.next_flow <= proposed;
                core.next_flow = core.next_flow.max(proposed + 1);
                is_free
            };
            if self.agree(parent, u32::from(is_free), Op::Min)? == 1 {
                return Ok(FlowId(2 * proposed));
            }
        }
    }

    fn agree(&self, parent: FlowId, mine: u32, op: Op) -> Result<u32, Error> {
        let (shape, mut agreed) = (Shape { operation: Operation::Allreduce, bytes: 4, element: 4 }, [0u32]);
        let output = bytemuck::cast_slice_mut(&mut agreed);
        self.collective(parent, shape, Some(Reduction::of::<u32>(op)), bytemuck::bytes_of(&mine), output)?;
        Ok(agreed[0])
    }
}
