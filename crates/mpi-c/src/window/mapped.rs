//! The short path of accesses to mapped memory: few contiguous bytes of one datatype.
//!
//! This module owns the cached targets. It either does a whole call in a few dozen instructions, or refuses
//! without any change. The general path then does the call with all checks and errors.

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

/// Longer data uses the general path, whose overhead is then small.
const MOST_BYTES: usize = 48;

/// A resolved window and rank.
pub struct ResolvedTarget {
    win: MPI_Win,
    rank: c_int,
    target: MappedTarget<'static>,
}

// SAFETY: the memory is mapped for all threads of the process, and no part of the rest belongs to one of
// them.
unsafe impl Send for ResolvedTarget {}

/// A resolved window, rank and datatype.
pub struct ResolvedTransfer {
    at: ResolvedTarget,
    datatype: MPI_Datatype,
    /// Size of an element in bytes; elements are contiguous.
    size: u32,
    /// Number of elements in a word; -1 if no number of them is a word.
    word_elements: c_int,
    /// True if elements of the datatype can be compared and swapped.
    swaps: bool,
}

/// A resolved window, rank, datatype and operation.
pub struct ResolvedChange {
    at: ResolvedTarget,
    datatype: MPI_Datatype,
    op: MPI_Op,
    /// The change of an element of the datatype.
    change: ElementChange,
    /// The change of a word, if it is one instruction.
    word_change: Option<WordChange>,
}

type TargetArguments = (MPI_Win, c_int);
type TransferArguments = (MPI_Win, c_int, MPI_Datatype);
type ChangeArguments = (MPI_Win, c_int, MPI_Datatype, MPI_Op);

/// The cached targets of calls that lock or unlock. One thread at a time changes the lock count of a window.
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

    /// Resolves the arguments, if window and rank exist and the memory is mapped.
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

    /// Resolves the arguments, if the target is mapped, and the datatype is committed and has no gaps.
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

    /// Resolves the arguments, if the target is mapped and the operation supports elements of the datatype,
    /// which have at most a word. Only one thread of a process changes elements in this way.
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
    /// Returns true if the elements on both sides are one word.
    #[inline(always)]
    fn is_word(&self, count: Count, target_count: Count) -> bool {
        count.value == i64::from(self.word_elements) && count.value == target_count.value
    }

    /// Returns the length in bytes on both sides, if it is small.
    #[inline(always)]
    fn bytes(&self, count: Count, target_count: Count) -> Option<usize> {
        // A negative count becomes a large number.
        let bytes = count.value.checked_mul(i64::from(self.size))? as usize;
        (bytes <= MOST_BYTES && count.value == target_count.value).then_some(bytes)
    }
}

#[inline(always)]
fn locked_target(win: MPI_Win, rank: c_int) -> Option<&'static MappedTarget<'static>> {
    LOCKED.known((win, rank)).map(|known| &known.target)
}

/// Caches the target of a call that has locked or unlocked it by the general path.
pub fn learn_locked(win: MPI_Win, rank: c_int) {
    // SAFETY: no call keeps a reference to what is known for the next one.
    unsafe { LOCKED.learn((win, rank)) };
}

/// Caches the target of a call that was done by the general path.
pub fn learn_target(win: MPI_Win, rank: c_int) {
    own::learn(|own| &own.targets, (win, rank));
}

/// Caches the target and the datatype of a call ([`learn_target`]).
pub fn learn_transfer(win: MPI_Win, rank: c_int, datatype: MPI_Datatype) {
    own::learn(|own| &own.transfers, (win, rank, datatype));
}

/// Caches the target, the datatype and the operation of a call ([`learn_target`]).
pub fn learn_change(win: MPI_Win, rank: c_int, datatype: MPI_Datatype, op: MPI_Op) {
    own::learn(|own| &own.changes, (win, rank, datatype, op));
}

/// Writes elements of the origin to a target; returns false if nothing was done.
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
    // SAFETY: not null; the program gives this many bytes to be read as long as the call lasts.
    known.at.target.put(disp, unsafe { core::slice::from_raw_parts(from.0.cast(), bytes) })
}

/// Reads elements of a target into the origin's memory; returns false if nothing was done.
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
    // SAFETY: not null; the program gives this many bytes to be written as long as the call lasts.
    known.at.target.get(disp, unsafe { core::slice::from_raw_parts_mut(into.0.cast(), bytes) })
}

/// Changes one word of a target by a single instruction; returns false if nothing was done.
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

/// Changes one element of a target; returns false if nothing was done.
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

/// Compares and swaps one element of a target; returns false if nothing was done.
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

/// Waits until all accesses to a target are complete at both ends; returns false if nothing was done.
#[inline(always)]
pub fn flush(rank: c_int, win: MPI_Win) -> bool {
    own().targets.known((win, rank)).is_some_and(|known| known.target.flush())
}

/// Locks a target exclusively; returns false if nothing was done.
#[inline(always)]
pub fn lock_alone(rank: c_int, win: MPI_Win) -> bool {
    locked_target(win, rank).is_some_and(MappedTarget::lock_alone)
}

/// Unlocks a target that was locked exclusively; returns false if nothing was done.
#[inline(always)]
pub fn unlock_alone(rank: c_int, win: MPI_Win) -> bool {
    locked_target(win, rank).is_some_and(MappedTarget::unlock_alone)
}
