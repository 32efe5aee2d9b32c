//! Messages between two ranks (MPI 5.0, chapter 3): blocking sends and receives, and probes.

mod buffered;
mod exchange;
mod persistent;
mod probe;
mod start;

pub use buffered::Attachment;
pub use persistent::Handing;
pub use probe::Message;
pub use start::Target;

use canele_engine::{Mode, Rank, Tag, Want};
use canele_mem::buffer::Readable;

use crate::comm::Comm;
use crate::data::{Data, DataMut};
use crate::status::{Origin, Status};
use crate::{Error, Result};

/// Up to here messages do not care where their memory is: two copies at once through memory that both hold in their caches take less time
/// than one that has to be agreed on.
const DIRECT_BYTES: usize = 256 << 10;

/// What a receive accepts.
#[derive(Clone, Copy, Debug)]
pub struct From {
    /// Only from this rank of the job.
    pub source: Option<Rank>,
    /// Only with this tag.
    pub tag: Option<Tag>,
}

impl From {
    pub(crate) fn want(self) -> Want {
        Want { source: self.source, tag: self.tag }
    }
}

impl Comm {
    /// Sends a message and returns when its memory may be used again.
    ///
    /// # Errors
    /// The receiver has finished or died.
    #[inline(always)]
    pub fn send(&self, to: Rank, tag: Tag, mode: Mode, data: Data<'_>) -> Result<()> {
        if data.of.is_contiguous() && !self.is_direct(&data) {
            let bytes = data.raw.bytes(0, data.bytes()?);
            let (lane, flow) = self.flow_of(tag);
            return lane.send(to, flow, tag, mode, bytes, None).map_err(Box::<Error>::from);
        }
        self.send_otherwise(to, tag, mode, data)
    }

    /// Sends bytes that lie one after the other, in standard mode, that the engine's short path has left.
    ///
    /// # Errors
    /// As [`Comm::send`].
    pub fn send_refused(&self, to: Target, data: Data<'_>) -> Result<()> {
        let bytes = data.raw.bytes(0, data.bytes()?);
        let (lane, flow) = self.flow_of(to.tag);
        Ok(lane.send_refused(to.rank, flow, to.tag, bytes)?)
    }

    /// A blocking send from the program's memory, which is lent.
    fn send_lent(&self, to: Target, mode: Mode, data: Data<'_>) -> Result<()> {
        let pending = self.isend_lent(to, mode, data)?;
        self.engine.wait(pending, None)?.result?;
        Ok(())
    }

    /// Whether it is long and in memory that peers can reach.
    #[inline(always)]
    pub(super) fn is_direct<M>(&self, data: &Data<'_, M>) -> bool {
        self.allocated().any() && data.count.saturating_mul(data.of.size()) > DIRECT_BYTES
    }

    /// A blocking send of elements with gaps, or from memory that peers can reach.
    #[inline(never)]
    fn send_otherwise(&self, to: Rank, tag: Tag, mode: Mode, data: Data<'_>) -> Result<()> {
        let len = data.bytes()?;
        if mode != Mode::Synchronous && len <= self.engine.eager_bytes()? {
            let fill = |window: canele_mem::window::Window<'_>| self.lend(data).copy_to(0, window);
            let (lane, flow) = self.flow_of(tag);
            return Ok(lane.send_with(to, flow, tag, len, fill)?);
        }
        self.send_lent(Target { rank: to, tag }, mode, data)
    }

    /// Receives a message.
    ///
    /// # Errors
    /// It is longer than the memory; the sender has finished or died.
    #[inline(always)]
    pub fn recv(&self, from: From, mut data: DataMut<'_>) -> Result<canele_engine::Status> {
        if data.of.is_contiguous() && !self.is_direct(&data) {
            let len = data.bytes()?;
            let bytes = data.raw.bytes_mut(0, len);
            let (lane, flow) = self.flow_for(from);
            return lane.recv(flow, from.want(), bytes, None).map_err(Box::<Error>::from);
        }
        let pending = self.start_receive(from, data)?;
        Ok(self.engine.wait(pending, None)?.result?)
    }

    /// What the engine says of a message, as this communicator counts ranks.
    pub fn status(&self, of: canele_engine::Status) -> Status {
        let source = self.rank_of(of.source).map_or(Origin::Unknown, Origin::Rank);
        Status { source, tag: Some(of.tag.0), bytes: of.bytes, cancelled: false }
    }
}
