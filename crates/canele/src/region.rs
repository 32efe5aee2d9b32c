//! Regions and one-sided operations (PUT): memory that peers read and write. On one host this needs no help
//! of the owner.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use canele_engine::Notice;
use canele_engine::{Engine, RegionId, RegionMemory};
use canele_sys::atomic::Ordering;

use crate::job::deadline;
use crate::{Endpoint, Error, Plain, Rank};

/// Memory allocated by Canelé that peers may read and write at any time. So the owner accesses it by copying.
///
/// Threads of this process may also write and read a region at the same time: its bytes are racy. A copy
/// accesses each byte once, and a reader gets for each byte a value that some thread wrote. Several bytes,
/// even of one number, may be a mixture of writes. Use atomic operations ([`RemoteRegion::fetch_add`]),
/// notices or messages where that matters.
///
/// A new region is zeroed. Dropping the region frees it; transfers that are pending then still end.
///
/// Ranks of this host map the region. For ranks of other hosts the owner's library reads and writes it
/// whenever a thread of the owner makes progress. That is in any call that waits or tests, or all the time
/// with `CANELE_PROGRESS_THREAD=1`. Operations have the same meaning either way. From another host they can
/// also fail because the owner has finished, died, or dropped the region ([`Error::Refused`]).
pub struct Region {
    engine: Arc<Engine>,
    pub(crate) region: Arc<canele_engine::Region>,
    /// The names under which the region was published.
    names: Mutex<Vec<String>>,
}

/// A region of some rank, including this one, as seen from this rank. It is mapped as long as one of its
/// clones lives, even if its owner drops it.
#[derive(Clone)]
pub struct RemoteRegion {
    engine: Arc<Engine>,
    owner: Rank,
    pub(crate) id: RegionId,
    pub(crate) far: Arc<RegionMemory>,
}

impl Endpoint {
    /// Allocates a region of `bytes`.
    ///
    /// ```
    /// # let job = canele::Job::start()?; let endpoint = job.endpoint();
    /// use std::time::Duration;
    /// let region = endpoint.region(4096)?;
    /// region.publish("table")?;
    /// let table = endpoint.find_region("table", Duration::from_secs(5))?;
    /// table.put_notify(0, &[3.5f64], 17)?;
    /// assert_eq!(endpoint.wait_notice(None)?.id, 17);
    /// let mut value = [0.0];
    /// region.read(0, &mut value)?;
    /// assert_eq!(value, [3.5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if there is not enough memory. The error names the memory needed and the memory available.
    pub fn region(&self, bytes: usize) -> Result<Region, Error> {
        let region = self.engine.create_region(bytes)?;
        Ok(Region { engine: self.engine.clone(), region, names: Mutex::default() })
    }

    /// Finds a region that any rank published; waits until it exists, at most `wait`.
    ///
    /// # Errors
    /// Fails with [`Error::Deadline`] if the time is over. Fails if the region was dropped meanwhile.
    pub fn find_region(&self, name: &str, wait: Duration) -> Result<RemoteRegion, Error> {
        self.find_published(&format!("region {name}"), deadline(wait))
    }

    /// Returns the region that an object of any kind published under this name.
    pub(crate) fn find_published(&self, name: &str, at: Option<Instant>) -> Result<RemoteRegion, Error> {
        let value = self.engine.find(name, at)?;
        let (owner, id, bytes) = decode(&value).ok_or_else(|| Error::NameTaken(name.to_owned()))?;
        let far = self.engine.reach_region(owner, id, bytes, at)?;
        Ok(RemoteRegion { engine: self.engine.clone(), owner, id, far })
    }

    /// Returns the next notice of a peer's put, if one has arrived.
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn try_notice(&self) -> Result<Option<Notice>, Error> {
        self.engine.try_notice()
    }

    /// Waits for the next notice, without limit or at most `wait`.
    ///
    /// # Errors
    /// Fails with [`Error::Deadline`] if the time is over. Fails if the job is over. A wait without limit
    /// fails if no rank is left that could send, as [`Flow::recv`](crate::Flow::recv) does.
    pub fn wait_notice(&self, wait: Option<Duration>) -> Result<Notice, Error> {
        self.engine.wait_notice(wait.and_then(deadline))
    }

    /// Calls `call` for notices with identifiers in `ids`, from within any call that makes progress; `call`
    /// must not call the library. These notices are not returned by [`Endpoint::try_notice`] and
    /// [`Endpoint::wait_notice`].
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn on_notice(&self, ids: Range<u64>, call: impl FnMut(Notice) + Send + 'static) -> Result<(), Error> {
        self.engine.on_notice(ids, Box::new(call))
    }
}

fn encode(owner: Rank, id: RegionId, bytes: usize) -> Vec<u8> {
    let words = [owner.0, id.index, id.generation].map(u32::to_le_bytes).concat();
    [words, (bytes as u64).to_le_bytes().to_vec()].concat()
}

fn decode(value: &[u8]) -> Option<(Rank, RegionId, usize)> {
    let word = |at: usize| Some(u32::from_le_bytes(value.get(at..at + 4)?.try_into().ok()?));
    let bytes = u64::from_le_bytes(value.get(12..20)?.try_into().ok()?);
    Some((Rank(word(0)?), RegionId { index: word(4)?, generation: word(8)? }, usize::try_from(bytes).ok()?))
}

impl Region {
    /// Returns the engine's region, for interfaces of other languages.
    #[doc(hidden)]
    pub fn memory(&self) -> &Arc<canele_engine::Region> {
        &self.region
    }

    /// Returns the length of the region in bytes.
    #[allow(clippy::len_without_is_empty)] // A region is never empty.
    pub fn len(&self) -> usize {
        self.region.len()
    }

    /// Returns the first address of the region in this process, valid as long as the region lives. Other
    /// ranks and threads may access that memory at any time.
    pub fn address(&self) -> *mut u8 {
        self.region.address()
    }

    /// Lets any rank find the region under `name`, until it is dropped.
    ///
    /// # Errors
    /// Fails if the name is taken.
    pub fn publish(&self, name: &str) -> Result<(), Error> {
        self.publish_as(&format!("region {name}"))
    }

    /// Publishes the region under the name of the object that it contains.
    pub(crate) fn publish_as(&self, name: &str) -> Result<(), Error> {
        self.engine.publish(name, &encode(self.engine.rank(), self.region.id(), self.len()))?;
        self.names.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
        Ok(())
    }

    /// Withdraws the names under which the region was published.
    pub(crate) fn withdraw_names(&self) {
        let names = std::mem::take(&mut *self.names.lock().unwrap_or_else(PoisonError::into_inner));
        for name in names {
            // The error is ignored, as for the region itself.
            let _ = self.engine.withdraw(&name);
        }
    }

    /// Returns this region as other ranks see it.
    pub fn remote(&self) -> RemoteRegion {
        let (owner, id, far) = (self.engine.rank(), self.region.id(), self.region.far());
        RemoteRegion { engine: self.engine.clone(), owner, id, far }
    }

    /// Copies items out of the region, from `offset` bytes on.
    ///
    /// # Errors
    /// Fails if the range lies outside, or the job is over.
    pub fn read<T: Plain>(&self, offset: usize, items: &mut [T]) -> Result<(), Error> {
        self.remote().get(offset, items)
    }

    /// Copies items into the region, from `offset` bytes on.
    ///
    /// # Errors
    /// Fails if the range lies outside, or the job is over.
    pub fn write<T: Plain>(&self, offset: usize, items: &[T]) -> Result<(), Error> {
        self.engine.check_unfinished()?;
        let (bytes, region): (&[u8], _) = (bytemuck::cast_slice(items), self.len());
        let window = self.region.window(offset, bytes.len());
        window.ok_or(Error::Range { offset, len: bytes.len(), region })?.write(0, bytes);
        Ok(())
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.withdraw_names();
        // After the end of the job the launcher has removed it already.
        let _ = self.engine.drop_region(self.region.id());
    }
}

impl RemoteRegion {
    /// Returns the rank that owns the region.
    pub fn owner(&self) -> Rank {
        self.owner
    }

    /// Records an access, if this rank is traced.
    #[inline(always)]
    fn trace(&self, name: &'static str, bytes: usize) {
        self.engine.trace_access(name, self.owner, bytes, self.far.place().is_none());
    }

    /// Writes items at `offset` bytes. On return the write is complete at both ends; an owner on another host
    /// has acknowledged it.
    ///
    /// # Errors
    /// Fails if the range lies outside. If the owner is on another host, fails with [`Error::Refused`] if it
    /// refuses the write, and fails if it has finished or died.
    pub fn put<T: Plain>(&self, offset: usize, items: &[T]) -> Result<(), Error> {
        self.engine.check_unfinished()?;
        let bytes: &[u8] = bytemuck::cast_slice(items);
        self.trace("put", bytes.len());
        self.engine.put(&self.far, offset, bytes)
    }

    /// Reads items from `offset` bytes on.
    ///
    /// # Errors
    /// Returns the errors of [`RemoteRegion::put`].
    pub fn get<T: Plain>(&self, offset: usize, items: &mut [T]) -> Result<(), Error> {
        self.engine.check_unfinished()?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(items);
        self.trace("get", bytes.len());
        match self.far.window(offset, bytes.len()) {
            Some(window) => window.read(0, bytes),
            None => return self.engine.get_remote(&self.far, offset, bytes),
        }
        Ok(())
    }

    /// Writes items and then shows the owner the identifier `notice`. The items are in the region when the
    /// owner sees the notice; few items travel with it in one cache line. On return the caller may change the
    /// items, even while they are still under way. The owner sees notices of a rank in the order of the
    /// rank's calls.
    ///
    /// # Errors
    /// Fails if the range lies outside, or the owner has finished or died. If the owner is on another host,
    /// the next [`RemoteRegion::fence`] reports other errors, and the owner does not see the notice.
    #[inline]
    pub fn put_notify<T: Plain>(&self, offset: usize, items: &[T], notice: u64) -> Result<(), Error> {
        self.engine.check_unfinished()?;
        let bytes: &[u8] = bytemuck::cast_slice(items);
        self.engine.trace_notify(self.owner, bytes.len(), self.far.place().is_none(), notice);
        self.engine.put_notify(self.owner, &self.far, self.id, offset, bytes, notice)
    }

    /// Waits, at most `wait`, until all items that this rank has put into the region are in the owner's
    /// memory.
    ///
    /// # Errors
    /// Fails with [`Error::Deadline`] if the time is over. Fails if the owner has finished or died. Fails
    /// with [`Error::Refused`] if a put with a notice since the last fence to this owner went to a dropped
    /// region; the error names the first.
    pub fn fence(&self, wait: Option<Duration>) -> Result<(), Error> {
        self.engine.fence(self.owner, wait.and_then(deadline))
    }

    /// Adds `n` to the 64-bit word at `offset` (a multiple of 8), atomically among all ranks; returns the old
    /// value.
    ///
    /// # Errors
    /// Fails as [`RemoteRegion::put`] does, and if the word lies outside or is not aligned.
    pub fn fetch_add(&self, offset: usize, n: u64) -> Result<u64, Error> {
        self.engine.check_unfinished()?;
        self.trace("fetch-and-add", 8);
        match self.far.word(offset) {
            // SeqCst: all atomic operations of all ranks have one order, which users expect.
            Some(word) => Ok(word.fetch_add(n, Ordering::SeqCst)),
            None => self.engine.add_remote(&self.far, offset, n),
        }
    }

    /// Replaces the 64-bit word at `offset` by `new` if it is `expected`; returns the old value.
    ///
    /// # Errors
    /// Returns the errors of [`RemoteRegion::fetch_add`].
    pub fn compare_and_swap(&self, offset: usize, expected: u64, new: u64) -> Result<u64, Error> {
        self.engine.check_unfinished()?;
        self.trace("compare-and-swap", 8);
        let Some(word) = self.far.word(offset) else {
            return self.engine.swap_remote(&self.far, offset, expected, new);
        };
        let swapped = word.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst);
        Ok(swapped.unwrap_or_else(|seen| seen))
    }
}
