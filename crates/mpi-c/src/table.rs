//! The handle table: from handle values to objects of all kinds, without a lock on the way.
//!
//! ```text
//!   value:  generation (8 bits) | index (22 bits)        no index below 4096; constants have rows of their own
//!   index ──▶ chunk of 4096 rows, allocated on demand, never freed ──▶ row { generation and kind, object }
//! ```
//! Values stay below 2³⁰, and indexes below 2²¹: larger ones belong to requests. The generation distinguishes
//! a freed value from the next one in its row, and the kind distinguishes values of other kinds. An object
//! leaves its row when it is freed. The program must ensure that no thread uses a handle while another one
//! frees it (MPI 5.0, §11.6.1).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use canele_sys::atomic::{AtomicU32, AtomicUsize, Ordering};
use layout::handle::CONSTANT_ROWS;
use layout::{constant_mark, constant_row};

use crate::cache;

const INDEX_BITS: u32 = 22;
const GENERATIONS: u32 = 1 << 8;
const ROWS: usize = CONSTANT_ROWS;
/// The first index of requests, which have a table of their own.
pub const FIRST_REQUEST: usize = 1 << (INDEX_BITS - 1);
const CHUNKS: usize = FIRST_REQUEST / ROWS;
/// Freed rows are not reused while at most this many are free, so that freed handles stay recognisable.
const RESTING: usize = 64;

/// The kind of object that a handle names.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectKind {
    /// A communicator.
    Comm = 1,
    /// A group.
    Group,
    /// A datatype.
    Datatype,
    /// An operation.
    Op,
    /// An info object.
    Info,
    /// An error handler.
    Errhandler,
    /// A message that a probe has matched.
    Message,
    /// A session.
    Session,
    /// A window.
    Window,
    /// A file.
    File,
}

impl ObjectKind {
    /// All kinds, with their plurals for texts.
    pub const ALL: [(Self, &str); 10] = [
        (Self::Comm, "communicators"),
        (Self::Group, "groups"),
        (Self::Datatype, "datatypes"),
        (Self::Op, "operations"),
        (Self::Errhandler, "error handlers"),
        (Self::Info, "info objects"),
        (Self::Message, "messages"),
        (Self::Session, "sessions"),
        (Self::Window, "windows"),
        (Self::File, "files"),
    ];
}

/// An object that a handle names.
///
/// # Safety
/// No two types have the same kind.
pub unsafe trait Object: Send + Sync + 'static {
    /// The kind of object.
    const KIND: ObjectKind;
}

/// The table of the process.
pub static HANDLES: Table = Table::new();

struct Row {
    /// Generation and kind; no kind if there is no object.
    tag: AtomicU32,
    /// An `Arc` as a raw pointer, or 0.
    object: AtomicUsize,
}

impl Row {
    const fn new() -> Self {
        Self { tag: AtomicU32::new(0), object: AtomicUsize::new(0) }
    }
}

const fn tag(generation: u32, kind: ObjectKind) -> u32 {
    generation << 8 | kind as u32
}

/// A table of objects of all kinds.
pub struct Table {
    constants: [Row; ROWS],
    /// The first chunk is never allocated: its rows are the constants.
    chunks: [OnceLock<Box<[Row]>>; CHUNKS],
    free: Mutex<Free>,
}

/// The unused rows.
struct Free {
    list: VecDeque<u32>,
    /// The first row that has never been used.
    next: u32,
    /// Number of the program's objects, by kind.
    used: [usize; 1 + ObjectKind::ALL.len()],
}

impl Table {
    const fn new() -> Self {
        let free = Free { list: VecDeque::new(), next: ROWS as u32, used: [0; 1 + ObjectKind::ALL.len()] };
        Self {
            constants: [const { Row::new() }; ROWS],
            chunks: [const { OnceLock::new() }; CHUNKS],
            free: Mutex::new(free),
        }
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the row of a value, and the generation that a valid row has.
    #[inline(always)]
    fn row(&self, value: usize) -> Option<(&Row, u32)> {
        match constant_row(value) {
            Some(row) => Some((self.constants.get(row)?, constant_mark(value))),
            None if value >> (INDEX_BITS + 8) != 0 => None,
            None => {
                let index = value & ((1 << INDEX_BITS) - 1);
                let row = &self.chunks.get(index / ROWS)?.get()?[index % ROWS];
                Some((row, (value >> INDEX_BITS) as u32))
            }
        }
    }

    /// Returns the row of an existing object.
    #[inline(always)]
    fn row_of<T: Object>(&self, value: usize) -> Option<&Row> {
        let (row, generation) = self.row(value)?;
        // Relaxed: a thread that got the handle has also seen the contents of the row.
        (row.tag.load(Ordering::Relaxed) == tag(generation, T::KIND)).then_some(row)
    }

    /// Returns the object of a handle.
    #[inline(always)]
    pub fn get<T: Object>(&self, value: usize) -> Option<&'static T> {
        // Acquire: pairs with the release in `place`; the object is complete.
        let object = self.row_of::<T>(value)?.object.load(Ordering::Acquire) as *const T;
        // SAFETY: the row's kind says that it came from an `Arc<T>`, which the row holds until the handle is
        // freed; the program does not free a handle while it uses it.
        unsafe { object.as_ref() }
    }

    /// Returns the object of a handle, for use beyond the call.
    pub fn share<T: Object>(&self, value: usize) -> Option<Arc<T>> {
        let object: *const T = self.get(value)?;
        // SAFETY: it came from `Arc::into_raw`, and the row's count keeps it alive.
        unsafe {
            Arc::increment_strong_count(object);
            Some(Arc::from_raw(object))
        }
    }

    /// Returns the kind of a handle's object.
    pub fn kind(&self, value: usize) -> Option<ObjectKind> {
        let (row, generation) = self.row(value)?;
        let found = row.tag.load(Ordering::Relaxed);
        let is_there = |kind: &ObjectKind| found == tag(generation, *kind);
        ObjectKind::ALL.iter().map(|(kind, _)| *kind).find(is_there)
    }

    /// Returns true if the value may be a handle of a program's object.
    pub fn may_be(&self, value: usize) -> bool {
        constant_row(value).is_none() && value & ((1 << INDEX_BITS) - 1) >= ROWS
    }

    /// Makes a handle for an object; none if all are used.
    pub fn insert<T: Object>(&self, object: Arc<T>) -> Option<usize> {
        let mut free = self.free();
        let index = if free.list.len() > RESTING || free.next as usize >= FIRST_REQUEST {
            free.list.pop_front()?
        } else {
            free.next += 1;
            free.next - 1
        };
        free.used[T::KIND as usize] += 1;
        drop(free);
        let (chunk, at) = (index as usize / ROWS, index as usize % ROWS);
        let row = &self.chunks[chunk].get_or_init(|| (0..ROWS).map(|_| Row::new()).collect())[at];
        let generation = row.tag.load(Ordering::Relaxed) >> 8;
        place(row, generation, object);
        Some((generation as usize) << INDEX_BITS | index as usize)
    }

    /// Assigns an object to the value of a constant.
    pub fn fix<T: Object>(&self, value: usize, object: Arc<T>) {
        self.remove::<T>(value);
        let row = constant_row(value).expect("a constant of the ABI has a row");
        place(&self.constants[row], constant_mark(value), object);
    }

    /// Removes and returns the object of a handle, which becomes invalid.
    pub fn remove<T: Object>(&self, value: usize) -> Option<Arc<T>> {
        let row = self.row_of::<T>(value)?;
        let object = row.object.swap(0, Ordering::AcqRel) as *const T;
        if object.is_null() {
            return None;
        }
        cache::forget();
        let is_constant = constant_row(value).is_some();
        let next = if is_constant { 0 } else { ((value >> INDEX_BITS) as u32 + 1) % GENERATIONS };
        row.tag.store(next << 8, Ordering::Relaxed);
        if !is_constant {
            let mut free = self.free();
            free.used[T::KIND as usize] -= 1;
            free.list.push_back((value & ((1 << INDEX_BITS) - 1)) as u32);
        }
        // SAFETY: the row's kind says that it came from an `Arc<T>`; the swap gave it to this caller alone.
        Some(unsafe { Arc::from_raw(object) })
    }

    /// Returns the number of a kind's objects with handles of the program.
    pub fn used(&self, kind: ObjectKind) -> usize {
        self.free().used[kind as usize]
    }
}

fn place<T: Object>(row: &Row, generation: u32, object: Arc<T>) {
    row.object.store(Arc::into_raw(object) as usize, Ordering::Release);
    row.tag.store(tag(generation, T::KIND), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Number(usize);
    // SAFETY: the tests' tables hold no other type of this kind.
    unsafe impl Object for Number {
        const KIND: ObjectKind = ObjectKind::Comm;
    }
    struct Word;
    // SAFETY: as above.
    unsafe impl Object for Word {
        const KIND: ObjectKind = ObjectKind::Info;
    }

    #[test]
    fn a_freed_handle_is_known_as_such_even_when_its_row_is_used_again() {
        static TABLE: Table = Table::new();
        let insert = || (0..1000).map(|n| TABLE.insert(Arc::new(Number(n))).unwrap()).collect::<Vec<_>>();
        let found = |handle: &usize| TABLE.get::<Number>(*handle).map(|number| number.0);
        let handles = insert();
        assert!(handles.iter().enumerate().all(|(n, handle)| found(handle) == Some(n)));
        assert_eq!(TABLE.used(ObjectKind::Comm), 1000);
        for handle in &handles {
            assert!(TABLE.remove::<Number>(*handle).is_some());
            assert!(TABLE.remove::<Number>(*handle).is_none());
        }
        let again = insert();
        assert!(handles.iter().all(|old| found(old).is_none()));
        assert!(again.iter().enumerate().all(|(n, handle)| found(handle) == Some(n)));
    }

    #[test]
    fn a_handle_of_another_kind_is_refused_and_named() {
        static TABLE: Table = Table::new();
        let (number, word) =
            (TABLE.insert(Arc::new(Number(1))).unwrap(), TABLE.insert(Arc::new(Word)).unwrap());
        assert!(TABLE.get::<Word>(number).is_none() && TABLE.get::<Number>(word).is_none());
        assert!(TABLE.remove::<Word>(number).is_none());
        assert_eq!((TABLE.kind(number), TABLE.kind(word)), (Some(ObjectKind::Comm), Some(ObjectKind::Info)));
    }

    #[test]
    fn what_is_no_handle_is_refused() {
        static TABLE: Table = Table::new();
        let world = crate::constants::MPI_COMM_WORLD.value();
        TABLE.fix(world, Arc::new(Number(7)));
        assert_eq!(TABLE.get::<Number>(world).map(|number| number.0), Some(7));
        for value in [
            0,
            crate::constants::MPI_COMM_NULL.value(),
            world + 1,
            4096,
            usize::MAX,
            1 << 40,
            world | 1 << 22,
            world | 1 << 29,
            world | 1 << 31,
            world | 1 << 32,
            world | 1 << 9,
            FIRST_REQUEST,
            FIRST_REQUEST | 1,
        ] {
            assert!(TABLE.get::<Number>(value).is_none(), "{value:#x}");
        }
    }
}
