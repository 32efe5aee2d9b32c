//! The short path of accesses to memory that is mapped here: few bytes of one datatype, one after the other.
//!
//! Owns the targets that were found last and decides nothing: either it does all of a call in a few dozen instructions, or it says no and has changed
//! nothing, and the general path does the call, with all its checks and errors.

use core::cell::UnsafeCell;
use core::ffi::c_int;

use canele_mem::atomic_element::{put_value, value_of};
use canele_mpi::window::{ElementChange, MappedTarget};

use super::accumulate::{accumulation, is_swapped};
use crate::call_cache;
use crate::constants::{MPI_DATATYPE_NULL, MPI_OP_NULL};
use crate::handle::{MPI_Datatype, MPI_Op, MPI_Win};
use crate::pointer::{RecvBuffer, SendBuffer};
use crate::width::Count;

/// Longer data take the general path, whose cost is little beside theirs.
const MOST_BYTES: usize = 48;

/// What a window, a rank in it and a datatype came to: programs name the same few again and again.
struct Known {
    /// What [`call_cache::freed`] said: no handle has been freed since, whose value something else could have by now.
    freed: usize,
    win: MPI_Win,
    datatype: MPI_Datatype,
    rank: c_int,
    /// Bytes of an element; elements lie one after the other. 0 without a datatype.
    size: u32,
    target: Option<MappedTarget<'static>>,
    /// What an operation does to an element of the datatype; none without an operation.
    op: MPI_Op,
    change: Option<ElementChange>,
    /// The datatype is one whose elements are compared and swapped.
    swaps: bool,
}

impl Known {
    const NONE: Self = Self {
        freed: 0,
        win: MPI_Win::of(usize::MAX),
        datatype: MPI_Datatype::of(0),
        rank: 0,
        size: 0,
        target: None,
        op: MPI_OP_NULL,
        change: None,
        swaps: false,
    };

    /// Finds it, if there is such a window with such a rank whose memory is mapped, if the datatype is committed and has no gaps, and if the
    /// operation is for its elements.
    fn find(win: MPI_Win, datatype: MPI_Datatype, op: MPI_Op, rank: c_int) -> Option<Self> {
        let freed = call_cache::freed();
        let target = win.find()?.mapped_target(usize::try_from(rank).ok()?)?;
        let mut known = Self { freed, win, datatype, rank, target: Some(target), op, ..Self::NONE };
        if datatype != MPI_DATATYPE_NULL {
            let of = datatype.find().filter(|of| of.is_contiguous() && of.is_committed())?;
            known.size = u32::try_from(of.size()).ok()?;
            known.swaps = is_swapped(of);
            if op != MPI_OP_NULL {
                let is_element = of.is_predefined() && matches!(of.size(), 1 | 2 | 4 | 8);
                known.change = Some(accumulation(op, of, 1).ok().filter(|_| is_element)?.change().ok()?);
            }
        }
        Some(known)
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

/// Places of what is remembered, by the last bits of rank, datatype and operation.
const PLACES: usize = 16;

struct Places(UnsafeCell<[Known; PLACES]>);

// SAFETY: two threads never reach a place at a time, see `known` and `learn`.
unsafe impl Sync for Places {}

static KNOWN: Places = Places(UnsafeCell::new([const { Known::NONE }; PLACES]));

#[inline(always)]
fn place(datatype: MPI_Datatype, op: MPI_Op, rank: c_int) -> *mut Known {
    let at = (rank as usize ^ datatype.value() ^ op.value()) % PLACES;
    // SAFETY: the index is below the length of the array.
    unsafe { KNOWN.0.get().cast::<Known>().add(at) }
}

/// The target of a call, if it is remembered and the program uses one thread at a time.
#[inline(always)]
fn known(win: MPI_Win, datatype: MPI_Datatype, op: MPI_Op, rank: c_int) -> Option<&'static Known> {
    let freed = call_cache::freed_alone()?;
    // SAFETY: one thread calls the library, and the reference ends before `learn` is called.
    let known = unsafe { &*place(datatype, op, rank) };
    let is_of_target = known.freed == freed && known.win == win && known.rank == rank;
    (is_of_target && known.datatype == datatype && known.op == op).then_some(known)
}

/// Remembers the target of a call that was done on the general path.
pub fn learn(win: MPI_Win, datatype: MPI_Datatype, op: MPI_Op, rank: c_int) {
    if call_cache::freed_alone().is_none() || known(win, datatype, op, rank).is_some() {
        return;
    }
    if let Some(found) = Known::find(win, datatype, op, rank) {
        // SAFETY: one thread calls the library, and holds no reference to what is remembered here.
        unsafe { *place(datatype, op, rank) = found };
    }
}

/// [`learn`] of a call without datatype and operation.
pub fn learn_target(win: MPI_Win, rank: c_int) {
    learn(win, MPI_DATATYPE_NULL, MPI_OP_NULL, rank);
}

#[inline(always)]
fn known_target(win: MPI_Win, rank: c_int) -> Option<&'static MappedTarget<'static>> {
    known(win, MPI_DATATYPE_NULL, MPI_OP_NULL, rank).map(Known::target)
}

/// Writes elements of the program's to a target; false if nothing was done.
#[inline(always)]
pub fn put(
    from: (SendBuffer, Count, MPI_Datatype),
    (rank, disp): (c_int, i64),
    to: (Count, MPI_Datatype),
    win: MPI_Win,
) -> bool {
    let Some(known) = known(win, to.1, MPI_OP_NULL, rank).filter(|_| from.2 == to.1) else { return false };
    let Some(bytes) = known.bytes(from.1, to.0).filter(|_| !from.0.is_null()) else { return false };
    // SAFETY: not null; the program gives so many bytes to be read as long as the call lasts.
    known.target().put(disp, unsafe { core::slice::from_raw_parts(from.0.cast(), bytes) })
}

/// Reads elements of a target into the program's memory; false if nothing was done.
#[inline(always)]
pub fn get(
    into: (RecvBuffer, Count, MPI_Datatype),
    (rank, disp): (c_int, i64),
    from: (Count, MPI_Datatype),
    win: MPI_Win,
) -> bool {
    let Some(known) = known(win, from.1, MPI_OP_NULL, rank).filter(|_| into.2 == from.1) else {
        return false;
    };
    let Some(bytes) = known.bytes(into.1, from.0).filter(|_| !into.0.is_null()) else { return false };
    // SAFETY: not null; the program gives so many bytes to be written as long as the call lasts.
    known.target().get(disp, unsafe { core::slice::from_raw_parts_mut(into.0.cast(), bytes) })
}

/// Changes one element of a target; false if nothing was done.
#[inline(always)]
pub fn fetch_and_op(
    (from, into): (SendBuffer, RecvBuffer),
    (datatype, op): (MPI_Datatype, MPI_Op),
    (rank, disp): (c_int, i64),
    win: MPI_Win,
) -> bool {
    let Some(known) = known(win, datatype, op, rank) else { return false };
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
    let Some(known) = known(win, datatype, MPI_OP_NULL, rank) else { return false };
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

/// Waits until all accesses to a target are done, there too or only here; false if nothing was done.
#[inline(always)]
pub fn flush(rank: c_int, win: MPI_Win, there: bool) -> bool {
    let Some(target) = known_target(win, rank) else { return false };
    if there { target.flush() } else { target.flush_local() }
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
