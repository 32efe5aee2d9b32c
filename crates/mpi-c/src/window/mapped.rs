//! The short path of accesses to memory that is mapped here: few bytes of one datatype, one after the other.
//!
//! Owns the targets that were found last and decides nothing: either it does all of a call in a few dozen instructions, or it says no and has changed
//! nothing, and the general path does the call, with all its checks and errors.

use core::cell::UnsafeCell;
use core::ffi::c_int;

use canele_mem::atomic_element::{put_value, value_of};
use canele_mem::displaced::WORD;
use canele_mpi::window::{ElementChange, MappedTarget, WordChange};

use super::access::{At, Origin};
use super::accumulate::{accumulation, is_swapped};
use crate::call_cache;
use crate::constants::{MPI_DATATYPE_NULL, MPI_OP_NULL};
use crate::handle::{MPI_Datatype, MPI_Op, MPI_Win, ObjectHandle};
use crate::pointer::{RecvBuffer, SendBuffer};
use crate::width::Count;

/// Longer data take the general path, whose cost is little beside theirs.
const MOST_BYTES: usize = 48;

/// What a window, a rank in it, a datatype and an operation came to: programs name the same few again and again.
#[repr(align(64))]
struct Known {
    /// What [`call_cache::freed_alone`] said: no handle has been freed since, whose value something else could have by now, and one thread
    /// at a time has called the library.
    freed: usize,
    win: MPI_Win,
    datatype: MPI_Datatype,
    op: MPI_Op,
    rank: c_int,
    /// Bytes of an element; elements lie one after the other. 0 without a datatype.
    size: u32,
    /// How many elements are a word; -1 if none are.
    word_elements: c_int,
    /// The datatype is one whose elements are compared and swapped.
    swaps: bool,
    target: Option<MappedTarget<'static>>,
    /// What the operation does to an element of the datatype; none without an operation.
    change: Option<ElementChange>,
    /// The same, if it is one instruction for a word.
    word_change: Option<WordChange>,
}

impl Known {
    const NONE: Self = Self {
        freed: 0,
        win: MPI_Win::of(usize::MAX),
        datatype: MPI_Datatype::of(0),
        op: MPI_OP_NULL,
        rank: 0,
        size: 0,
        word_elements: -1,
        swaps: false,
        target: None,
        change: None,
        word_change: None,
    };

    /// Finds it, if there is such a window with such a rank whose memory is mapped, if the datatype is committed and has no gaps, and if the
    /// operation is for its elements.
    fn find(win: MPI_Win, datatype: MPI_Datatype, op: MPI_Op, rank: c_int) -> Option<Self> {
        let freed = call_cache::freed_alone()?;
        let target = win.find()?.mapped_target(usize::try_from(rank).ok()?)?;
        let mut known = Self { freed, win, datatype, rank, target: Some(target), op, ..Self::NONE };
        if datatype != MPI_DATATYPE_NULL {
            let of = datatype.find().filter(|of| of.is_contiguous() && of.is_committed())?;
            known.size = u32::try_from(of.size()).ok()?;
            if matches!(of.size(), 1 | 2 | 4 | WORD) {
                known.word_elements = (WORD / of.size()) as c_int;
            }
            known.swaps = is_swapped(of);
            if op != MPI_OP_NULL {
                let is_element = of.is_predefined() && matches!(of.size(), 1 | 2 | 4 | 8);
                let change = accumulation(op, of, 1).ok().filter(|_| is_element)?.change().ok()?;
                (known.word_change, known.change) = (change.of_words(), Some(change));
            }
        }
        Some(known)
    }

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

    #[inline(always)]
    fn target(&self) -> &MappedTarget<'static> {
        // SAFETY: what was remembered has one, and nothing else is given out (`known`).
        unsafe { self.target.as_ref().unwrap_unchecked() }
    }
}

/// Places of what is remembered, by the last bits of what tells calls apart.
const PLACES: usize = 16;

struct Places(UnsafeCell<[Known; PLACES]>);

// SAFETY: two threads never reach a place at a time, see `known` and `learn`.
unsafe impl Sync for Places {}

impl Places {
    const fn new() -> Self {
        Self(UnsafeCell::new([const { Known::NONE }; PLACES]))
    }

    #[inline(always)]
    fn place(&self, at: usize) -> *mut Known {
        // SAFETY: the index is below the length of the array.
        unsafe { self.0.get().cast::<Known>().add(at % PLACES) }
    }

    /// What is remembered of a rank in a window at a place, if the program uses one thread at a time.
    #[inline(always)]
    fn known(&self, at: usize, win: MPI_Win, rank: c_int) -> Option<&'static Known> {
        // SAFETY: one thread calls the library, and the reference ends before `learn` is called. Where several may, nothing has been
        // remembered that has this count.
        let known = unsafe { &*self.place(at) };
        (known.freed == call_cache::freed() && known.win == win && known.rank == rank).then_some(known)
    }
}

/// Of calls with an operation, of those with a datatype alone, and of those with neither.
static CHANGES: Places = Places::new();
static TRANSFERS: Places = Places::new();
static TARGETS: Places = Places::new();

#[inline(always)]
fn known_change(win: MPI_Win, datatype: MPI_Datatype, op: MPI_Op, rank: c_int) -> Option<&'static Known> {
    let known = CHANGES.known(rank as usize ^ datatype.value() ^ op.value(), win, rank)?;
    (known.datatype == datatype && known.op == op).then_some(known)
}

#[inline(always)]
fn known_transfer(win: MPI_Win, datatype: MPI_Datatype, rank: c_int) -> Option<&'static Known> {
    TRANSFERS.known(rank as usize ^ datatype.value(), win, rank).filter(|known| known.datatype == datatype)
}

#[inline(always)]
fn known_target(win: MPI_Win, rank: c_int) -> Option<&'static MappedTarget<'static>> {
    TARGETS.known(rank as usize, win, rank).map(Known::target)
}

/// Remembers the target of a call that was done on the general path.
pub fn learn(win: MPI_Win, datatype: MPI_Datatype, op: MPI_Op, rank: c_int) {
    let (has_datatype, has_op) = (datatype != MPI_DATATYPE_NULL, op != MPI_OP_NULL);
    let (places, at) = match (has_datatype, has_op) {
        (false, _) => (&TARGETS, rank as usize),
        (true, false) => (&TRANSFERS, rank as usize ^ datatype.value()),
        (true, true) => (&CHANGES, rank as usize ^ datatype.value() ^ op.value()),
    };
    let is_known =
        places.known(at, win, rank).is_some_and(|known| known.datatype == datatype && known.op == op);
    if !is_known && let Some(found) = Known::find(win, datatype, op, rank) {
        // SAFETY: one thread calls the library, as `find` has seen, and holds no reference to what is remembered here.
        unsafe { *places.place(at) = found };
    }
}

/// [`learn`] of a call without datatype and operation.
pub fn learn_target(win: MPI_Win, rank: c_int) {
    learn(win, MPI_DATATYPE_NULL, MPI_OP_NULL, rank);
}

/// Writes elements of the program's to a target; false if nothing was done.
#[inline(always)]
pub fn put(from: Origin<SendBuffer>, (rank, disp, count, of): At, win: MPI_Win) -> bool {
    let Some(known) = known_transfer(win, of, rank).filter(|_| from.2 == of) else { return false };
    if from.0.is_null() {
        return false;
    }
    if known.is_word(from.1, count) {
        // SAFETY: not null; the program gives a word to be read as long as the call lasts.
        return known.target().put_word(disp, unsafe { &*from.0.cast() });
    }
    let Some(bytes) = known.bytes(from.1, count) else { return false };
    // SAFETY: not null; the program gives so many bytes to be read as long as the call lasts.
    known.target().put(disp, unsafe { core::slice::from_raw_parts(from.0.cast(), bytes) })
}

/// Reads elements of a target into the program's memory; false if nothing was done.
#[inline(always)]
pub fn get(into: Origin<RecvBuffer>, (rank, disp, count, of): At, win: MPI_Win) -> bool {
    let Some(known) = known_transfer(win, of, rank).filter(|_| into.2 == of) else { return false };
    if into.0.is_null() {
        return false;
    }
    if known.is_word(into.1, count) {
        // SAFETY: not null; the program gives a word to be written as long as the call lasts.
        return known.target().get_word(disp, unsafe { &mut *into.0.cast() });
    }
    let Some(bytes) = known.bytes(into.1, count) else { return false };
    // SAFETY: not null; the program gives so many bytes to be written as long as the call lasts.
    known.target().get(disp, unsafe { core::slice::from_raw_parts_mut(into.0.cast(), bytes) })
}

/// Changes one word of a target by an operation that is one instruction; false if nothing was done.
#[inline(always)]
pub fn fetch_and_op_word(
    (from, into): (SendBuffer, RecvBuffer),
    (datatype, op): (MPI_Datatype, MPI_Op),
    (rank, disp): (c_int, i64),
    win: MPI_Win,
) -> bool {
    let Some(known) = known_change(win, datatype, op, rank) else { return false };
    let Some(change) = known.word_change.filter(|_| !from.is_null() && !into.is_null()) else { return false };
    // SAFETY: not null; the program gives a word to be read as long as the call lasts.
    let operand = u64::from_ne_bytes(unsafe { *from.cast() });
    let Some(old) = known.target().fetch_and_op_word(disp, change, operand) else { return false };
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
    let Some(known) = known_change(win, datatype, op, rank) else { return false };
    let Some(change) = known.change.filter(|_| !into.is_null()) else { return false };
    let operand = match change.has_operand() {
        true if from.is_null() => return false,
        // SAFETY: not null; the program gives an element to be read as long as the call lasts.
        true => value_of(unsafe { core::slice::from_raw_parts(from.cast(), change.bytes) }),
        false => 0,
    };
    let Some(old) = known.target().fetch_and_op(disp, change, operand) else { return false };
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
    let Some(known) = known_transfer(win, datatype, rank) else { return false };
    let len = known.size as usize;
    let is_element = known.swaps && matches!(len, 1 | 2 | 4 | 8);
    if !is_element || new.is_null() || compare.is_null() || into.is_null() {
        return false;
    }
    // SAFETY: not null; the program gives elements to be read as long as the call lasts.
    let value = |at: SendBuffer| value_of(unsafe { core::slice::from_raw_parts(at.cast(), len) });
    let Some(old) = known.target().compare_and_swap(disp, len, value(compare), value(new)) else {
        return false;
    };
    // SAFETY: not null; the program gives an element to be written as long as the call lasts.
    put_value(old, unsafe { core::slice::from_raw_parts_mut(into.cast(), len) });
    true
}

/// Waits until all accesses to a target are done, there and here; false if nothing was done.
#[inline(always)]
pub fn flush(rank: c_int, win: MPI_Win) -> bool {
    known_target(win, rank).is_some_and(MappedTarget::flush)
}

/// Locks a target alone; false if nothing was done.
#[inline(always)]
pub fn lock_alone(rank: c_int, win: MPI_Win) -> bool {
    known_target(win, rank).is_some_and(MappedTarget::lock_alone)
}

/// Gives the lock of a target up that was locked alone; false if nothing was done.
#[inline(always)]
pub fn unlock_alone(rank: c_int, win: MPI_Win) -> bool {
    known_target(win, rank).is_some_and(MappedTarget::unlock_alone)
}
