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

/// Size in bytes up to which a message is copied twice. Two copies through memory that both processors have
/// cached take less time than the handshake for one direct copy.
const DIRECT_BYTES: usize = 256 << 10;

/// The messages that a receive accepts.
#[derive(Clone, Copy, Debug)]
pub struct From {
    /// The source, a rank of the job; none for any source.
    pub source: Option<Rank>,
    /// The tag; none for any tag.
    pub tag: Option<Tag>,
}

impl From {
    pub(crate) fn want(self) -> Want {
        Want { source: self.source, tag: self.tag }
    }
}

impl Comm {
    /// Sends a message; returns when its memory may be reused.
    ///
    /// # Errors
    /// Fails if the receiver has finished or died.
    #[inline(always)]
    pub fn send(&self, to: Rank, tag: Tag, mode: Mode, data: Data<'_>) -> Result<()> {
        if data.of.is_contiguous() && !self.is_direct(&data) {
            let bytes = data.raw.bytes(0, data.bytes()?);
            let (lane, flow) = self.flow_of(tag);
            return lane.send(to, flow, tag, mode, bytes, None).map_err(Box::<Error>::from);
        }
        self.send_otherwise(to, tag, mode, data)
    }

    /// Sends contiguous bytes in standard mode after the engine's short path refused them.
    ///
    /// # Errors
    /// Fails like [`Comm::send`].
    pub fn send_refused(&self, to: Target, data: Data<'_>) -> Result<()> {
        let bytes = data.raw.bytes(0, data.bytes()?);
        let (lane, flow) = self.flow_of(to.tag);
        Ok(lane.send_refused(to.rank, flow, to.tag, bytes)?)
    }

    /// Sends from the program's memory, which is lent, and waits.
    fn send_lent(&self, to: Target, mode: Mode, data: Data<'_>) -> Result<()> {
        let pending = self.isend_lent(to, mode, data)?;
        self.engine.wait(pending, None)?.result?;
        Ok(())
    }

    /// Returns true if the data is long and lies in memory that peers can access.
    #[inline(always)]
    pub(super) fn is_direct<M>(&self, data: &Data<'_, M>) -> bool {
        self.allocated().any() && data.count.saturating_mul(data.of.size()) > DIRECT_BYTES
    }

    /// Sends elements with gaps, or elements in memory that peers can access, and waits.
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
    /// Fails if the message is longer than the memory, or the sender has finished or died.
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

    /// Converts a status of the engine; the source becomes a rank of this communicator.
    pub fn status(&self, of: canele_engine::Status) -> Status {
        let source = self.rank_of(of.source).map_or(Origin::Unknown, Origin::Rank);
        Status { source, tag: Some(of.tag.0), bytes: of.bytes, cancelled: false }
    }
}
