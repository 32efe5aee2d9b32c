//! The value that the copies of this library in one process share.
//!
//! A program may load several libraries that contain this one: MPI's, that for C, the module for Python. A process is one rank of its
//! job, so the copy that joins the job first offers what it has to the others. Each copy keeps one offer behind the exported function
//! [`canele_offer`]; a copy that looks for an offer asks the same function of every other library of the system that is loaded.
//!
//! ```text
//!   libmpi_abi.so.1: offer(engine)          _native.abi3.so: find() ──dlsym──▶ libmpi_abi.so.1: canele_offer ──▶ engine
//! ```
//! Two copies may use one value only if they were compiled from the same sources by the same compiler with the same options, as the
//! libraries of one package are: they agree on a number ([`identity`]) or do not share. Statics and thread-local variables are not shared:
//! each copy has its own, and the users of this module say which of them must agree. A library that has been found is never
//! unloaded.

use std::any::{Any, TypeId};
use std::ffi::c_void;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use libloading::os::unix::{Library, RTLD_LAZY};
use thiserror::Error;

/// The names by which the loader knows libraries that contain this one.
pub const LIBRARIES: [&str; 4] = ["libmpi_abi.so.1", "libmpi.so.12", "libcanele.so.0", "libcanele-python.so"];

/// A library of the process offers a value, but was compiled apart from this one.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("{library} was compiled apart")]
pub struct CompiledApart {
    /// The name of the library.
    pub library: &'static str,
}

/// What a copy offers.
struct Offer {
    identity: u64,
    /// Makes a pointer by `Arc::into_raw`, if the value lives.
    value: Box<dyn Fn() -> Option<*const c_void> + Send>,
}

static OFFER: Mutex<Option<Offer>> = Mutex::new(None);

/// The answer of [`canele_offer`].
#[repr(C)]
pub struct OfferAnswer {
    /// Where the copy keeps its offer, which tells copies apart.
    copy: usize,
    /// True if there is a value.
    has_value: bool,
    /// The value, by `Arc::into_raw`, if the identity was right; else null.
    value: *const c_void,
}

/// A number for a type of one build: equal in copies that may share values of it.
pub fn identity<T: Any>(build: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    // The compiler and the features of all that a type consists of are in its number.
    (build, TypeId::of::<T>(), size_of::<T>(), align_of::<T>()).hash(&mut hasher);
    hasher.finish()
}

fn offered() -> MutexGuard<'static, Option<Offer>> {
    OFFER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Offers `value` to the other copies, as long as it lives, in place of what was offered before.
pub fn offer<T: Any + Send + Sync>(build: &str, value: &Arc<T>) {
    let value: Weak<T> = Arc::downgrade(value);
    *offered() = Some(Offer {
        identity: identity::<T>(build),
        value: Box::new(move || value.upgrade().map(|value| Arc::into_raw(value).cast())),
    });
}

/// Returns what this copy offers to one with this identity. For other copies, which find it by its name.
#[unsafe(no_mangle)]
pub extern "C" fn canele_offer(identity: u64) -> OfferAnswer {
    let copy = &raw const OFFER as usize;
    let offered = offered();
    let Some(offer) = &*offered else { return OfferAnswer { copy, has_value: false, value: ptr::null() } };
    if offer.identity != identity {
        return OfferAnswer { copy, has_value: true, value: ptr::null() };
    }
    let value = (offer.value)();
    OfferAnswer { copy, has_value: value.is_some(), value: value.unwrap_or(ptr::null()) }
}

/// Finds what another copy offers.
///
/// # Errors
/// A copy offers something, and was compiled apart from this one.
pub fn find<T: Any + Send + Sync>(build: &str) -> Result<Option<Arc<T>>, CompiledApart> {
    let identity = identity::<T>(build);
    let mut found = Ok(None);
    // All of them, this one too: none is unloaded whose code a shared value may call.
    for name in LIBRARIES {
        let Some(answer) = ask(name, identity) else { continue };
        // SAFETY: the copy made it by `Arc::into_raw` of an `Arc<T>` for us, and its `T` is ours: the identities are equal.
        let value = (!answer.value.is_null()).then(|| unsafe { Arc::from_raw(answer.value.cast()) });
        if answer.copy == &raw const OFFER as usize || !answer.has_value {
            continue;
        }
        match value {
            None => found = Err(CompiledApart { library: name }),
            value => found = Ok(value),
        }
    }
    found
}

/// Asks a library, if it is loaded.
fn ask(name: &str, identity: u64) -> Option<OfferAnswer> {
    // SAFETY: a library that is loaded already runs no code when it is opened again. It stays open, as its code may be what a value
    // refers to.
    let library = unsafe { Library::open(Some(name), RTLD_LAZY | libc::RTLD_NOLOAD) }.ok()?;
    let library = ManuallyDrop::new(library);
    // SAFETY: the name is of this system alone, and its type has been this one in all versions.
    let offer = unsafe { library.get::<extern "C" fn(u64) -> OfferAnswer>(b"canele_offer\0") }.ok()?;
    Some(offer(identity))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_goes_to_those_of_the_same_build_while_it_lives() {
        struct Value(u32);
        let value = Arc::new(Value(7));
        offer("one", &value);
        assert!(canele_offer(identity::<Value>("other")).value.is_null());
        assert!(canele_offer(identity::<u64>("one")).value.is_null());
        let answer = canele_offer(identity::<Value>("one"));
        assert!(answer.has_value);
        // SAFETY: made by `Arc::into_raw`.
        let found = unsafe { Arc::from_raw(answer.value.cast::<Value>()) };
        assert_eq!((found.0, Arc::strong_count(&value)), (7, 2));
        drop((found, value));
        assert!(!canele_offer(identity::<Value>("one")).has_value);
        assert!(find::<Value>("one").unwrap().is_none(), "a copy does not find its own offer");
    }
}
