//! The value that the copies of this library in one process share.
//!
//! A program may load several libraries that contain this one: MPI's, that for C, the module for Python. A
//! process is one rank of its job, so the copy that joins the job first offers its engine to the others. Each
//! copy keeps one offer behind the exported function [`canele_offer`]; a copy that looks for an offer asks
//! the same function of every other loaded library of the system.
//!
//! ```text
//!   libmpi_abi.so.1: offer(engine)
//!   _native.abi3.so: find() ──dlsym──▶ libmpi_abi.so.1: canele_offer_version ──▶ 1
//!                                                       canele_offer ──▶ engine
//! ```
//! Two copies may use one value only if they agree on two numbers. The first is the [`VERSION`] of the shared
//! interface, which people can compare. The second is the [`identity`] of the build: copies of one version
//! may come from different sources, compilers or options. A copy that finds other numbers does not use the
//! value, and reports why ([`CannotShare`]). Statics and thread-local variables are not shared: each copy has
//! its own, and the users of this module say which of them must agree. A library that has been found is never
//! unloaded.

mod refusal;

use std::any::{Any, TypeId};
use std::ffi::c_void;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use libloading::os::unix::{Library, RTLD_LAZY};
pub use refusal::{CannotShare, CopyLibrary};

/// The version of the shared interface: types of the exported functions, state of a shared value, and rules
/// of its use.
///
/// A release that changes one of these raises it.
pub const VERSION: u32 = 1;

/// The names by which the loader knows libraries that contain this one.
pub const LIBRARIES: [&str; 5] =
    ["libmpi_abi.so.1", "libmpi.so.12", "libmpi.so.40", "libcanele.so.0", "libcanele-python.so"];

/// The value that a copy offers to the others.
struct Offer {
    identity: u64,
    /// Makes a pointer by `Arc::into_raw`, if the value is alive.
    value: Box<dyn Fn() -> Option<*const c_void> + Send>,
}

static OFFER: Mutex<Option<Offer>> = Mutex::new(None);

/// The answer of [`canele_offer`].
#[repr(C)]
pub struct OfferAnswer {
    /// The address of the copy's own offer, which tells copies apart.
    copy: usize,
    /// True if there is a value.
    has_value: bool,
    /// The value, by `Arc::into_raw`, if the identity matches; else null.
    value: *const c_void,
}

impl OfferAnswer {
    /// Decides if the answer of a library with this version can be used. The version is none if the library
    /// lacks [`canele_offer_version`].
    fn verdict(&self, version: Option<u32>) -> OfferVerdict {
        if !self.has_value {
            OfferVerdict::NothingOffered
        } else if version != Some(VERSION) {
            OfferVerdict::OtherVersion
        } else if self.value.is_null() {
            OfferVerdict::OtherBuild
        } else {
            OfferVerdict::Shared
        }
    }
}

/// The decision about the answer of another copy.
#[derive(Debug, PartialEq, Eq)]
enum OfferVerdict {
    NothingOffered,
    /// The other copy has another version; its value is never touched.
    OtherVersion,
    OtherBuild,
    Shared,
}

/// Returns a number for a type of one build. It is equal in copies that may share values of the type.
pub fn identity<T: Any>(build: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    // The compiler and the features of every part of the type are in its number.
    (VERSION, build, TypeId::of::<T>(), size_of::<T>(), align_of::<T>()).hash(&mut hasher);
    hasher.finish()
}

fn offered() -> MutexGuard<'static, Option<Offer>> {
    OFFER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Offers `value` to the other copies while it is alive, in place of an earlier offer.
pub fn offer<T: Any + Send + Sync>(build: &str, value: &Arc<T>) {
    let value: Weak<T> = Arc::downgrade(value);
    *offered() = Some(Offer {
        identity: identity::<T>(build),
        value: Box::new(move || value.upgrade().map(|value| Arc::into_raw(value).cast())),
    });
}

/// Returns the version of this copy's shared interface. Other copies find the function by its name and call
/// it before [`canele_offer`].
#[unsafe(no_mangle)]
pub extern "C" fn canele_offer_version() -> u32 {
    VERSION
}

/// Returns this copy's offer to a copy with this identity. Other copies find the function by its name; its
/// type is the same in all versions.
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

/// Finds the offer of another copy.
///
/// # Errors
/// Fails if a copy with another version or of another build offers a value.
pub fn find<T: Any + Send + Sync>(build: &str) -> Result<Option<Arc<T>>, CannotShare> {
    let identity = identity::<T>(build);
    let mut found = Ok(None);
    // All libraries stay loaded, this one too: a shared value may call code of any of them.
    for name in LIBRARIES {
        let Some(LoadedCopy { version, answer, address }) = ask(name, identity) else { continue };
        let verdict = answer.verdict(version);
        // SAFETY: the copy made it by `Arc::into_raw` of an `Arc<T>` for us, and its `T` is ours: versions
        // and identities are equal.
        let value = (verdict == OfferVerdict::Shared).then(|| unsafe { Arc::from_raw(answer.value.cast()) });
        if answer.copy == &raw const OFFER as usize {
            continue;
        }
        let ours = || CopyLibrary::of((&raw const OFFER).cast(), "this library", Some(VERSION));
        let theirs = || CopyLibrary::of(address, name, version);
        found = match verdict {
            OfferVerdict::NothingOffered => continue,
            OfferVerdict::OtherVersion => Err(CannotShare::OtherVersion { ours: ours(), theirs: theirs() }),
            OfferVerdict::OtherBuild => Err(CannotShare::OtherBuild { ours: ours(), theirs: theirs() }),
            OfferVerdict::Shared => Ok(value),
        };
    }
    found
}

/// A library that is loaded, and its answer.
struct LoadedCopy {
    version: Option<u32>,
    answer: OfferAnswer,
    /// An address in the library's code.
    address: *const c_void,
}

/// Asks a library for its offer, if it is loaded.
fn ask(name: &str, identity: u64) -> Option<LoadedCopy> {
    // SAFETY: a library that is loaded already runs no code when it is opened again. It stays open, because a
    // value may refer to its code.
    let library = unsafe { Library::open(Some(name), RTLD_LAZY | libc::RTLD_NOLOAD) }.ok()?;
    let library = ManuallyDrop::new(library);
    // SAFETY: the name is of this system alone, and its type has been this one in all versions that have it.
    let version = unsafe { library.get::<extern "C" fn() -> u32>(b"canele_offer_version\0") }.ok();
    let version = version.map(|version| version());
    // SAFETY: the name is of this system alone, and its type has been this one in all versions.
    let offer = unsafe { library.get::<extern "C" fn(u64) -> OfferAnswer>(b"canele_offer\0") }.ok()?;
    Some(LoadedCopy { version, answer: offer(identity), address: *offer as *const c_void })
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
    #[test]
    fn a_value_is_shared_by_copies_of_one_version_and_one_build() {
        use OfferVerdict::{NothingOffered, OtherBuild, OtherVersion, Shared};
        let value = (&raw const OFFER).cast();
        let given = OfferAnswer { copy: 1, has_value: true, value };
        let withheld = OfferAnswer { copy: 1, has_value: true, value: ptr::null() };
        let nothing = OfferAnswer { copy: 1, has_value: false, value: ptr::null() };
        assert_eq!(canele_offer_version(), VERSION);
        for (version, expected) in [
            (Some(VERSION), [Shared, OtherBuild, NothingOffered]),
            (Some(VERSION + 1), [OtherVersion, OtherVersion, NothingOffered]),
            (Some(VERSION - 1), [OtherVersion, OtherVersion, NothingOffered]),
            (None, [OtherVersion, OtherVersion, NothingOffered]),
        ] {
            let verdicts = [&given, &withheld, &nothing].map(|answer| answer.verdict(version));
            assert_eq!(verdicts, expected, "{version:?}");
        }
    }
}
