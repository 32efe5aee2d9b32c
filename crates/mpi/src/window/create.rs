//! Creating and freeing windows (MPI 5.0, §12.2).
//!
//! ```text
//!   all members: a communicator of the window's own, on its lane
//!   each member: its memory, made or given     the first member of each host: the control region
//!        └─ a record of both to all members; if a record reports a failure, all members fail
//!   shared: sizes first ─▶ the first member allocates the memory of all parts
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use canele_engine::{ExposureKey, RegionId};
use canele_sys::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::control::Control;
use super::epoch::{Epochs, FENCE};
use super::exclusion::Excluding;
use super::hints;
use super::making::{
    CONTROL, HAS_VERBS, LACKS_MEMORY, MadeWindow, PAGE, RECORD, WinMemory, allocate, completed, first_here,
    make, shares_host,
};
use super::target::{Reached, RegionPart, ServedCount, WinTarget, reach};
use super::{Flavor, OwnPart, Win, WinSettings, served_beside};
use crate::attribute::Attributes;
use crate::comm::Comm;
use crate::comm::hints::lane_of_object;
use crate::errhandler::Errhandler;
use crate::info::Info;
use crate::{Class, Error, Result, fail};

impl Win {
    /// Makes a window of the members of a communicator, in the function `name`. `given` may be an error of
    /// this member; then all members fail.
    ///
    /// # Errors
    /// Fails if a member failed or died, or if the members of a shared window have no memory in common.
    pub fn create(
        comm: &Comm,
        name: &'static str,
        given: Result<(WinMemory, usize)>,
        info: &Info,
    ) -> Result<Arc<Self>> {
        if comm.is_inter() {
            fail!(Communicator, "comm is an intercommunicator: a window is of one group");
        }
        comm.check_call(name)?;
        let flavor = match name {
            "MPI_Win_create" => Flavor::Create,
            "MPI_Win_allocate" => Flavor::Allocate,
            "MPI_Win_create_dynamic" => Flavor::Dynamic,
            _ => Flavor::Shared,
        };
        if flavor == Flavor::Shared && !shares_host(comm) {
            fail!(
                RmaShared,
                "comm has members on several hosts, which share no memory: use MPI_Comm_split_type"
            );
        }
        let (own, info) = (comm.twin(lane_of_object(info))?, hints::kept(info));
        let made = match flavor {
            Flavor::Shared => Self::make_shared(&own, given, &info)?,
            _ => given.and_then(|(given, unit)| make(&own, given, unit, &info)),
        };
        let made = made.and_then(|made| completed(&own, flavor, made));
        let record = made.as_ref().map_or_else(|error| failed(error), MadeWindow::record);
        let records = match own.numbers_of_all(&record) {
            Ok(records) => records,
            Err(error) => {
                made.into_iter().for_each(|made| made.discard(&own, &error));
                return Err(error);
            }
        };
        let made = made?;
        if let Err(error) = check_all(&records, RECORD) {
            made.discard(&own, &error);
            return Err(error);
        }
        match ready(&own, &made, &records) {
            Ok((control, excluding)) => {
                let ready = Ready { own, control, excluding };
                Ok(Arc::new(Self::of_records(ready, flavor, made, &records, info)))
            }
            Err(error) => {
                made.discard(&own, &error);
                Err(error)
            }
        }
    }

    /// Makes this member's part of a shared window; the first member allocates the memory of all parts.
    fn make_shared(own: &Comm, given: Result<(WinMemory, usize)>, info: &Info) -> Result<Result<MadeWindow>> {
        let apart = i64::from(hints::is_true(info, "alloc_shared_noncontig"));
        let mine = match &given {
            Ok((WinMemory::Shared(bytes), unit)) => [1, *bytes as i64, *unit as i64, apart],
            Ok(_) => [0; 4],
            Err(error) => failed(error),
        };
        let all = own.numbers_of_all(&mine)?;
        let (_, unit) = given?;
        check_all(&all, 4)?;
        let step = if all[3] == 1 { PAGE } else { 1 };
        let mut offsets = vec![0usize];
        for member in all.chunks_exact(4) {
            let end = offsets.last().and_then(|last| last.checked_add(usize::try_from(member[1]).ok()?));
            let Some(end) = end.and_then(|end| end.checked_next_multiple_of(step)) else {
                fail!(NoMemory, "the sizes of all members together exceed the address space");
            };
            offsets.push(end);
        }
        let (rank, total) = (own.rank(), offsets[own.size()].max(1));
        let allocated = match rank {
            0 => allocate(own, total, PAGE),
            _ => Ok(MadeWindow::default()),
        };
        // The first member sends the place; it sends 0 if it could not allocate.
        let region = allocated.as_ref().ok().and_then(|made| made.region);
        let place = region.map_or([0; 4], |(id, bytes, start, own)| {
            [id.to_word().cast_signed(), bytes as i64, start as i64, i64::from(own)]
        });
        let place = match own.numbers_of_all(&place) {
            Ok(places) => places,
            Err(error) => {
                allocated.into_iter().for_each(|made| made.discard(own, &error));
                return Err(error);
            }
        };
        let allocated = allocated?;
        let &[id, bytes, start, is_own, ..] = place.as_slice() else {
            unreachable!("a member has told four numbers")
        };
        if bytes == 0 {
            fail!(NoMemory, "rank 0 cannot allocate {total} bytes for the window");
        }
        let (id, bytes, is_own) = (RegionId::from_word(id.cast_unsigned()), bytes as usize, is_own == 1);
        let offset = (start as usize).saturating_add(offsets[rank]);
        let size = mine[1] as usize;
        // A member that cannot map the region reports it in its record.
        let reached = reach(&own.engine, own.group().member(0), id, bytes, is_own);
        let memory = match reached {
            Ok(memory) => memory,
            Err(error) => {
                let error: Box<Error> = error.into();
                allocated.discard(own, &error);
                return Ok(Err(error));
            }
        };
        // A part without bytes has an address, too; the addresses of its neighbours follow from it.
        let address = match offsets[own.size()] {
            0 => 0,
            _ => memory.address().wrapping_add(offset).expose_provenance(),
        };
        let region = Some((id, bytes, offset, is_own));
        Ok(Ok(MadeWindow { size, unit, address, region, mapped: Some((memory, offset)), ..allocated }))
    }

    fn of_records(ready: Ready, flavor: Flavor, made: MadeWindow, records: &[i64], info: Info) -> Self {
        let Ready { own, control, excluding } = ready;
        let me = own.rank();
        own.set_errhandler(Arc::new(Errhandler::Fatal));
        let target = |(rank, record): (usize, &[i64; RECORD])| -> WinTarget {
            let [kind, size, unit, id, bytes, offset, _, _, _, key, _] = *record;
            let key = (key != 0).then(|| ExposureKey(key.cast_unsigned()));
            let member = own.group().member(rank);
            let owner = if flavor == Flavor::Shared { own.group().member(0) } else { member };
            let mapped = kind > 1 && own.engine.first_lane().maps_memory_of(member);
            WinTarget {
                rank: member,
                size: size as usize,
                unit: unit as usize,
                epoch: AtomicU8::new(0),
                key,
                served: ServedCount::default(),
                region: mapped.then(|| RegionPart {
                    owner,
                    id: RegionId::from_word(id.cast_unsigned()),
                    bytes: bytes as usize,
                    offset: offset as usize,
                    is_own: kind > 2,
                }),
                memory: OnceLock::new(),
            }
        };
        let targets: Box<[WinTarget]> = records.as_chunks().0.iter().enumerate().map(target).collect();
        if let Some((memory, offset)) = made.memory.map(|memory| (memory, 0)).or(made.mapped) {
            targets[me].memory.get_or_init(|| Reached::Here(memory, offset));
        }
        Self {
            control,
            excluding,
            shares_host: shares_host(&own),
            is_served: AtomicBool::new(false),
            is_shared: AtomicBool::new(flavor == Flavor::Shared),
            flushes: AtomicU32::new(0),
            locks: AtomicUsize::new(0),
            flavor,
            targets,
            epoch: AtomicU8::new(0),
            epochs: Mutex::new(Epochs::default()),
            part: OwnPart {
                address: made.address,
                size: AtomicU64::new(made.size as u64),
                unit: AtomicU32::new(made.unit as u32),
                regions: made.regions,
                pieces: made.pieces,
                is_unused: AtomicBool::new(false),
                key: made.key,
            },
            attached: RwLock::new(BTreeMap::new()),
            kept: Mutex::new(WinSettings { name: String::new(), info }),
            attributes: Attributes::new(),
            comm: own,
        }
    }

    /// Fails if the window cannot be freed yet.
    ///
    /// # Errors
    /// Fails if an epoch is open and the window is not revoked.
    pub fn check_free(&self) -> Result<()> {
        if self.check_revoked().is_err() {
            return Ok(());
        }
        let epochs = self.epochs();
        self.check_no_access(&epochs)?;
        self.check_no_exposure(&epochs)?;
        if self.epoch.load(Relaxed) & FENCE != 0 {
            fail!(RmaSync, "accesses were made since MPI_Win_fence: call it again before MPI_Win_free");
        }
        Ok(())
    }

    /// Waits until no live member accesses the window any more.
    ///
    /// # Errors
    /// Fails if a member makes another call.
    pub fn finish(&self) -> Result<()> {
        let flushed = self.flush_all_targets();
        self.sync();
        match self.comm.await_members("MPI_Win_free").and(flushed) {
            // The survivors free the window in any case.
            Err(error) if matches!(error.class, Class::ProcFailed | Class::Revoked) => Ok(()),
            result => {
                // Pieces that a process may still access are never reused.
                self.part.is_unused.store(result.is_ok(), Relaxed);
                result.inspect(|()| self.await_untaken())
            }
        }
    }
}

/// The state that all members have before any of them uses the window.
struct Ready {
    /// The window's own communicator.
    own: Arc<Comm>,
    control: Arc<Control>,
    excluding: Excluding,
}

/// Finds the control memory of this host, and agrees with the other members that each has found its own. No
/// member sends requests before all can serve them.
fn ready(own: &Comm, made: &MadeWindow, records: &[i64]) -> Result<(Arc<Control>, Excluding)> {
    let found = control_of(own, records);
    let words_by_verbs = records.as_chunks::<RECORD>().0.iter().any(|record| record[HAS_VERBS] != 0);
    let excluding = Excluding { words_by_verbs, ..Excluding::new(own.rank(), own.engine.rank()) };
    if let (Some(key), Ok(control)) = (made.key, &found) {
        served_beside(own).add(key, control.clone(), excluding);
    }
    let state = found.as_ref().map_or_else(|error| failed(error), |_| [1, 0]);
    let all_found = own.numbers_of_all(&state).and_then(|states| check_all(&states, state.len()));
    match found.and_then(|control| all_found.map(|()| control)) {
        Ok(control) => Ok((control, excluding)),
        Err(error) => {
            made.key.into_iter().for_each(|key| served_beside(own).remove(key));
            Err(error)
        }
    }
}

/// Returns the control memory of this host.
fn control_of(own: &Comm, records: &[i64]) -> Result<Arc<Control>> {
    let leader = first_here(own);
    let &[id, bytes, at] = &records[leader * RECORD + CONTROL..][..3] else {
        unreachable!("records have a length")
    };
    let id = RegionId::from_word(id.cast_unsigned());
    let memory = reach(&own.engine, own.group().member(leader), id, bytes as usize, false)?;
    Control::new(memory, own.size(), at as usize).map(Arc::new)
}

/// Returns the record of a member that failed.
fn failed<const N: usize>(error: &Error) -> [i64; N] {
    let mut record = [0; N];
    record[1] = if error.class == Class::NoMemory { LACKS_MEMORY } else { 0 };
    record
}

fn check_all(records: &[i64], len: usize) -> Result<()> {
    match records.chunks_exact(len).position(|record| record[0] == 0) {
        Some(rank) => {
            let lacks_memory = records.chunks_exact(len).any(|record| record[..2] == [0, LACKS_MEMORY]);
            let class = if lacks_memory { Class::NoMemory } else { Class::Other };
            Err(Error::new(class, format!("rank {rank} of comm cannot make its part of the window")))
        }
        None => Ok(()),
    }
}
