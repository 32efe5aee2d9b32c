//! Tagged messages (BIP): blocking sends and receives, and probes.

use std::sync::Arc;
use std::time::Duration;

use canele_engine::backlog::RailPolicy;

use canele_engine::{Engine, FlowId, Mode, Want};

use crate::job::deadline;
use crate::{Error, Plain, Rank, Status, Tag};

/// An ordered stream of messages among all ranks of the job. Messages of one flow never match receives of
/// another.
///
/// Between two ranks, messages of a flow are matched in the order of sending. When this rank has dropped a
/// flow of [`Flow::duplicate`] with all clones and operations, the flow's number is free again. Messages that
/// were not received there are lost.
#[derive(Clone)]
pub struct Flow {
    pub(crate) engine: Arc<Engine>,
    pub(crate) id: FlowId,
    /// The numbers of a duplicated flow; dropping the last clone frees them.
    #[expect(dead_code, reason = "it is kept, not used, until the flow is dropped")]
    numbers: Option<Arc<FlowNumbers>>,
}

/// The numbers of an agreed flow: that of its messages and that of its collectives.
struct FlowNumbers {
    engine: Arc<Engine>,
    id: FlowId,
}

impl Drop for FlowNumbers {
    fn drop(&mut self) {
        // After the end of the job there is nothing to free.
        let _ = self.engine.free_flow(self.id);
    }
}

/// The source from which a receive takes messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Any rank.
    Any,
    /// One rank.
    Is(Rank),
}

/// The tags that a receive matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TagMatch {
    /// Any tag.
    Any,
    /// This tag.
    Is(Tag),
}

/// The [`Source`] of a receive that takes messages of any rank.
pub const ANY_SOURCE: Source = Source::Any;
/// The [`TagMatch`] of a receive that takes messages with any tag.
pub const ANY_TAG: TagMatch = TagMatch::Any;

impl From<Rank> for Source {
    fn from(rank: Rank) -> Self {
        Self::Is(rank)
    }
}

impl From<Tag> for TagMatch {
    fn from(tag: Tag) -> Self {
        Self::Is(tag)
    }
}

#[inline(always)]
pub(crate) fn want(source: Source, tag: TagMatch) -> Want {
    Want {
        source: match source {
            Source::Any => None,
            Source::Is(rank) => Some(rank),
        },
        tag: match tag {
            TagMatch::Any => None,
            TagMatch::Is(tag) => Some(tag),
        },
    }
}

/// The memory of a message that `fill` writes itself ([`Flow::send_with`]).
pub struct SlotWriter<'a>(canele_mem::window::Window<'a>);

impl SlotWriter<'_> {
    /// Returns the length of the memory in bytes.
    #[allow(clippy::len_without_is_empty)] // It is as long as was asked for.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Writes `items` at `offset` bytes.
    ///
    /// # Panics
    /// Panics if the items do not fit.
    pub fn write<T: Plain>(&mut self, offset: usize, items: &[T]) {
        self.0.write(offset, bytemuck::cast_slice(items));
    }
}

impl Flow {
    /// Returns this flow's lane on this rank, and its number there, for interfaces of other languages. On
    /// another lane the number means another flow.
    #[doc(hidden)]
    pub fn on_lane(&self) -> (&Engine, FlowId) {
        (&self.engine, self.id)
    }

    /// Makes a flow that exists from the start.
    pub(crate) fn new(engine: Arc<Engine>, id: FlowId) -> Self {
        Self { engine, id, numbers: None }
    }

    /// Makes a flow that the ranks have agreed on.
    pub(crate) fn agreed(engine: Arc<Engine>, id: FlowId) -> Self {
        let numbers = Some(Arc::new(FlowNumbers { engine: engine.clone(), id }));
        Self { engine, id, numbers }
    }

    /// Returns this process's rank.
    pub fn rank(&self) -> Rank {
        self.engine.rank()
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> u32 {
        self.engine.size()
    }

    /// Sets the urgency of this rank's later messages on this flow, from 0 to 7; a flow begins with
    /// [`ORDINARY`](crate::strategy::ORDINARY). It has an effect where messages wait, under a strategy that
    /// uses it.
    ///
    /// # Errors
    /// Fails if the level does not exist.
    pub fn set_priority(&self, level: u8) -> Result<(), Error> {
        self.engine.set_flow(self.id, |own, _| *own = level)
    }

    /// Prefers a rail for this rank's messages to other hosts on this flow. While that rail is full, other
    /// rails take them. Rails to other hosts are numbered from 1; messages in shared memory are not affected.
    ///
    /// # Errors
    /// Fails if the rail does not exist, and in a forked child.
    pub fn prefer_rail(&self, rail: u8) -> Result<(), Error> {
        self.engine.set_flow(self.id, |_, policy| *policy = RailPolicy::Prefer(rail))
    }

    /// Sets the only rail that takes this rank's messages to other hosts on this flow. They wait while the
    /// rail's link is lost, and for ever if the other host does not have this rail.
    ///
    /// # Errors
    /// Fails if the rail does not exist, and in a forked child.
    pub fn require_rail(&self, rail: u8) -> Result<(), Error> {
        self.engine.set_flow(self.id, |_, policy| *policy = RailPolicy::Require(rail))
    }

    /// Sends `items`. The caller may change them after the return, even while the message is still under way.
    ///
    /// # Errors
    /// Fails if the rank does not exist, has finished or died.
    #[inline(always)]
    pub fn send<T: Plain>(&self, to: Rank, tag: Tag, items: &[T]) -> Result<(), Error> {
        self.engine.send(to, self.id, tag, Mode::Standard, bytemuck::cast_slice(items), None)
    }

    /// Sends `items` and returns once the receiver has begun to receive them.
    ///
    /// # Errors
    /// Returns the errors of [`Flow::send`].
    pub fn send_sync<T: Plain>(&self, to: Rank, tag: Tag, items: &[T]) -> Result<(), Error> {
        self.engine.send(to, self.id, tag, Mode::Synchronous, bytemuck::cast_slice(items), None)
    }

    /// Sends `items`; the program promises that the receive is posted already. Canelé does not use the
    /// promise: a standard send makes no handshake that it could avoid.
    ///
    /// # Errors
    /// Returns the errors of [`Flow::send`].
    pub fn send_ready<T: Plain>(&self, to: Rank, tag: Tag, items: &[T]) -> Result<(), Error> {
        self.engine.send(to, self.id, tag, Mode::Ready, bytemuck::cast_slice(items), None)
    }

    /// Sends `items`, or fails after `wait`; then nothing was sent.
    ///
    /// # Errors
    /// Returns the errors of [`Flow::send`], and [`Error::Deadline`].
    pub fn send_deadline<T: Plain>(
        &self,
        to: Rank,
        tag: Tag,
        items: &[T],
        wait: Duration,
    ) -> Result<(), Error> {
        self.engine.send(to, self.id, tag, Mode::Standard, bytemuck::cast_slice(items), deadline(wait))
    }

    /// Sends a message of `bytes` bytes that `fill` writes, if possible straight into the rail's memory.
    ///
    /// ```
    /// # let job = canele::Job::start()?; let world = job.world(); let me = job.rank();
    /// # use canele::Tag;
    /// world.send_with(me, Tag(0), 16, |mut slot| {
    ///     slot.write(0, &[1u64]);
    ///     slot.write(8, &[2u64]);
    /// })?;
    /// let mut got = [0u64; 2];
    /// world.recv(me, Tag(0), &mut got)?;
    /// assert_eq!(got, [1, 2]);
    /// # job.finish()
    /// # .map_err(Into::<Box<dyn std::error::Error>>::into)?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Flow::send`].
    pub fn send_with(
        &self,
        to: Rank,
        tag: Tag,
        bytes: usize,
        fill: impl FnOnce(SlotWriter<'_>),
    ) -> Result<(), Error> {
        self.engine.send_with(to, self.id, tag, bytes, |window| fill(SlotWriter(window)))
    }

    /// Receives the next matching message into `items`. The message may be shorter; the status has its
    /// length.
    ///
    /// # Errors
    /// Fails if the message is longer than `items`; it is lost and changes nothing else. Fails if the named
    /// rank does not exist, has finished or died. If a rank died, a receive from any rank fails once on each
    /// flow. It also fails with [`Failure::NoSenderLeft`](crate::Failure::NoSenderLeft) if all others have
    /// finished or died and the only thread of this rank would wait for ever.
    #[inline(always)]
    pub fn recv<T: Plain>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagMatch>,
        items: &mut [T],
    ) -> Result<Status, Error> {
        self.engine.recv(self.id, want(from.into(), tag.into()), bytemuck::cast_slice_mut(items), None)
    }

    /// Receives as [`Flow::recv`] does, or fails after `wait`; then a later message can still be received.
    ///
    /// # Errors
    /// Returns the errors of [`Flow::recv`], and [`Error::Deadline`].
    pub fn recv_deadline<T: Plain>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagMatch>,
        items: &mut [T],
        wait: Duration,
    ) -> Result<Status, Error> {
        self.engine.recv(
            self.id,
            want(from.into(), tag.into()),
            bytemuck::cast_slice_mut(items),
            deadline(wait),
        )
    }

    /// Waits for a matching message and returns the status that a receive would get; the message stays.
    ///
    /// # Errors
    /// Fails if the named rank does not exist, has finished or died, or if no rank is left that could send,
    /// as [`Flow::recv`] does.
    pub fn probe(&self, from: impl Into<Source>, tag: impl Into<TagMatch>) -> Result<Status, Error> {
        self.engine.probe(self.id, want(from.into(), tag.into()), None)
    }

    /// Returns the status that a receive would get now, if there is a message.
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn iprobe(&self, from: impl Into<Source>, tag: impl Into<TagMatch>) -> Result<Option<Status>, Error> {
        self.engine.iprobe(self.id, want(from.into(), tag.into()))
    }

    /// Waits for a matching message and takes it, so that no other thread's receive can get it.
    ///
    /// # Errors
    /// Returns the errors of [`Flow::probe`].
    pub fn mprobe(&self, from: impl Into<Source>, tag: impl Into<TagMatch>) -> Result<Matched, Error> {
        let matched = self.engine.mprobe(self.id, want(from.into(), tag.into()), None)?;
        Ok(Matched::new(self, matched))
    }

    /// Takes a matching message if there is one now.
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn improbe(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagMatch>,
    ) -> Result<Option<Matched>, Error> {
        let matched = self.engine.improbe(self.id, want(from.into(), tag.into()))?;
        Ok(matched.map(|matched| Matched::new(self, matched)))
    }
}

/// A message taken by [`Flow::mprobe`], which no other receive can get. Dropping this value drops the
/// message; to the sender it counts as received.
pub struct Matched {
    flow: Flow,
    status: Status,
    /// None once it is received.
    matched: Option<canele_engine::Matched>,
}

impl Matched {
    fn new(flow: &Flow, matched: canele_engine::Matched) -> Self {
        Self { flow: flow.clone(), status: matched.status, matched: Some(matched) }
    }

    fn recv_bytes(&mut self, bytes: &mut [u8]) -> Result<Status, Error> {
        let matched = self.matched.take().expect("a message is received once");
        self.flow.engine.recv_matched(matched, bytes)
    }

    /// Returns the message's sender, tag and length.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Receives the message.
    ///
    /// # Errors
    /// Fails if the message is longer than `items`, or the sender died.
    pub fn recv<T: Plain>(mut self, items: &mut [T]) -> Result<Status, Error> {
        self.recv_bytes(bytemuck::cast_slice_mut(items))
    }

    /// Receives the message into a vector of the right length.
    ///
    /// # Errors
    /// Fails if the sender died. Fails with [`Error::Lengths`] if the length of the message is not that of
    /// whole items; then the message is lost.
    pub fn recv_vec<T: Plain>(mut self) -> Result<(Status, Vec<T>), Error> {
        let bytes = self.status.bytes;
        let size = size_of::<T>().max(1);
        if !bytes.is_multiple_of(size) {
            self.recv_bytes(&mut vec![0u8; bytes])?;
            return Err(Error::Lengths {
                what: "bytes of a message of whole items",
                given: bytes,
                needed: size,
            });
        }
        let mut items = vec![T::zeroed(); bytes / size];
        let status = self.recv_bytes(bytemuck::cast_slice_mut(&mut items))?;
        Ok((status, items))
    }
}

impl Drop for Matched {
    fn drop(&mut self) {
        if let Some(matched) = self.matched.take() {
            // A forked child has no messages.
            let _ = self.flow.engine.discard_matched(matched);
        }
    }
}
