//! Errors: stable codes, and the text of the last one of each thread. Panics stop here.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use canele::{Error, Failure};

/// The result of a call: CANELE_OK, or the reason of its failure. The numbers stay the same in all versions
/// with the same soname; later versions may have more. canele_error_text() names the rank, the value, and the
/// remedy.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum canele_error {
    /// The call succeeded.
    CANELE_OK = 0,
    /// An argument is invalid: a null pointer, a handle that is NULL or of another kind, an unknown type, or
    /// memory that is not aligned.
    CANELE_ERROR_ARGUMENT = 1,
    /// The handle was closed before.
    CANELE_ERROR_CLOSED_HANDLE = 2,
    /// The job has no such rank.
    CANELE_ERROR_NO_SUCH_RANK = 3,
    /// A message was longer than the memory for it. The message is consumed, and nothing was written.
    CANELE_ERROR_TRUNCATED = 4,
    /// A rank died.
    CANELE_ERROR_PEER_FAILED = 5,
    /// No network leads to a rank.
    CANELE_ERROR_UNREACHABLE = 6,
    /// A rank broke the protocol, most likely because its memory is corrupted; another rank accepts no more
    /// packets from it.
    CANELE_ERROR_CUT_OFF = 7,
    /// A rank has left the job in good order, and takes part in no more operations.
    CANELE_ERROR_PEER_FINISHED = 8,
    /// A call waited for a message from any rank, and no rank is left that could send one.
    CANELE_ERROR_NO_SENDER_LEFT = 9,
    /// The operation was cancelled.
    CANELE_ERROR_CANCELLED = 10,
    /// The ranks that communicate on a flow have revoked it.
    CANELE_ERROR_REVOKED = 11,
    /// A region that a message was to be copied from or to is closed.
    CANELE_ERROR_REGION_LOST = 12,
    /// The time limit of the call has passed.
    CANELE_ERROR_DEADLINE = 13,
    /// The call was made in a forked child.
    CANELE_ERROR_FORKED = 14,
    /// There is not enough memory.
    CANELE_ERROR_MEMORY = 15,
    /// The network of this host cannot be used.
    CANELE_ERROR_NETWORK = 16,
    /// The launcher is gone, or the program was started by another system's launcher.
    CANELE_ERROR_LAUNCHER = 17,
    /// A setting in the environment is wrong.
    CANELE_ERROR_TUNABLE = 18,
    /// The name is published already, or belongs to an object of another kind.
    CANELE_ERROR_NAME_TAKEN = 19,
    /// There is no such strategy.
    CANELE_ERROR_STRATEGY = 20,
    /// A number of items or bytes, or a level, does not fit the call.
    CANELE_ERROR_LENGTHS = 21,
    /// The bytes lie outside the region.
    CANELE_ERROR_RANGE = 22,
    /// The next items of the message have another type, or are fewer.
    CANELE_ERROR_UNPACK = 23,
    /// The owner of a region refused the operation, most likely because it has closed the region.
    CANELE_ERROR_REFUSED = 24,
    /// The mailbox was closed by its owner.
    CANELE_ERROR_MAILBOX_CLOSED = 25,
    /// The mailbox is full: a message must be retrieved first.
    CANELE_ERROR_MAILBOX_FULL = 26,
    /// The job was finished by this rank before.
    CANELE_ERROR_FINISHED = 27,
    /// Processes could not be started or connected.
    CANELE_ERROR_SPAWN = 28,
    /// A defect of the library, which the text describes. Please report it.
    CANELE_ERROR_INTERNAL = 29,
}

use canele_error::*;

/// The names of the codes, indexed by code.
const NAMES: [&CStr; 30] = [
    c"no error",
    c"wrong argument",
    c"handle is closed",
    c"no such rank",
    c"message too long",
    c"rank died",
    c"rank unreachable",
    c"rank cut off",
    c"rank has finished",
    c"no rank is left",
    c"cancelled",
    c"flow revoked",
    c"region lost",
    c"deadline passed",
    c"forked child",
    c"not enough memory",
    c"network unusable",
    c"launcher gone",
    c"wrong setting",
    c"name taken",
    c"no such strategy",
    c"lengths do not fit",
    c"outside of the region",
    c"other contents",
    c"refused",
    c"mailbox closed",
    c"mailbox full",
    c"job finished",
    c"not started",
    c"internal error",
];

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// An error whose text is stored for the calling thread.
#[derive(Clone, Copy, Debug)]
pub struct ReportedError(canele_error);

impl ReportedError {
    /// Stores the text for the calling thread.
    #[cold]
    #[inline(never)]
    pub fn new(code: canele_error, text: impl Into<Vec<u8>>) -> Self {
        let mut text = text.into();
        text.retain(|byte| *byte != 0);
        let text = CString::new(text).unwrap_or_default();
        // A thread that ends has no text any more.
        let _ = LAST.try_with(|last| last.replace(text));
        Self(code)
    }

    /// Makes the error of an invalid argument.
    pub fn argument(text: impl Into<Vec<u8>>) -> Self {
        Self::new(CANELE_ERROR_ARGUMENT, text)
    }

    /// Keeps the text beyond the thread's next error.
    #[cold]
    pub fn keep(self) -> SavedError {
        SavedError(self, LAST.try_with(|last| last.borrow().clone()).unwrap_or_default())
    }
}

/// An error with its text, to report later.
pub struct SavedError(ReportedError, CString);

impl SavedError {
    /// Stores the saved text for the calling thread.
    #[cold]
    pub fn tell(self) -> ReportedError {
        let SavedError(told, text) = self;
        let _ = LAST.try_with(|last| last.replace(text));
        told
    }
}

impl From<Error> for ReportedError {
    #[cold]
    #[inline(never)]
    fn from(error: Error) -> Self {
        Self::new(code(&error), error.to_string())
    }
}

fn code(error: &Error) -> canele_error {
    match error {
        Error::NoSuchRank { .. } => CANELE_ERROR_NO_SUCH_RANK,
        Error::Failed(failure) => code_of_failure(failure),
        Error::Deadline(_) => CANELE_ERROR_DEADLINE,
        Error::Forked => CANELE_ERROR_FORKED,
        Error::Connect(_) => CANELE_ERROR_UNREACHABLE,
        Error::Memory(_) => CANELE_ERROR_MEMORY,
        Error::Open(_) | Error::Event(_) => CANELE_ERROR_NETWORK,
        Error::Control(_) => CANELE_ERROR_LAUNCHER,
        Error::Tunable(_) => CANELE_ERROR_TUNABLE,
        Error::NameTaken(_) => CANELE_ERROR_NAME_TAKEN,
        Error::Strategy(_) => CANELE_ERROR_STRATEGY,
        Error::Lengths { .. } => CANELE_ERROR_LENGTHS,
        Error::Range { .. } => CANELE_ERROR_RANGE,
        Error::Unpack { .. } => CANELE_ERROR_UNPACK,
        Error::Refused { .. } => CANELE_ERROR_REFUSED,
        Error::Attach(_) => CANELE_ERROR_MEMORY,
        Error::Closed(_) => CANELE_ERROR_MAILBOX_CLOSED,
        Error::NotSpawned(_) | Error::Port(_) => CANELE_ERROR_SPAWN,
        Error::Finished => CANELE_ERROR_FINISHED,
    }
}

fn code_of_failure(failure: &Failure) -> canele_error {
    match failure {
        Failure::Truncated { .. } => CANELE_ERROR_TRUNCATED,
        Failure::PeerFailed(_) => CANELE_ERROR_PEER_FAILED,
        Failure::Unreachable(..) => CANELE_ERROR_UNREACHABLE,
        Failure::CutOff { .. } => CANELE_ERROR_CUT_OFF,
        Failure::PeerFinished(_) => CANELE_ERROR_PEER_FINISHED,
        Failure::NoSenderLeft => CANELE_ERROR_NO_SENDER_LEFT,
        Failure::Memory { .. } => CANELE_ERROR_ARGUMENT,
        Failure::Cancelled => CANELE_ERROR_CANCELLED,
        Failure::Revoked { .. } => CANELE_ERROR_REVOKED,
        Failure::RegionLost(_) => CANELE_ERROR_REGION_LOST,
        Failure::Finished => CANELE_ERROR_FINISHED,
    }
}

/// Runs the body of an exported function; a panic becomes an error code.
#[inline(always)]
pub fn call(function: impl FnOnce() -> Result<(), ReportedError>) -> canele_error {
    match catch_unwind(AssertUnwindSafe(function)) {
        Ok(Ok(())) => CANELE_OK,
        Ok(Err(told)) => told.0,
        Err(panic) => panicked(&*panic).0,
    }
}

/// Runs the body of an exported function that returns a value other than a code. Returns `otherwise` if it
/// fails.
pub fn value<T>(otherwise: T, function: impl FnOnce() -> Result<T, ReportedError>) -> T {
    match catch_unwind(AssertUnwindSafe(function)) {
        Ok(Ok(value)) => value,
        Ok(Err(_)) => otherwise,
        Err(panic) => {
            panicked(&*panic);
            otherwise
        }
    }
}

#[cold]
#[inline(never)]
fn panicked(panic: &(dyn Any + Send)) -> ReportedError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("nothing is known of it");
    ReportedError::new(CANELE_ERROR_INTERNAL, format!("a defect of Canelé, please report it: {text}"))
}

/// Returns the text of the last error of a call of the calling thread, in UTF-8; "" if there was none. A call
/// that succeeds does not change it. The text is valid until the thread's next call that fails.
#[unsafe(no_mangle)]
pub extern "C" fn canele_error_text() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Returns the meaning of a code in two or three words, valid forever; "unknown error" for a number that this
/// version does not have.
#[unsafe(no_mangle)]
pub extern "C" fn canele_error_name(error: i32) -> *const c_char {
    let name = usize::try_from(error).ok().and_then(|at| NAMES.get(at));
    name.map_or(c"unknown error".as_ptr(), |name| name.as_ptr())
}

/// Returns the version of the library, as "0.1.0", valid forever. CANELE_VERSION is the version of the
/// header. Programs run with the library of the header that they were compiled with, and with any later one
/// of the same soname.
#[unsafe(no_mangle)]
pub extern "C" fn canele_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version has no zero byte"),
        };
    VERSION.as_ptr()
}
