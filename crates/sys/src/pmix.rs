//! A client of PMIx, by which launchers tell processes their ranks and let them exchange values:
//! `libpmix.so.2`, opened at run time.
//!
//! Owns the required types and calls of the library, by its ABI (PMIx 3 and later). Never used unless a
//! launcher announces PMIx.

use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

const SUCCESS: c_int = 0;
const RANK_WILDCARD: u32 = u32::MAX - 1;
const SCOPE_GLOBAL: u8 = 3;
const KIND_BOOL: u16 = 1;
const KIND_STRING: u16 = 3;
const KIND_UINT32: u16 = 14;
const JOB_SIZE: &CStr = c"pmix.job.size";
const COLLECT: &[u8] = b"pmix.collect";

/// `pmix_proc_t`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Process {
    namespace: [c_char; 256],
    rank: u32,
}

/// The union of `pmix_value_t`.
#[derive(Clone, Copy)]
#[repr(C)]
union Data {
    flag: bool,
    string: *mut c_char,
    uint32: u32,
    /// The largest member, two pointers and a character.
    _largest: [u64; 3],
}

/// `pmix_value_t`.
#[repr(C)]
struct PmixValue {
    kind: u16,
    data: Data,
}

/// `pmix_info_t`.
#[repr(C)]
struct Info {
    key: [c_char; 512],
    flags: u32,
    value: PmixValue,
}

type Init = unsafe extern "C" fn(*mut Process, *const Info, usize) -> c_int;
type Put = unsafe extern "C" fn(u8, *const c_char, *mut PmixValue) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const Process, usize, *const Info, usize) -> c_int;
type Get =
    unsafe extern "C" fn(*const Process, *const c_char, *const Info, usize, *mut *mut PmixValue) -> c_int;
type Abort = unsafe extern "C" fn(c_int, *const c_char, *const Process, usize) -> c_int;
type Finalize = unsafe extern "C" fn(*const Info, usize) -> c_int;
type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;

/// The reason why PMIx cannot be used.
#[derive(Debug)]
pub enum PmixError {
    /// No library could be opened; the text lists the files and why each was refused.
    Missing(String),
    /// A library lacks a function.
    Function {
        /// The function.
        name: &'static str,
        /// The reason why it was not found.
        why: String,
    },
    /// A call failed.
    Call {
        /// The function.
        name: &'static str,
        /// The status in words.
        status: String,
    },
}

impl fmt::Display for PmixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PmixError::Missing(tried) => write!(
                f,
                "the library of PMIx, libpmix.so.2, cannot be opened ({tried}): install it (Debian's package libpmix2), or put its folder into \
                 LD_LIBRARY_PATH"
            ),
            PmixError::Function { name, why } => write!(f, "libpmix.so.2 has no {name} ({why})"),
            PmixError::Call { name, status } => write!(f, "{name} of PMIx failed: {status}"),
        }
    }
}

impl std::error::Error for PmixError {}

/// This process as a client of PMIx, from `PMIx_Init` to `PMIx_Finalize`.
pub struct Pmix {
    /// The library is never closed: its threads may leave destructors behind.
    library: ManuallyDrop<Library>,
    own: Process,
}

impl Pmix {
    /// Opens the library and introduces this process to its launcher's server. Libraries in `folders` are
    /// tried first.
    ///
    /// # Errors
    /// [`PmixError`].
    pub fn init(folders: &[PathBuf]) -> Result<Pmix, PmixError> {
        let files = folders.iter().map(|folder| folder.join("libpmix.so.2")).filter(|file| file.is_file());
        let mut tried = String::new();
        for file in files.chain([PathBuf::from("libpmix.so.2")]) {
            match open(&file) {
                Ok(library) => {
                    let mut pmix = Pmix {
                        library: ManuallyDrop::new(library),
                        own: Process { namespace: [0; 256], rank: 0 },
                    };
                    let init: Init = pmix.function("PMIx_Init")?;
                    // SAFETY: the function of this name and type; a place for the process, and no info.
                    let status = unsafe { init(&raw mut pmix.own, ptr::null(), 0) };
                    pmix.check("PMIx_Init", status)?;
                    return Ok(pmix);
                }
                Err(error) => {
                    let separator = if tried.is_empty() { "" } else { "; " };
                    tried = format!("{tried}{separator}{error}");
                }
            }
        }
        Err(PmixError::Missing(tried))
    }

    fn function<T: Copy>(&self, name: &'static str) -> Result<T, PmixError> {
        // SAFETY: callers ask for functions of PMIx by their names and types.
        let found = unsafe { self.library.get::<T>(name.as_bytes()) };
        found.map(|symbol| *symbol).map_err(|error| PmixError::Function { name, why: error.to_string() })
    }

    fn check(&self, name: &'static str, status: c_int) -> Result<(), PmixError> {
        if status == SUCCESS {
            return Ok(());
        }
        let words = self.function::<ErrorString>("PMIx_Error_string").ok().and_then(|string| {
            // SAFETY: the function of this type, which returns a string that lives as long as the library.
            let text = unsafe { string(status) };
            // SAFETY: as above.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        });
        let status = words.map_or_else(|| status.to_string(), |words| format!("{words} ({status})"));
        Err(PmixError::Call { name, status })
    }

    /// Returns this process's number among those that its launcher has started together.
    pub fn rank(&self) -> u32 {
        self.own.rank
    }

    /// Returns the number of processes that the launcher has started together.
    ///
    /// # Errors
    /// [`PmixError`].
    pub fn size(&self) -> Result<u32, PmixError> {
        let all = Process { rank: RANK_WILDCARD, ..self.own };
        let value = self.get_value(&all, JOB_SIZE)?;
        let PmixValue { kind, data } = &*value;
        match *kind {
            // SAFETY: the kind says which member was written.
            KIND_UINT32 => Ok(unsafe { data.uint32 }),
            kind => Err(PmixError::Call { name: "PMIx_Get", status: format!("a size of kind {kind}") }),
        }
    }

    /// Publishes a value of this process to processes that pass a later fence with it.
    ///
    /// # Errors
    /// [`PmixError`].
    pub fn put(&self, key: &CStr, value: &CStr) -> Result<(), PmixError> {
        let put: Put = self.function("PMIx_Put")?;
        // The library gets the text for the call and does not write it.
        let text = CString::from(value).into_raw();
        let mut value = PmixValue { kind: KIND_STRING, data: Data { string: text } };
        // SAFETY: the function of this name and type; a key and a value of its kind.
        let status = unsafe { put(SCOPE_GLOBAL, key.as_ptr(), &raw mut value) };
        // SAFETY: made by `into_raw` above, and the library has copied it.
        drop(unsafe { CString::from_raw(text) });
        self.check("PMIx_Put", status)?;
        let commit: Commit = self.function("PMIx_Commit")?;
        // SAFETY: the function of this name and type.
        self.check("PMIx_Commit", unsafe { commit() })
    }

    /// Waits until all processes have called it; values that they have put can be read then.
    ///
    /// # Errors
    /// [`PmixError`].
    pub fn fence(&self) -> Result<(), PmixError> {
        let fence: Fence = self.function("PMIx_Fence")?;
        let mut key = [0; 512];
        key.iter_mut().zip(COLLECT).for_each(|(to, from)| *to = *from as c_char);
        let mut data = Data { _largest: [0; 3] };
        data.flag = true;
        let collect = Info { key, flags: 0, value: PmixValue { kind: KIND_BOOL, data } };
        // SAFETY: the function of this name and type; no list means all processes, and there is one info.
        self.check("PMIx_Fence", unsafe { fence(ptr::null(), 0, &raw const collect, 1) })
    }

    /// Returns the value that a process has put.
    ///
    /// # Errors
    /// [`PmixError`].
    pub fn get(&self, rank: u32, key: &CStr) -> Result<String, PmixError> {
        let value = self.get_value(&Process { rank, ..self.own }, key)?;
        // SAFETY: the kind says which member was written.
        match unsafe { (value.kind, value.data.string) } {
            (KIND_STRING, text) if !text.is_null() => {
                // SAFETY: a string of the library's, which ends with a zero.
                let string = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
                // SAFETY: PMIx gives it away, from malloc(3).
                unsafe { libc::free(text.cast()) };
                Ok(string)
            }
            (kind, _) => Err(PmixError::Call { name: "PMIx_Get", status: format!("a value of kind {kind}") }),
        }
    }

    fn get_value(&self, of: &Process, key: &CStr) -> Result<GivenValue, PmixError> {
        let get: Get = self.function("PMIx_Get")?;
        let mut value = ptr::null_mut();
        // SAFETY: the function of this name and type; a process, a key, no info, and a place for the value.
        let status = unsafe { get(of, key.as_ptr(), ptr::null(), 0, &raw mut value) };
        self.check("PMIx_Get", status)?;
        ptr::NonNull::new(value)
            .map(GivenValue)
            .ok_or_else(|| PmixError::Call { name: "PMIx_Get", status: "no value".into() })
    }

    /// Asks the launcher to end all processes.
    ///
    /// # Errors
    /// [`PmixError`].
    pub fn abort(&self, status: c_int, why: &CStr) -> Result<(), PmixError> {
        let abort: Abort = self.function("PMIx_Abort")?;
        // SAFETY: the function of this name and type; a string, and no list, which means all processes.
        self.check("PMIx_Abort", unsafe { abort(status, why.as_ptr(), ptr::null(), 0) })
    }

    /// Leaves the launcher's server: the process may go on without it.
    ///
    /// # Errors
    /// [`PmixError`].
    pub fn finalize(self) -> Result<(), PmixError> {
        let finalize: Finalize = self.function("PMIx_Finalize")?;
        // SAFETY: the function of this name and type, with no info.
        self.check("PMIx_Finalize", unsafe { finalize(ptr::null(), 0) })
    }
}

impl fmt::Debug for Pmix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pmix {{ rank: {} }}", self.own.rank)
    }
}

/// A value that the library has allocated and the caller must free.
struct GivenValue(ptr::NonNull<PmixValue>);

impl std::ops::Deref for GivenValue {
    type Target = PmixValue;

    fn deref(&self) -> &PmixValue {
        // SAFETY: the library has written it and keeps no pointer to it.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for GivenValue {
    fn drop(&mut self) {
        // SAFETY: PMIx gives it away, from malloc(3).
        unsafe { libc::free(self.0.as_ptr().cast()) }
    }
}

fn open(file: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: the library of PMIx, whose constructors any client runs.
    unsafe { Library::open(Some(file), RTLD_NOW | RTLD_LOCAL) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_have_the_sizes_of_the_abi() {
        assert_eq!(size_of::<Process>(), 260);
        assert_eq!(size_of::<PmixValue>(), 32);
        assert_eq!(size_of::<Info>(), 512 + 8 + 32);
    }

    #[test]
    fn a_missing_library_is_told_with_its_package() {
        let text = PmixError::Missing("none".into()).to_string();
        assert!(text.contains("libpmix2") && text.contains("LD_LIBRARY_PATH"), "{text}");
    }
}
