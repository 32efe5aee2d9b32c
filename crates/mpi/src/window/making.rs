//! The memory that a member brings into a window: given by the program, a piece of the arena, or a region of its own.
//!
//! Owns making it, with the control memory of the host and the exposure to members of other hosts, and giving it up where the window does not
//! come about.

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
    /// Memory that the program has.
    Program(RegionMemory),
    /// No memory.
    Nothing,
    /// So many bytes are to be allocated.
    Allocate(usize),
    /// So many bytes are to be allocated, shared with the others.
    Shared(usize),
    /// Memory will be attached.
    Dynamic,
}

/// Bytes of a page, to which parts of a shared window are aligned if they need not follow each other.
pub(super) const PAGE: usize = 4096;

/// Parts that are longer have a region of their own, of which nothing is left when the window is freed; shorter ones are pieces of the
/// regions that the process has.
const LONGEST_PIECE: usize = 1 << 20;

/// The numbers that each member tells the others.
pub(super) const RECORD: usize = 11;

/// Where in a record it stands whether the member may access memory of the others by verbs.
pub(super) const HAS_VERBS: usize = 10;

/// Where in a record it stands which region the control memory lies in, with its bytes and the offset there.
pub(super) const CONTROL: usize = 6;

/// In the record of a member that has failed, behind a 0: it lacks memory.
pub(super) const LACKS_MEMORY: i64 = 1;

/// What a member has made for a window.
#[derive(Default)]
pub(super) struct MadeWindow {
    pub size: usize,
    pub unit: usize,
    /// Where its part begins here.
    pub address: usize,
    /// Its part in memory that peers can map: the region, its length, where the part begins, whether it was made for the window.
    pub region: Option<(RegionId, usize, usize, bool)>,
    /// Its part in memory that is of the program alone.
    pub memory: Option<Arc<RegionMemory>>,
    /// The mapping in which its part of a shared window lies, and where in it: the program has its address as long as the window is there.
    pub mapped: Option<(Arc<RegionMemory>, usize)>,
    /// It may access memory of the others by verbs.
    pub has_verbs: bool,
    pub regions: Vec<Arc<canele_engine::Region>>,
    pub pieces: Vec<ArenaPiece>,
    /// The control memory, made by the first member of each host: region, its bytes, offset.
    pub control: Option<(RegionId, usize, usize)>,
    /// Under which its part is served to members that cannot map it.
    pub key: Option<ExposureKey>,
}

impl MadeWindow {
    /// Gives up what was made for a window that does not come about for this reason. Where a member died others may have got the window:
    /// what they may access is not used again.
    pub fn discard(self, own: &Comm, why: &Error) {
        if let Some(key) = self.key {
            // The error of the creation counts.
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

/// What this member gives to a window that is not shared.
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

/// Memory of a window that this process allocates, zeroed: real when it is touched, as that of any other allocation.
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

/// Adds what a window has beside its memory. Gives up what was made if that fails.
pub(super) fn completed(own: &Comm, flavor: Flavor, mut made: MadeWindow) -> Result<MadeWindow> {
    match with_control(own, &mut made).and_then(|()| expose(own, flavor, &mut made)) {
        Ok(()) => Ok(made),
        Err(error) => {
            made.discard(own, &error);
            Err(error)
        }
    }
}

/// Adds the control memory, if this is the first member of its host. Its words are the library's, so they are real before they are used
/// (invariant I2).
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

/// Exposes the part of this member, if others cannot map it, or if memory will be attached: accesses over borders are requests.
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

/// The first member on this host.
pub(super) fn first_here(comm: &Comm) -> usize {
    let is_here = |rank: &canele_engine::Rank| !comm.engine.first_lane().is_remote(*rank);
    comm.group().members().iter().position(is_here).unwrap_or(0)
}

/// True if all members run on one host.
pub(super) fn shares_host(comm: &Comm) -> bool {
    let host = |rank: &Rank| comm.engine.first_lane().host_of(*rank);
    let members = comm.group().members();
    members.iter().all(|rank| host(rank) == host(&members[0]))
}
