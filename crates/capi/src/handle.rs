//! Handles, by which C programs refer to a job, a flow, a request and so on.
//!
//! Owns the memory of handles, and never frees it. A closed handle is recognised until its memory serves
//! another handle. For a new handle the memory closed first is reused, and only if there are many closed
//! ones.
//!
//! ```text
//!   canele_flow * ──▶ ┌ head │ value ┐     head: the kind of the handle or `CLOSED`, at offset 0 in all kinds
//!                     └──────┴───────┘     closed handles wait in the pool of their kind
//! ```
//!
//! To Rust, a handle of C is a reference to its head alone. The value behind it is accessed only after the
//! head has shown the right kind.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use canele_sys::atomic::{AtomicU32, Ordering::Relaxed};

use crate::error::{ReportedError, canele_error};

/// Number of closed handles of a kind above which the first of them is reused.
const CLOSED_AT_LEAST: usize = 64;
/// The kind of a closed handle.
const CLOSED: u32 = u32::from_le_bytes(*b"shut");
/// The kind of a handle whose job was finished.
const FINISHED: u32 = u32::from_le_bytes(*b"done");

/// The first field of every handle.
#[repr(C)]
pub struct Head {
    // Relaxed everywhere: it orders nothing, because no call may close a handle that another one uses.
    kind: AtomicU32,
}

/// The memory of a handle.
#[repr(C)]
struct Handle<T> {
    head: Head,
    value: UnsafeCell<Option<T>>,
}

/// A kind of handle, recognised by its head.
pub trait Kind: Sized + 'static {
    /// The type of the value.
    type Value: 'static;
    /// Number that distinguishes the kind from other kinds, and from memory that is no handle.
    const KIND: u32;
    /// Its name in error messages.
    const NAME: &'static str;

    fn head(&self) -> &Head;
    fn pool() -> &'static Pool<Self>;
}

/// Implements [`Kind`] for a structure with one field of type [`Head`].
macro_rules! kind {
    ($name:ident, $value:ty, $kind:literal, $text:literal) => {
        const _: () = assert!(
            size_of::<$name>() == size_of::<$crate::handle::Head>() && std::mem::offset_of!($name, 0) == 0
        );

        impl $crate::handle::Kind for $name {
            type Value = $value;
            const KIND: u32 = u32::from_le_bytes(*$kind);
            const NAME: &'static str = $text;

            #[inline(always)]
            fn head(&self) -> &$crate::handle::Head {
                &self.0
            }

            fn pool() -> &'static $crate::handle::Pool<Self> {
                static POOL: $crate::handle::Pool<$name> = $crate::handle::Pool::new();
                &POOL
            }
        }
    };
}
pub(crate) use kind;

/// Closed handles of a kind, in the order of their closing.
pub struct Pool<K>(Mutex<VecDeque<NonNull<K>>>);

// SAFETY: what is in a pool is closed, and so is used by no thread; its memory is never freed.
unsafe impl<K> Sync for Pool<K> {}

impl<K: Kind> Pool<K> {
    pub const fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    fn take(&self) -> Option<NonNull<K>> {
        let mut closed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if closed.len() > CLOSED_AT_LEAST { closed.pop_front() } else { None }
    }

    fn put(&self, handle: NonNull<K>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(handle);
    }
}

/// Returns the memory of a handle, of which its head is a part.
///
/// # Safety
/// The memory is of this kind, open or closed.
#[inline(always)]
unsafe fn memory_of<K: Kind>(handle: &K) -> &Handle<K::Value> {
    let address = std::ptr::from_ref(handle).addr();
    // SAFETY: `open` made it of this kind, by the caller's word, and exposed it; it is never freed.
    unsafe { &*std::ptr::with_exposed_provenance(address) }
}

/// Makes a handle.
pub fn open<K: Kind>(value: K::Value) -> NonNull<K> {
    let Some(memory) = K::pool().take() else {
        let head = Head { kind: AtomicU32::new(K::KIND) };
        let memory = NonNull::from(Box::leak(Box::new(Handle { head, value: UnsafeCell::new(Some(value)) })));
        memory.as_ptr().expose_provenance();
        return memory.cast();
    };
    // SAFETY: a pool has handles of its kind alone; closed, so nothing refers to it; its memory is never freed.
    let handle = unsafe { memory_of(memory.as_ref()) };
    // SAFETY: as above.
    unsafe { *handle.value.get() = Some(value) };
    handle.head.kind.store(K::KIND, Relaxed);
    memory
}

/// Makes a handle of the result of `make`, and stores it in the program's place.
pub fn put<K: Kind>(
    place: Option<&mut MaybeUninit<*mut K>>,
    make: impl FnOnce() -> Result<K::Value, ReportedError>,
) -> Result<(), ReportedError> {
    let place = place.ok_or_else(|| no_place(K::NAME))?;
    // The content of the place after an error.
    place.write(std::ptr::null_mut());
    place.write(open::<K>(make()?).as_ptr());
    Ok(())
}

/// Makes the error of a missing place for a result.
#[cold]
pub fn no_place(what: &str) -> ReportedError {
    ReportedError::argument(format!("the place for the {what} is a null pointer"))
}

/// Returns the value of a handle, if it is open and of this kind.
#[inline(always)]
pub fn find<K: Kind>(handle: Option<&K>) -> Option<&K::Value> {
    let handle = handle?;
    if handle.head().kind.load(Relaxed) != K::KIND {
        return None;
    }
    // SAFETY: it is of this kind. It is open, so its value is written by no call but one that closes it, which
    // no program may make meanwhile.
    unsafe { &*memory_of(handle).value.get() }.as_ref()
}

/// Returns the value of a handle.
#[inline(always)]
pub fn get<K: Kind>(handle: Option<&K>) -> Result<&K::Value, ReportedError> {
    find(handle).ok_or_else(|| no_handle(handle))
}

/// Returns the value of a handle for changes.
#[inline(always)]
pub fn get_mut<K: Kind>(handle: Option<&mut K>) -> Result<&mut K::Value, ReportedError> {
    match handle {
        Some(handle) if handle.head().kind.load(Relaxed) == K::KIND => {
            // SAFETY: it is of this kind and open, and the call has it alone.
            unsafe { &mut *memory_of(handle).value.get() }.as_mut().ok_or_else(|| no_handle::<K>(None))
        }
        handle => Err(no_handle(handle.as_deref())),
    }
}

/// Makes the error of an unusable handle.
#[cold]
#[inline(never)]
pub fn no_handle<K: Kind>(handle: Option<&K>) -> ReportedError {
    let name = K::NAME;
    match handle.map(|handle| handle.head().kind.load(Relaxed)) {
        None => {
            ReportedError::argument(format!("the {name} is NULL: it was never opened, or is closed already"))
        }
        Some(CLOSED) => ReportedError::new(
            canele_error::CANELE_ERROR_CLOSED_HANDLE,
            format!("the {name} is closed already: another copy of the handle was closed or waited for"),
        ),
        Some(FINISHED) => ReportedError::new(
            canele_error::CANELE_ERROR_FINISHED,
            format!("the {name} is of a job that was finished by this rank: no more calls"),
        ),
        Some(_) => ReportedError::argument(format!(
            "the pointer is no {name}: it points to another kind of handle or memory"
        )),
    }
}

/// Returns the handle in a place, for use in this call alone.
pub fn at<K: Kind>(place: Option<&mut *mut K>) -> Result<(&mut *mut K, &mut K::Value), ReportedError> {
    let place = place.ok_or_else(|| no_place(K::NAME))?;
    // SAFETY: a pointer to a handle is NULL or from this module, whose memory is never freed; the call has it
    // alone.
    let handle = unsafe { place.as_mut() };
    let value = get_mut(handle)?;
    Ok((place, value))
}

/// Closes the handle in a place, which becomes NULL, and returns its value.
pub fn close<K: Kind>(place: Option<&mut *mut K>) -> Result<K::Value, ReportedError> {
    let (place, _) = at(place)?;
    let handle = std::mem::replace(place, std::ptr::null_mut());
    NonNull::new(handle).and_then(close_handle).ok_or_else(|| no_handle::<K>(None))
}

/// Closes a handle, and returns its value; none if it is closed.
fn close_handle<K: Kind>(memory: NonNull<K>) -> Option<K::Value> {
    // SAFETY: the memory of handles is never freed.
    let handle = unsafe { memory.as_ref() };
    if handle.head().kind.swap(CLOSED, Relaxed) != K::KIND {
        return None;
    }
    // SAFETY: it is of this kind, and no other call uses a handle while it is closed.
    let value = unsafe { &mut *memory_of(handle).value.get() }.take();
    K::pool().put(memory);
    value
}

/// Ends the use of a handle whose job was finished. It keeps its value, because calls of other threads may be
/// using it.
pub fn retire<K: Kind>(memory: NonNull<K>) {
    // SAFETY: the memory of handles is never freed.
    let kind = &unsafe { memory.as_ref() }.head().kind;
    // A handle that is closed stays closed.
    let _ = kind.compare_exchange(K::KIND, FINISHED, Relaxed, Relaxed);
}
