//! Channels (SLR): virtual channels between two ranks. Both ends give the channel's number and their own
//! buffers; neither knows the other's addresses. Buffers in regions are copied once, and lists of buffers
//! travel as one message.
//!
//! A thin layer: a channel is a tag on one flow, used in both directions.

use std::ops::Range;
use std::time::{Duration, Instant};

use canele_engine::{FlowId, Want};
use canele_mem::buffer;

use crate::flow::want;
use crate::job::deadline;
use crate::region_messages::{recv_lent, send_lent};
use crate::{Endpoint, Error, Flow, Plain, Rank, Region, Source, Tag, TagMatch};

/// The flow of all channels; the tag is the channel's number.
const CHANNELS: FlowId = FlowId(12);

/// One end of a virtual channel to a peer; see [`Endpoint::channel`]. Messages are received in the order in
/// which the peer sent them.
#[derive(Clone)]
pub struct Channel {
    flow: Flow,
    peer: Rank,
    number: Tag,
}

impl Endpoint {
    /// Opens the channel with a number to a peer, which opens it with the same number. A pair of ranks has as
    /// many channels as there are numbers. Opening costs nothing and needs no agreement.
    ///
    /// ```
    /// # fn main() -> Result<(), canele::Error> {
    /// # let job = canele::Job::start()?;
    /// let channel = job.endpoint().channel(job.rank(), 3)?; // Alone, a rank can talk to itself.
    /// channel.send_list(&[b"two ", b"parts"])?;
    /// let (mut head, mut rest) = ([0; 3], [0; 6]);
    /// assert_eq!(channel.recv_list(vec![&mut head, &mut rest])?, 9);
    /// assert_eq!((&head, &rest), (b"two", b" parts"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Fails if the rank does not exist.
    pub fn channel(&self, peer: Rank, number: u32) -> Result<Channel, Error> {
        if peer.0 >= self.size() {
            return Err(Error::NoSuchRank { rank: peer, size: self.size() });
        }
        Ok(Channel { flow: Flow::new(self.engine.clone(), CHANNELS), peer, number: Tag(number) })
    }
}

impl Channel {
    /// Returns the rank at the other end.
    pub fn peer(&self) -> Rank {
        self.peer
    }

    /// Returns the number of the channel.
    pub fn number(&self) -> u32 {
        self.number.0
    }

    fn want(&self) -> Want {
        want(Source::Is(self.peer), TagMatch::Is(self.number))
    }

    /// Sends items. The caller may change them after the return, even while the message is still under way.
    ///
    /// ```
    /// # fn main() -> Result<(), canele::Error> {
    /// # let job = canele::Job::start()?;
    /// let channel = job.endpoint().channel(job.rank(), 3)?;
    /// channel.send(&[1.5f64, 2.5])?;
    /// let mut numbers = [0.0f64; 4];
    /// assert_eq!(channel.recv(&mut numbers)?, 2);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Fails if the peer has finished or died.
    #[inline]
    pub fn send<T: Plain>(&self, items: &[T]) -> Result<(), Error> {
        self.flow.send(self.peer, self.number, items)
    }

    /// Sends items, waiting at most `wait`; after [`Error::Deadline`] nothing was sent.
    ///
    /// # Errors
    /// Returns the errors of [`Channel::send`], and [`Error::Deadline`].
    pub fn send_deadline<T: Plain>(&self, items: &[T], wait: Duration) -> Result<(), Error> {
        self.flow.send_deadline(self.peer, self.number, items, wait)
    }

    /// Receives the next message, and returns its number of items.
    ///
    /// # Errors
    /// Fails if the message is longer than `items`, or its length is not that of whole items. A longer
    /// message is lost and changes nothing else. Also fails if the peer has finished or died.
    #[inline]
    pub fn recv<T: Plain>(&self, items: &mut [T]) -> Result<usize, Error> {
        whole::<T>(self.flow.recv(self.peer, self.number, items)?.bytes)
    }

    /// Receives the next message, waiting at most `wait`; after [`Error::Deadline`] a later message can still
    /// be received.
    ///
    /// # Errors
    /// Returns the errors of [`Channel::recv`], and [`Error::Deadline`].
    pub fn recv_deadline<T: Plain>(&self, items: &mut [T], wait: Duration) -> Result<usize, Error> {
        whole::<T>(self.flow.recv_deadline(self.peer, self.number, items, wait)?.bytes)
    }

    /// Sends a list of slices as one message, gathered as it leaves.
    ///
    /// # Errors
    /// Returns the errors of [`Channel::send`].
    pub fn send_list(&self, list: &[&[u8]]) -> Result<(), Error> {
        self.send_list_until(list, None)
    }

    /// Sends a list of slices, waiting at most `wait`; after [`Error::Deadline`] nothing was sent.
    ///
    /// # Errors
    /// Returns the errors of [`Channel::send`], and [`Error::Deadline`].
    pub fn send_list_deadline(&self, list: &[&[u8]], wait: Duration) -> Result<(), Error> {
        self.send_list_until(list, deadline(wait))
    }

    fn send_list_until(&self, list: &[&[u8]], deadline: Option<Instant>) -> Result<(), Error> {
        buffer::scope(|scope| {
            let to = (CHANNELS, self.peer, self.number);
            let (result, buffer) = send_lent(&self.flow.engine, to, scope.lend_list(list), deadline);
            scope.take_back(buffer);
            result
        })
    }

    /// Receives one message into a list of slices, scattered as it arrives, and returns the message's length
    /// in bytes.
    ///
    /// # Errors
    /// Returns the errors of [`Channel::recv`].
    pub fn recv_list(&self, list: Vec<&mut [u8]>) -> Result<usize, Error> {
        self.recv_list_until(list, None)
    }

    /// Receives into a list of slices, waiting at most `wait`; after [`Error::Deadline`] a later message can
    /// still be received.
    ///
    /// # Errors
    /// Returns the errors of [`Channel::recv`], and [`Error::Deadline`].
    pub fn recv_list_deadline(&self, list: Vec<&mut [u8]>, wait: Duration) -> Result<usize, Error> {
        self.recv_list_until(list, deadline(wait))
    }

    fn recv_list_until(&self, list: Vec<&mut [u8]>, deadline: Option<Instant>) -> Result<usize, Error> {
        buffer::scope(|scope| {
            let from = (CHANNELS, self.want());
            let (result, buffer) = recv_lent(&self.flow.engine, from, scope.lend_list_mut(list), deadline);
            scope.take_back_mut(buffer);
            result.map(|status| status.bytes)
        })
    }

    /// Sends a range of a region's bytes. Above the eager size they are copied once, straight to the
    /// receiver's buffer. They must not be changed before this returns, or the receiver gets a mixture of old
    /// and new bytes.
    ///
    /// ```
    /// # fn main() -> Result<(), canele::Error> {
    /// # let job = canele::Job::start()?;
    /// let channel = job.endpoint().channel(job.rank(), 4)?;
    /// let region = job.endpoint().region(200)?;
    /// region.write(0, &[9u8; 100])?;
    /// channel.send_region(&region, 0..100)?;
    /// assert_eq!(channel.recv_region(&region, 100..200)?, 100);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Fails as [`Channel::send`] does, and with [`Error::Range`] if the range lies outside of the region.
    pub fn send_region(&self, region: &Region, range: Range<usize>) -> Result<(), Error> {
        self.flow.send_region(self.peer, self.number, region, range)
    }

    /// Sends a range of a region, waiting at most `wait`; after [`Error::Deadline`] nothing was sent.
    ///
    /// # Errors
    /// Returns the errors of [`Channel::send_region`], and [`Error::Deadline`].
    pub fn send_region_deadline(
        &self,
        region: &Region,
        range: Range<usize>,
        wait: Duration,
    ) -> Result<(), Error> {
        self.flow.send_region_deadline(self.peer, self.number, region, range, wait)
    }

    /// Receives one message into a range of a region, and returns the message's length in bytes.
    ///
    /// # Errors
    /// Fails as [`Channel::recv`] does, and with [`Error::Range`] if the range lies outside of the region.
    pub fn recv_region(&self, region: &Region, range: Range<usize>) -> Result<usize, Error> {
        Ok(self.flow.recv_region(self.peer, self.number, region, range)?.bytes)
    }

    /// Receives into a range of a region, waiting at most `wait`; after [`Error::Deadline`] a later message
    /// can still be received.
    ///
    /// # Errors
    /// Returns the errors of [`Channel::recv_region`], and [`Error::Deadline`].
    pub fn recv_region_deadline(
        &self,
        region: &Region,
        range: Range<usize>,
        wait: Duration,
    ) -> Result<usize, Error> {
        Ok(self.flow.recv_region_deadline(self.peer, self.number, region, range, wait)?.bytes)
    }
}

/// Returns the number of items in `bytes`.
fn whole<T>(bytes: usize) -> Result<usize, Error> {
    let size = size_of::<T>().max(1);
    if !bytes.is_multiple_of(size) {
        let what = "bytes of a message of whole items";
        return Err(Error::Lengths { what, given: bytes, needed: bytes.next_multiple_of(size) });
    }
    Ok(bytes / size)
}
