//! The short path of accesses to memory that is mapped here: few bytes of one datatype, one after the other.
//!
//! Owns the targets that were found last and decides nothing: either it does all of a call in a few dozen instructions, or it says no and has changed
//! nothing, and the general path does the call, with all its checks and errors.

use core::ffi::c_int;

use canele_mem::atomic_element::{put_value, value_of};
use canele_mem::displaced::WORD;
use canele_mpi::datatype::Datatype;
use canele_mpi::window::{ElementChange, MappedTarget, WordChange};

use super::access::{At, Origin};
use super::accumulate::{accumulation, is_swapped};
use crate::cache::own::{self, own};
use crate::cache::{Resolved, ResolvedCache};
use crate::handle::{MPI_Datatype, MPI_Op, MPI_Win, ObjectHandle};
use crate::pointer::{RecvBuffer, SendBuffer};
use crate::width::Count;

/// Longer data take the general path, whose cost is little beside theirs.
const MOST_BYTES: usize = 48;

/// What a window and a rank in it came to.
pub struct ResolvedTarget {
    win: MPI_Win,
    rank: c_int,
    target: MappedTarget<'static>,
}

// SAFETY: the memory is mapped for all threads of the process, and no part of the rest belongs to one of them.
unsafe impl Send for ResolvedTarget {}

/// What these and a datatype came to.
pub struct ResolvedTransfer {
    at: ResolvedTarget,
    datatype: MPI_Datatype,
    /// Bytes of an element; elements lie one after the other.
    size: u32,
    /// How many elements are a word; -1 if none are.
    word_elements: c_int,
    /// The datatype is one whose elements are compared and swapped.
    swaps: bool,
}

/// What these and an operation came to.
pub struct ResolvedChange {
    at: ResolvedTarget,
    datatype: MPI_Datatype,
    op: MPI_Op,
    /// What the operation does to an element of the datatype.
    change: ElementChange,
    /// The same, if it is one instruction for a word.
    word_change: Option<WordChange>,
}

type TargetArguments = (MPI_Win, c_int);
type TransferArguments = (MPI_Win, c_int, MPI_Datatype);
type ChangeArguments = (MPI_Win, c_int, MPI_Datatype, MPI_Op);

/// The targets that were found last of calls that lock or unlock. A window counts its locks, which one thread at a time changes.
static LOCKED: ResolvedCache<ResolvedTarget, 16> = ResolvedCache::new();

impl Resolved for ResolvedTarget {
    type Arguments = TargetArguments;

    #[inline(always)]
    fn place((_, rank): TargetArguments) -> usize {
        rank as usize
    }

    #[inline(always)]
    fn is_of(&self, (win, rank): TargetArguments) -> bool {
        self.win == win && self.rank == rank
    }

    /// Finds it, if there is such a window with such a rank whose memory is mapped.
    fn resolve((win, rank): TargetArguments) -> Option<Self> {
        Some(Self { win, rank, target: win.find()?.mapped_target(usize::try_from(rank).ok()?)? })
    }
}

impl Resolved for ResolvedTransfer {
    type Arguments = TransferArguments;

    #[inline(always)]
    fn place((_, rank, datatype): TransferArguments) -> usize {
        rank as usize ^ datatype.value()
    }

    #[inline(always)]
    fn is_of(&self, (win, rank, datatype): TransferArguments) -> bool {
        self.at.is_of((win, rank)) && self.datatype == datatype
    }

    /// Finds it, if the target is mapped, and if the datatype is committed and has no gaps.
    fn resolve((win, rank, datatype): TransferArguments) -> Option<Self> {
        let at = ResolvedTarget::resolve((win, rank))?;
        let of = flat(datatype)?;
        let is_part = matches!(of.size(), 1 | 2 | 4 | WORD);
        let word_elements = if is_part { (WORD / of.size()) as c_int } else { -1 };
        Some(Self {
            at,
            datatype,
            size: u32::try_from(of.size()).ok()?,
            word_elements,
            swaps: is_swapped(of) && win.find()?.changes_by_one_thread(),
        })
    }
}

impl Resolved for ResolvedChange {
    type Arguments = ChangeArguments;

    #[inline(always)]
    fn place((_, rank, datatype, op): ChangeArguments) -> usize {
        rank as usize ^ datatype.value() ^ op.value()
    }

    #[inline(always)]
    fn is_of(&self, (win, rank, datatype, op): ChangeArguments) -> bool {
        self.at.is_of((win, rank)) && self.datatype == datatype && self.op == op
    }

    /// Finds it, if the target is mapped, and if the operation is for elements of the datatype, which are at most a word. Of a process one thread
    /// alone changes elements so.
    fn resolve((win, rank, datatype, op): ChangeArguments) -> Option<Self> {
        let at = ResolvedTarget::resolve((win, rank))?;
        let of = flat(datatype)?;
        let is_element = of.is_predefined() && matches!(of.size(), 1 | 2 | 4 | 8);
        let is_element = is_element && win.find()?.changes_by_one_thread();
        let change = accumulation(op, of, 1).ok().filter(|_| is_element)?.change().ok()?;
        Some(Self { at, datatype, op, change, word_change: change.of_words() })
    }
}

/// Returns a datatype that is committed and has no gaps.
fn flat(datatype: MPI_Datatype) -> Option<&'static Datatype> {
    datatype.find().filter(|of| of.is_contiguous() && of.is_committed())
}

impl ResolvedTransfer {
    /// True if so many elements on both sides are a word.
    #[inline(always)]
    fn is_word(&self, count: Count, target_count: Count) -> bool {
        count.value == i64::from(self.word_elements) && count.value == target_count.value
    }

    /// The bytes of so many elements on both sides, if they are few.
    #[inline(always)]
    fn bytes(&self, count: Count, target_count: Count) -> Option<usize> {
        // A negative number is a large one here.
        let bytes = count.value.checked_mul(i64::from(self.size))? as usize;
        (bytes <= MOST_BYTES && count.value == target_count.value).then_some(bytes)
    }
}

#[inline(always)]
fn locked_target(win: MPI_Win, rank: c_int) -> Option<&'static MappedTarget<'static>> {
    LOCKED.known((win, rank)).map(|known| &known.target)
}

/// Keeps the target of a call that has locked it or given the lock up, on the general path.
pub fn learn_locked(win: MPI_Win, rank: c_int) {
    // SAFETY: no call keeps a reference to what is known for the next one.
    unsafe { LOCKED.learn((win, rank)) };
}

/// Keeps the target of a call that was done on the general path.
pub fn learn_target(win: MPI_Win, rank: c_int) {
    own::learn(|own| &own.targets, (win, rank));
}

/// [`learn_target`] of a call with a datatype.
pub fn learn_transfer(win: MPI_Win, rank: c_int, datatype: MPI_Datatype) {
    own::learn(|own| &own.transfers, (win, rank, datatype));
}

/// [`learn_target`] of a call with a datatype and an operation.
pub fn learn_change(win: MPI_Win, rank: c_int, datatype: MPI_Datatype, op: MPI_Op) {
    own::learn(|own| &own.changes, (win, rank, datatype, op));
}

/// Writes elements of the program's to a target; false if nothing was done.
#[inline(always)]
pub fn put(from: Origin<SendBuffer>, (rank, disp, count, of): At, win: MPI_Win) -> bool {
    let Some(known) = own().transfers.known((win, rank, of)).filter(|_| from.2 == of) else {
        return false;
    };
    if from.0.is_null() {
        return false;
    }
    if known.is_word(from.1, count) {
        // SAFETY: not null; the program gives a word to be read as long as the call lasts.
        return known.at.target.put_word(disp, unsafe { &*from.0.cast() });
    }
    let Some(bytes) = known.bytes(from.1, count) else { return false };
    // SAFETY: not null; the program gives so many bytes to be read as long as the call lasts.
    known.at.target.put(disp, unsafe { core::slice::from_raw_parts(from.0.cast(), bytes) })
}

/// Reads elements of a target into the program's memory; false if nothing was done.
#[inline(always)]
pub fn get(into: Origin<RecvBuffer>, (rank, disp, count, of): At, win: MPI_Win) -> bool {
    let Some(known) = own().transfers.known((win, rank, of)).filter(|_| into.2 == of) else {
        return false;
    };
    if into.0.is_null() {
        return false;
    }
    if known.is_word(into.1, count) {
        // SAFETY: not null; the program gives a word to be written as long as the call lasts.
        return known.at.target.get_word(disp, unsafe { &mut *into.0.cast() });
    }
    let Some(bytes) = known.bytes(into.1, count) else { return false };
    // SAFETY: not null; the program gives so many bytes to be written as long as the call lasts.
    known.at.target.get(disp, unsafe { core::slice::from_raw_parts_mut(into.0.cast(), bytes) })
}

/// Changes one word of a target by an operation that is one instruction; false if nothing was done.
#[inline(always)]
pub fn fetch_and_op_word(
    (from, into): (SendBuffer, RecvBuffer),
    (datatype, op): (MPI_Datatype, MPI_Op),
    (rank, disp): (c_int, i64),
    win: MPI_Win,
) -> bool {
    let Some(known) = own().changes.known((win, rank, datatype, op)) else { return false };
    let Some(change) = known.word_change.filter(|_| !from.is_null() && !into.is_null()) else { return false };
    // SAFETY: not null; the program gives a word to be read as long as the call lasts.
    let operand = u64::from_ne_bytes(unsafe { *from.cast() });
    let Some(old) = known.at.target.fetch_and_op_word(disp, change, operand) else { return false };
    // SAFETY: not null; the program gives a word to be written as long as the call lasts.
    unsafe { *into.cast() = old.to_ne_bytes() };
    true
}

/// Changes one element of a target; false if nothing was done.
pub fn fetch_and_op(
    (from, into): (SendBuffer, RecvBuffer),
    (datatype, op): (MPI_Datatype, MPI_Op),
    (rank, disp): (c_int, i64),
    win: MPI_Win,
) -> bool {
    let Some(known) = own().changes.known((win, rank, datatype, op)) else { return false };
    let change = known.change;
    if into.is_null() {
        return false;
    }
    let operand = match change.has_operand() {
        true if from.is_null() => return false,
        // SAFETY: not null; the program gives an element to be read as long as the call lasts.
        true => value_of(unsafe { core::slice::from_raw_parts(from.cast(), change.bytes) }),
        false => 0,
    };
    let Some(old) = known.at.target.fetch_and_op(disp, change, operand) else { return false };
    // SAFETY: not null; the program gives an element to be written as long as the call lasts.
    put_value(old, unsafe { core::slice::from_raw_parts_mut(into.cast(), change.bytes) });
    true
}

/// Compares and swaps one element of a target; false if nothing was done.
#[inline(always)]
pub fn compare_and_swap(
    (new, compare, into): (SendBuffer, SendBuffer, RecvBuffer),
    datatype: MPI_Datatype,
    (rank, disp): (c_int, i64),
    win: MPI_Win,
) -> bool {
    let Some(known) = own().transfers.known((win, rank, datatype)) else { return false };
    let len = known.size as usize;
    let is_element = known.swaps && matches!(len, 1 | 2 | 4 | 8);
    if !is_element || new.is_null() || compare.is_null() || into.is_null() {
        return false;
    }
    // SAFETY: not null; the program gives elements to be read as long as the call lasts.
    let value = |at: SendBuffer| value_of(unsafe { core::slice::from_raw_parts(at.cast(), len) });
    let Some(old) = known.at.target.compare_and_swap(disp, len, value(compare), value(new)) else {
        return false;
    };
    // SAFETY: not null; the program gives an element to be written as long as the call lasts.
    put_value(old, unsafe { core::slice::from_raw_parts_mut(into.cast(), len) });
    true
}

/// Waits until all accesses to a target are done, there and here; false if nothing was done.
#[inline(always)]
pub fn flush(rank: c_int, win: MPI_Win) -> bool {
    own().targets.known((win, rank)).is_some_and(|known| known.target.flush())
}

/// Locks a target alone; false if nothing was done.
#[inline(always)]
pub fn lock_alone(rank: c_int, win: MPI_Win) -> bool {
    locked_target(win, rank).is_some_and(MappedTarget::lock_alone)
}

/// Gives the lock of a target up that was locked alone; false if nothing was done.
#[inline(always)]
pub fn unlock_alone(rank: c_int, win: MPI_Win) -> bool {
    locked_target(win, rank).is_some_and(MappedTarget::unlock_alone)
}
