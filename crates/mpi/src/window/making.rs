//! The memory of a member's part of a window: given by the program, a piece of the arena, or a region of its
//! own.
//!
//! This module makes the memory, the control memory of the host and the exposure to members of other hosts.
//! It frees them if the creation of the window fails.

use std::sync::Arc;

use canele_engine::{Exposed, ExposureKey, Rank, RegionId, RegionMemory};

use super::Flavor;
use super::control::Control;
use crate::comm::Comm;
use crate::info::Info;
use crate::memory::ArenaPiece;
use crate::{Class, Error, Result, fail};

/// The memory that a member gives a window.
pub enum WinMemory {
    /// Memory of the program.
    Program(RegionMemory),
    /// No memory.
    Nothing,
    /// This many bytes are allocated.
    Allocate(usize),
    /// This many bytes are allocated, shared with the other members.
    Shared(usize),
    /// Memory is attached later.
    Dynamic,
}

/// The page size, to which parts of a shared window are aligned if they need not be contiguous.
pub(super) const PAGE: usize = 4096;

/// Longer parts get a region of their own, which is freed with the window. Shorter parts are pieces of
/// existing regions of the process.
const LONGEST_PIECE: usize = 1 << 20;

/// Number of values in the record of a member.
pub(super) const RECORD: usize = 11;

/// Index in a record: 1 if the member may access other members' memory by verbs.
pub(super) const HAS_VERBS: usize = 10;

/// Index in a record of the control memory: region, its length, and the offset there.
pub(super) const CONTROL: usize = 6;

/// Follows a 0 in the record of a failed member: the member has no memory left.
pub(super) const LACKS_MEMORY: i64 = 1;

/// The resources that a member has made for a window.
#[derive(Default)]
pub(super) struct MadeWindow {
    pub size: usize,
    pub unit: usize,
    /// The address of the member's part in this process.
    pub address: usize,
    /// The member's part in memory that peers can map: the region, its length, the offset of the part, and
    /// true if the window owns the region.
    pub region: Option<(RegionId, usize, usize, bool)>,
    /// The member's part in memory of the program that peers cannot map.
    pub memory: Option<Arc<RegionMemory>>,
    /// The mapping that holds its part of a shared window, and the offset there. The program has this address
    /// for the lifetime of the window.
    pub mapped: Option<(Arc<RegionMemory>, usize)>,
    /// True if this member may access other members' memory by verbs.
    pub has_verbs: bool,
    pub regions: Vec<Arc<canele_engine::Region>>,
    pub pieces: Vec<ArenaPiece>,
    /// The control memory, made by the first member of each host: region, its length, offset.
    pub control: Option<(RegionId, usize, usize)>,
    /// The key under which its part is served to members that cannot map it.
    pub key: Option<ExposureKey>,
}

impl MadeWindow {
    /// Frees the resources of a window whose creation failed with this error. If a member died, other members
    /// may have the window. Memory that they may access is then not reused.
    pub fn discard(self, own: &Comm, why: &Error) {
        if let Some(key) = self.key {
            // The error of the creation is reported.
            let _ = own.engine.unexpose(key);
        }
        for region in self.regions {
            let _ = own.engine.first_lane().drop_region(region.id());
        }
        if !matches!(why.class, Class::ProcFailed | Class::Revoked) {
            self.pieces.iter().for_each(|piece| own.allocated().give(piece));
        }
    }

    pub fn record(&self) -> [i64; RECORD] {
        let word = |id: RegionId| id.to_word().cast_signed();
        let (id, bytes, offset, own) =
            self.region.map_or((0, 0, 0, false), |(id, bytes, offset, own)| (word(id), bytes, offset, own));
        let control =
            self.control.map_or([0; 3], |(id, bytes, offset)| [word(id), bytes as i64, offset as i64]);
        let kind = 1 + i64::from(self.region.is_some()) + i64::from(own);
        let place = [id, bytes as i64, offset as i64];
        let key = self.key.map_or(0, |key| key.0.cast_signed());
        let has_verbs = i64::from(self.has_verbs);
        let [id, bytes, offset] = place;
        let (size, unit) = (self.size as i64, self.unit as i64);
        [kind, size, unit, id, bytes, offset, control[0], control[1], control[2], key, has_verbs]
    }
}

/// Makes this member's resources for a window that is not shared.
pub(super) fn make(own: &Comm, given: WinMemory, unit: usize, info: &Info) -> Result<MadeWindow> {
    let made = MadeWindow { unit, ..MadeWindow::default() };
    Ok(match given {
        WinMemory::Program(memory) => {
            let (address, size) = (memory.address().expose_provenance(), memory.len());
            let found = own.allocated().find(address, size).filter(|_| size > 0);
            let region = found.map(|(region, offset)| (region.id(), region.len(), offset, false));
            let memory = region.is_none().then(|| Arc::new(memory));
            MadeWindow { size, address, region, memory, ..made }
        }
        WinMemory::Nothing | WinMemory::Allocate(0) => made,
        WinMemory::Allocate(size) => {
            let allocated = allocate(own, size, info.alignment())?;
            MadeWindow { size, unit, ..allocated }
        }
        WinMemory::Dynamic => made,
        WinMemory::Shared(_) => fail!(Internal, "a shared window is made otherwise"),
    })
}

/// Allocates zeroed window memory; its pages become real when they are touched, like any other allocation.
pub(super) fn allocate(own: &Comm, size: usize, align: usize) -> Result<MadeWindow> {
    if size <= LONGEST_PIECE {
        let piece = own.allocated().take(own.engine.first_lane(), size, align)?;
        piece.clear();
        let region = Some((piece.region.id(), piece.region.len(), piece.offset, false));
        let address = piece.address().expose_provenance();
        return Ok(MadeWindow { address, region, pieces: vec![piece], ..MadeWindow::default() });
    }
    let Some(bytes) = size.checked_add(if align > PAGE { align } else { 0 }) else {
        fail!(NoMemory, "size is {size}: with the alignment it exceeds the address space");
    };
    let region = own.engine.first_lane().create_region_on_touch(bytes)?;
    let start = region.address().expose_provenance();
    let offset = if align > PAGE { start.next_multiple_of(align) - start } else { 0 };
    let part = Some((region.id(), bytes, offset, true));
    Ok(MadeWindow { address: start + offset, region: part, regions: vec![region], ..MadeWindow::default() })
}

/// Adds the control memory and the exposure; frees everything if that fails.
pub(super) fn completed(own: &Comm, flavor: Flavor, mut made: MadeWindow) -> Result<MadeWindow> {
    match with_control(own, &mut made).and_then(|()| expose(own, flavor, &mut made)) {
        Ok(()) => Ok(made),
        Err(error) => {
            made.discard(own, &error);
            Err(error)
        }
    }
}

/// Adds the control memory, on the first member of its host. Its words belong to the library, so they are
/// reserved before their first use (invariant I2).
fn with_control(own: &Comm, made: &mut MadeWindow) -> Result<()> {
    if first_here(own) == own.rank() {
        let piece = own.allocated().take(own.engine.first_lane(), Control::bytes(own.size()), PAGE)?;
        let real = piece.make_real();
        made.control = Some((piece.region.id(), piece.region.len(), piece.offset));
        made.pieces.push(piece);
        real?;
        made.pieces.iter().last().into_iter().for_each(ArenaPiece::clear);
    }
    Ok(())
}

/// Exposes the part of this member, if other members cannot map it or if memory is attached later. A dynamic
/// window is accessed by requests across hosts.
fn expose(own: &Comm, flavor: Flavor, made: &mut MadeWindow) -> Result<()> {
    let engine = &own.engine;
    if own.size() == 1 && flavor != Flavor::Dynamic {
        return Ok(());
    }
    made.has_verbs = engine.has_verbs();
    made.key = match &made.memory {
        _ if flavor == Flavor::Dynamic => Some(engine.expose_dynamic()?),
        Some(memory) => Some(engine.expose(memory.exposed())?),
        None if shares_host(own) => None,
        None => Some(engine.expose(match made.region {
            Some((id, bytes, offset, _)) => {
                let region = engine.first_lane().reach_region(engine.rank(), id, bytes, None)?.exposed();
                let Some(part) = region.part(offset, made.size) else {
                    fail!(Internal, "the part of the window exceeds its region");
                };
                part
            }
            None => Exposed::of(Vec::new()),
        })?),
    };
    Ok(())
}

/// Returns the first member on this host.
pub(super) fn first_here(comm: &Comm) -> usize {
    let is_here = |rank: &canele_engine::Rank| !comm.engine.first_lane().is_remote(*rank);
    comm.group().members().iter().position(is_here).unwrap_or(0)
}

/// Returns true if all members run on one host.
pub(super) fn shares_host(comm: &Comm) -> bool {
    let host = |rank: &Rank| comm.engine.first_lane().host_of(*rank);
    let members = comm.group().members();
    members.iter().all(|rank| host(rank) == host(&members[0]))
}
