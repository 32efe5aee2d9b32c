//! Regions of this rank and of its peers, and the one-sided operations on them (PUT).

use std::sync::Arc;
use std::time::Instant;

use canele_proto::wire::{MAX_PUT, Put};
use canele_proto::{Moved, Notice, Received, Sent};
use canele_rail::Rail;
use canele_rail::shm::{Elsewhere, Far, Region};
use canele_sys::atomic::{AtomicU64, Ordering::Relaxed};
use canele_sys::buffer::Place;
use canele_sys::ids::{Rank, RegionId};
use canele_sys::relax;

use crate::Error;
use crate::anybody::or_nobody;
use crate::control::ToLauncher;
use crate::core::{Callback, Core};
use crate::engine::{Engine, Inside};
use crate::tagged::{LOOKS, LOOKS_PER_PASS};
use crate::wait::Unmet;

/// Small puts towards one peer that wait for room before a caller has to wait too.
const MOST_WAITING: usize = 64;

/// Puts without a notice, which do not go through the gate: they are stores and nothing else, at any time.
#[derive(Default)]
pub(crate) struct Puts {
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl Puts {
    fn add(&self, bytes: usize) {
        // Relaxed, here and below: a counter publishes nothing.
        self.messages.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    pub fn so_far(&self) -> Moved {
        Moved { messages: self.messages.load(Relaxed), bytes: self.bytes.load(Relaxed) }
    }
}

/// Puts to a peer: how many left, and how many of them are known to be there.
#[derive(Clone, Copy, Default)]
pub(crate) struct Fenced {
    pub issued: u64,
    confirmed: u64,
}

impl Fenced {
    /// Those that a fence begun now waits for, if any.
    fn open(&self) -> Option<u64> {
        (self.confirmed < self.issued).then_some(self.issued)
    }

    /// A fence that began after so many has been answered.
    pub fn confirm(&mut self, issued: u64) {
        self.confirmed = self.confirmed.max(issued);
    }
}

impl Engine {
    /// Allocates a region of `bytes`, zeroed, that peers can reach by its id.
    ///
    /// # Errors
    /// Not enough memory; the launcher is gone.
    pub fn create_region(&self, bytes: usize) -> Result<Arc<Region>, Error> {
        let core = self.enter_to_submit()?;
        self.make_region(core, bytes).1
    }

    /// The same, from inside.
    pub(crate) fn make_region<'a>(
        &'a self,
        mut core: Inside<'a>,
        bytes: usize,
    ) -> (Inside<'a>, Result<Arc<Region>, Error>) {
        let region = match core.announce_region(bytes) {
            Ok(region) => region,
            Err(error) => return (core, Err(error)),
        };
        if core.control.is_none() {
            return (core, Ok(region));
        }
        let id = region.id().to_word();
        let ready = |core: &mut Core| match core.check() {
            Ok(()) => core.known_regions.iter().position(|known| *known == id).map(|at| {
                core.known_regions.swap_remove(at);
                Ok(())
            }),
            Err(error) => Some(Err(error)),
        };
        match self.wait_for(core, None, ready) {
            Ok((core, known)) => (core, known.map(|()| region)),
            Err((core, Unmet::Error(error))) => (core, Err(error)),
            Err((_, Unmet::Deadline)) => unreachable!("there is no deadline"),
        }
    }

    /// Gives a region up. Peers that have mapped it keep their view; transfers under way end in good order.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn drop_region(&self, id: RegionId) -> Result<(), Error> {
        self.enter()?.drop_region(id)
    }

    /// A region of `bytes` of any rank: mapped here, or if its owner runs on another host, where it is.
    ///
    /// # Errors
    /// There is no such region on this host; the deadline passed.
    pub fn reach_region(
        &self,
        owner: Rank,
        id: RegionId,
        bytes: usize,
        deadline: Option<Instant>,
    ) -> Result<Arc<Far>, Error> {
        self.check_rank(owner)?;
        if self.is_elsewhere(owner) {
            return Ok(Arc::new(Far::elsewhere(Elsewhere { owner, region: id, bytes })));
        }
        let core = self.enter_to_submit()?;
        let ready = |core: &mut Core| {
            if owner == core.proto.me() {
                return Some(core.rails.shm.regions.own(id).map(|region| region.far()));
            }
            core.rails.shm.regions.map(owner, id)
        };
        match self.wait_for(core, deadline, ready) {
            Ok((_core, Some(far))) => Ok(far),
            Ok((_core, None)) => Err(crate::Failure::RegionLost(owner).into()),
            Err((_core, Unmet::Deadline)) => Err(Error::Deadline(format!("a region of {owner}"))),
            Err((_core, Unmet::Error(error))) => Err(error),
        }
    }

    /// Writes `bytes` into a region. Complete at both ends on return.
    ///
    /// # Errors
    /// The range lies outside of the region. On another host: the region was dropped; its owner has finished or died.
    pub fn put(&self, far: &Far, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        match far.window(offset, bytes.len()) {
            Some(window) => window.write(0, bytes),
            None => return self.put_elsewhere(far, offset, bytes, None),
        }
        self.puts.add(bytes.len());
        Ok(())
    }

    /// Writes `bytes` into a region of `to` and then shows it the identifier `notice`. What a notice announces is there
    /// when the notice is seen.
    ///
    /// # Errors
    /// The range lies outside of the region; the peer is gone.
    pub fn put_notify(
        &self,
        to: Rank,
        far: &Far,
        id: RegionId,
        offset: usize,
        bytes: &[u8],
        notice: u64,
    ) -> Result<(), Error> {
        let Some(window) = far.window(offset, bytes.len()) else {
            return self.put_elsewhere(far, offset, bytes, Some(notice));
        };
        let mut core = self.enter()?;
        let place = Place { region: id, offset: offset as u64 };
        let data = if bytes.len() <= MAX_PUT { bytes } else { &[] };
        if bytes.len() <= MAX_PUT {
            core.fences[to.0 as usize].issued += 1;
        } else {
            if let Some(failure) = core.proto.why_gone(to) {
                return core.check().and(Err(failure.into()));
            }
            window.write(0, bytes);
        }
        if to == core.proto.me() {
            window.write(0, bytes);
            core.proto.notice_self(notice);
            core.proto.traffic.put(bytes.len());
            return Ok(());
        }
        let inner = &mut *core;
        inner.proto.traffic.put(bytes.len());
        if inner.proto.try_put(&mut inner.rails, to, place, notice, data) == Sent::Done {
            return Ok(());
        }
        let mut put = Put { place, notice, data: [0; MAX_PUT], len: data.len() };
        put.data[..data.len()].copy_from_slice(data);
        self.put_otherwise(core, to, put)
    }

    /// A put that cannot go at once; waits while very many do.
    #[cold]
    fn put_otherwise(&self, mut core: Inside<'_>, to: Rank, put: Put) -> Result<(), Error> {
        if self.is_elsewhere(to) {
            // Without data, for which there is room even in memory that is not here.
            return self.notify_elsewhere(core, to, put.place, put.notice);
        }
        let inner = &mut *core;
        if let Err(failure) = inner.proto.submit_put(&mut inner.rails, to, put) {
            return core.check().and(Err(failure.into()));
        }
        self.rouse(&core);
        let room = |core: &mut Core| (core.proto.replies_waiting(to) <= MOST_WAITING).then_some(());
        match self.wait_for(core, None, room) {
            Ok(_) => Ok(()),
            Err((_core, Unmet::Error(error))) => Err(error),
            Err((_core, Unmet::Deadline)) => unreachable!("there is no deadline"),
        }
    }

    /// Waits until everything put to `peer` so far is in its memory.
    ///
    /// # Errors
    /// The peer is gone; the deadline passed; a rank of another host refused one of the puts with a notice since the last
    /// fence, the first of which is named.
    pub fn fence(&self, peer: Rank, deadline: Option<Instant>) -> Result<(), Error> {
        self.check_rank(peer)?;
        let mut core = self.enter_to_submit()?;
        let issued = match core.fences[peer.0 as usize].open() {
            Some(issued) if peer != core.proto.me() => issued,
            _ => {
                // Copies into mapped regions are complete; let nothing overtake them.
                canele_sys::atomic::fence(canele_sys::atomic::Ordering::SeqCst);
                return Ok(());
            }
        };
        if self.is_elsewhere(peer) {
            return self.fence_elsewhere(core, peer, issued, deadline);
        }
        core.tickets += 1;
        let ticket = core.tickets;
        let inner = &mut *core;
        inner.proto.submit_fence(&mut inner.rails, peer, ticket)?;
        let ready = |core: &mut Core| {
            if let Some(at) = core.fenced.iter().position(|answer| *answer == (peer, ticket)) {
                core.fenced.swap_remove(at);
                return Some(Ok(()));
            }
            core.proto.why_gone(peer).map(|failure| Err(Error::from(failure)))
        };
        match self.wait_for(core, deadline, ready) {
            Ok((mut core, result)) => {
                if result.is_ok() {
                    core.fences[peer.0 as usize].confirm(issued);
                }
                result
            }
            Err((_core, Unmet::Deadline)) => {
                Err(Error::Deadline(format!("{peer} to confirm what was put there")))
            }
            Err((_core, Unmet::Error(error))) => Err(error),
        }
    }

    /// The next notice, if one has come; makes progress once if not.
    ///
    /// # Errors
    /// The job is over.
    pub fn try_notice(&self) -> Result<Option<Notice>, Error> {
        let mut core = self.enter_to_submit()?;
        if let Some(notice) = core.proto.take_notice() {
            return Ok(Some(notice));
        }
        core.pass();
        Ok(core.proto.take_notice())
    }

    /// Waits for the next notice.
    ///
    /// # Errors
    /// The deadline passed; there is none, and nobody is left who could put anything; the job is over.
    pub fn wait_notice(&self, deadline: Option<Instant>) -> Result<Notice, Error> {
        let mut core = self.enter_to_submit()?;
        if let Some(notice) = look_for_notice(&mut core) {
            return Ok(notice);
        }
        if deadline.is_none() {
            return or_nobody(self.wait_for_anybody(core, |core| core.proto.take_notice().map(Ok)));
        }
        match self.wait_for(core, deadline, |core| core.proto.take_notice()) {
            Ok((_core, notice)) => Ok(notice),
            Err((_core, Unmet::Deadline)) => Err(Error::Deadline("a notice".to_owned())),
            Err((_core, Unmet::Error(error))) => Err(error),
        }
    }

    /// Calls `call` for every notice whose identifier lies in `ids`, from within whatever call makes progress. It must
    /// not call the library. Such notices are no longer seen by polling.
    ///
    /// # Errors
    /// The job is over.
    pub fn on_notice(
        &self,
        ids: std::ops::Range<u64>,
        call: Box<dyn FnMut(Notice) + Send>,
    ) -> Result<(), Error> {
        self.enter_to_submit()?.callbacks.push(Callback { ids, call });
        Ok(())
    }
}

/// Looks a while where notices come, before a wait begins.
fn look_for_notice(guard: &mut Inside<'_>) -> Option<Notice> {
    let looks = if guard.habits.crowded || !guard.callbacks.is_empty() { 0 } else { LOOKS };
    for n in 1..=looks {
        if let Some(notice) = guard.proto.take_notice() {
            return Some(notice);
        }
        let core = &mut **guard;
        for at in 0..core.rails.incoming().len() {
            let Some(link) = core.rails.incoming().get(at).copied() else { break };
            match core.proto.try_notice(&mut core.rails, link) {
                Received::Done(notice) => return Some(notice),
                Received::Nothing => {}
                Received::NotHere => {
                    core.proto.receive_from(&mut core.rails, link);
                }
            }
        }
        relax::between_looks();
        if n.is_multiple_of(LOOKS_PER_PASS) {
            guard.pass();
            if guard.contended() {
                return None;
            }
        }
    }
    None
}

impl Core {
    /// Allocates a region and says so to the launcher, which answers.
    fn announce_region(&mut self, bytes: usize) -> Result<Arc<Region>, Error> {
        let region = self.rails.shm.regions.create(bytes)?;
        self.counts.system_calls += 5;
        let Some(control) = &self.control else { return Ok(region) };
        let (owner, id) = (self.proto.me().0, region.id().to_word());
        control.send(&ToLauncher::Region { id }, &[region.fd()])?;
        // A message that names the region is faster than the launcher: a peer must not ask before the launcher knows.
        control.send(&ToLauncher::FindRegion { owner, id }, &[])?;
        Ok(region)
    }

    /// As [`Engine::drop_region`].
    pub(crate) fn drop_region(&mut self, id: RegionId) -> Result<(), Error> {
        self.rails.shm.regions.drop_own(id);
        self.tell(&ToLauncher::DropRegion { id: id.to_word() })
    }

    /// Gives notices to the callbacks registered for them.
    pub fn call_back(&mut self) {
        let callbacks = &mut self.callbacks;
        self.proto.retain_notices(|notice| match callbacks.iter_mut().find(|c| c.ids.contains(&notice.id)) {
            Some(callback) => {
                (callback.call)(notice);
                false
            }
            None => true,
        });
    }
}
