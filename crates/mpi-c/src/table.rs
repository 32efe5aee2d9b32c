//! Tables from handle values to objects, without a lock on the way.
//!
//! ```text
//!   value:  generation (9 bits) | index (22 bits)
//!   below 4096, the constants of the ABI ──▶ object
//!   index ──▶ chunk of 4096 rows, allocated when needed, for ever ──▶ row { generation, object }
//! ```
//! A value that was freed is told from the next tenant of its row by the generation. An object leaves its row when it is
//! freed; that nobody uses a handle while another thread frees it is the program's duty (MPI 5.0, §11.6.1).

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::call_cache;
use canele_sys::atomic::{AtomicU32, AtomicUsize, Ordering};

const INDEX_BITS: u32 = 22;
const GENERATIONS: u32 = 1 << 9;
const ROWS: usize = 1 << 12;
const CHUNKS: usize = 1 << (INDEX_BITS as usize - 12);

struct Row {
    generation: AtomicU32,
    /// An `Arc` as a raw pointer, or 0.
    object: AtomicUsize,
}

/// The objects of one kind.
pub struct Table<T> {
    /// The objects of the constants, as those of rows.
    fixed: [AtomicUsize; ROWS],
    chunks: [OnceLock<Box<[Row]>>; CHUNKS],
    free: Mutex<Free>,
    of: std::marker::PhantomData<fn() -> Arc<T>>,
}

/// Rows that may be used.
struct Free {
    list: std::collections::VecDeque<u32>,
    /// Rows from here on have never been used.
    next: u32,
    /// Objects of the program's that are there.
    used: usize,
}

impl<T: 'static> Table<T> {
    /// With nothing in it.
    pub const fn new() -> Self {
        let free = Free { list: std::collections::VecDeque::new(), next: ROWS as u32, used: 0 };
        Self {
            fixed: [const { AtomicUsize::new(0) }; ROWS],
            chunks: [const { OnceLock::new() }; CHUNKS],
            free: Mutex::new(free),
            of: std::marker::PhantomData,
        }
    }

    #[inline(always)]
    fn row(&self, value: usize) -> Option<&Row> {
        let index = value & ((1 << INDEX_BITS) - 1);
        if value >> 31 != 0 || index < ROWS {
            return None;
        }
        let row = &self.chunks[index / ROWS].get()?[index % ROWS];
        // Relaxed: whoever was given the handle was given what stands in the row, too.
        (row.generation.load(Ordering::Relaxed) == (value >> INDEX_BITS) as u32).then_some(row)
    }

    /// Where the object of a handle stands.
    #[inline(always)]
    fn object(&self, value: usize) -> Option<&AtomicUsize> {
        match self.fixed.get(value) {
            Some(fixed) => Some(fixed),
            None => Some(&self.row(value)?.object),
        }
    }

    /// The object of a handle.
    #[inline(always)]
    pub fn get(&self, value: usize) -> Option<&'static T> {
        // Acquire: pairs with the release in `place` and `fix`; the object is whole.
        let object = self.object(value)?.load(Ordering::Acquire) as *const T;
        // SAFETY: it came from an `Arc` that the row holds until the handle is freed, which the program does not do
        // while it uses the handle.
        unsafe { object.as_ref() }
    }

    /// The object of a handle, to be kept.
    pub fn share(&self, value: usize) -> Option<Arc<T>> {
        let object: *const T = self.get(value)?;
        // SAFETY: it came from `Arc::into_raw`, and the row's count keeps it alive.
        unsafe {
            Arc::increment_strong_count(object);
            Some(Arc::from_raw(object))
        }
    }

    /// Gives an object a handle, or none when all are used.
    pub fn insert(&self, object: Arc<T>) -> Option<usize> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        // A row rests as long as others are at hand, so that freed handles stay recognisable.
        let index = if free.list.len() > 64 || free.next >> INDEX_BITS != 0 {
            free.list.pop_front()?
        } else {
            free.next += 1;
            free.next - 1
        };
        free.used += 1;
        Some(self.place(index as usize, object))
    }

    /// Gives an object the value of a constant.
    pub fn fix(&self, value: usize, object: Arc<T>) {
        self.remove(value);
        self.fixed[value].store(Arc::into_raw(object) as usize, Ordering::Release);
    }

    fn place(&self, index: usize, object: Arc<T>) -> usize {
        let new = || {
            let row = || Row { generation: AtomicU32::new(0), object: AtomicUsize::new(0) };
            std::iter::repeat_with(row).take(ROWS).collect()
        };
        let row = &self.chunks[index / ROWS].get_or_init(new)[index % ROWS];
        row.object.store(Arc::into_raw(object) as usize, Ordering::Release);
        (row.generation.load(Ordering::Relaxed) as usize) << INDEX_BITS | index
    }

    /// Takes the object of a handle, which is none any more.
    pub fn remove(&self, value: usize) -> Option<Arc<T>> {
        let object = self.object(value)?.swap(0, Ordering::AcqRel) as *const T;
        if object.is_null() {
            return None;
        }
        call_cache::forget();
        if let Some(row) = self.row(value) {
            let next = (row.generation.load(Ordering::Relaxed) + 1) % GENERATIONS;
            row.generation.store(next, Ordering::Relaxed);
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.used -= 1;
            free.list.push_back((value & ((1 << INDEX_BITS) - 1)) as u32);
        }
        // SAFETY: it came from `Arc::into_raw` in `place` or `fix`; the swap gave it to this caller alone.
        Some(unsafe { Arc::from_raw(object) })
    }

    /// How many objects with handles of the program's there are.
    pub fn used(&self) -> usize {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_handle_is_known_as_such_even_when_its_row_is_used_again() {
        static TABLE: Table<usize> = Table::new();
        let handles: Vec<usize> = (0..1000).map(|n| TABLE.insert(Arc::new(n)).unwrap()).collect();
        assert!(handles.iter().enumerate().all(|(n, handle)| TABLE.get(*handle) == Some(&n)));
        assert_eq!(TABLE.used(), 1000);
        for handle in &handles {
            assert!(TABLE.remove(*handle).is_some());
            assert!(TABLE.remove(*handle).is_none());
        }
        let again: Vec<usize> = (0..1000).map(|n| TABLE.insert(Arc::new(n)).unwrap()).collect();
        assert!(handles.iter().all(|old| TABLE.get(*old).is_none()));
        assert!(again.iter().enumerate().all(|(n, handle)| TABLE.get(*handle) == Some(&n)));
    }

    #[test]
    fn what_is_no_handle_is_refused() {
        static TABLE: Table<u8> = Table::new();
        TABLE.fix(0x101, Arc::new(7));
        assert_eq!(TABLE.get(0x101), Some(&7));
        for value in [0, 0x100, 0x102, 4096, usize::MAX, 1 << 40, 0x101 | 1 << 22, 0x101 | 1 << 31] {
            assert_eq!(TABLE.get(value), None, "{value:#x}");
        }
    }
}
