//! From an error to what the program sees: the right handler is called, and the code says which class it is.
//!
//! A code is a class, or a class with the number of a text that is kept for a while, so that `MPI_Error_string` can tell
//! the function, the argument and its value. Codes of the program's own are above `MPI_ERR_LASTCODE`.

use core::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

use canele_mpi::{Class, Comm, Errhandler, Error};

use crate::constants::MPI_ERR_LASTCODE;
use crate::handle::{MPI_Comm, MPI_Session};
use crate::library;

/// What a body gives.
pub type Outcome = Result<(), Failed>;

/// Why a body failed.
#[derive(Debug)]
pub enum Failed {
    /// The handler of the function's object is to be called.
    Error(Box<Error>),
    /// A handler was called, and left this code.
    Raised(c_int),
}

impl From<Box<Error>> for Failed {
    fn from(error: Box<Error>) -> Self {
        Self::Error(error)
    }
}

impl From<canele_engine::Error> for Failed {
    fn from(error: canele_engine::Error) -> Self {
        Self::Error(error.into())
    }
}

/// Whose handler is called.
pub enum On {
    /// That of `MPI_COMM_SELF` (MPI 5.0, §9.3).
    Nothing,
    /// That of a communicator.
    Comm(MPI_Comm),
    /// That of a session.
    Session(MPI_Session),
}

impl From<MPI_Comm> for On {
    fn from(comm: MPI_Comm) -> Self {
        Self::Comm(comm)
    }
}

impl From<MPI_Session> for On {
    fn from(session: MPI_Session) -> Self {
        Self::Session(session)
    }
}

/// Calls the handler; gives what the function returns.
#[cold]
#[inline(never)]
pub fn raise(function: &str, on: On, failed: Failed) -> c_int {
    let error = match failed {
        Failed::Error(error) => error,
        Failed::Raised(code) => return code,
    };
    match on {
        On::Comm(comm) => match comm.share() {
            Ok(comm) => raise_on(&comm, function, &error),
            Err(_) => raise_nowhere(function, &error),
        },
        On::Session(session) => match session.share() {
            Ok(session) => handle(&session.errhandler(), session.number(), function, &error),
            Err(_) => raise_nowhere(function, &error),
        },
        On::Nothing => raise_nowhere(function, &error),
    }
}

/// Calls the handler of a communicator.
#[cold]
pub fn raise_on(comm: &Comm, function: &str, error: &Error) -> c_int {
    handle(&comm.errhandler(), comm.number(), function, error)
}

/// Calls the handler that stands for calls without an object; before and after MPI's life that is the first one.
#[cold]
fn raise_nowhere(function: &str, error: &Error) -> c_int {
    match library::own_comm() {
        Some(own) => raise_on(&own, function, error),
        None => handle(&library::first_errhandler(), 0, function, error),
    }
}

/// The function exists and is not written yet.
#[cold]
pub fn unsupported(function: &str, on: On) -> c_int {
    let text = "it is not supported by this version of Canelé; docs/mpi.md lists what is";
    raise(function, on, Failed::Error(Error::new(Class::UnsupportedOperation, text)))
}

fn handle(handler: &Arc<Errhandler>, number: usize, function: &str, error: &Error) -> c_int {
    let code = error.given.unwrap_or_else(|| keep(error.class, format!("{function}: {error}")));
    match &**handler {
        Errhandler::Fatal | Errhandler::Abort => {
            let text = if error.given.is_some() { format!("{function}: {error}") } else { text(code) };
            library::abort(&text, class_number(error.class));
        }
        Errhandler::Return => code,
        Errhandler::Call(call) => {
            call(number, code);
            code
        }
    }
}

/// Texts that are kept; a later one takes the place of an earlier.
const KEPT: usize = 1 << 12;
/// A code with a text: this bit, the number of the text, the class.
const DETAILED: c_int = 1 << 30;
const CLASS_BITS: u32 = 14;

static TEXTS: Mutex<Vec<(c_int, String)>> = Mutex::new(Vec::new());
static NEXT: canele_sys::atomic::AtomicUsize = canele_sys::atomic::AtomicUsize::new(0);

/// The code of a class with a text.
#[cold]
pub fn keep(class: Class, text: String) -> c_int {
    // Relaxed: only a number that differs from the last ones.
    let number = NEXT.fetch_add(1, canele_sys::atomic::Ordering::Relaxed);
    let slot = number % KEPT;
    let turn = number / KEPT % 8;
    let code = DETAILED | ((turn * KEPT + slot) << CLASS_BITS) as c_int | class_number(class);
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if texts.len() <= slot {
        texts.resize(slot + 1, (0, String::new()));
    }
    texts[slot] = (code, text);
    code
}

/// The number of a class in this ABI.
pub fn class_number(class: Class) -> c_int {
    // The order of the standard, from one; a test compares all with the constants.
    class as c_int + 1
}

/// The class of one of the library's codes.
pub fn class_of(code: c_int) -> Option<Class> {
    let number = if code & DETAILED != 0 { code & ((1 << CLASS_BITS) - 1) } else { code };
    (code >= 0 && number < MPI_ERR_LASTCODE).then(|| Class::ALL.get((number - 1) as usize).copied())?
}

/// What one of the library's codes means.
pub fn text(code: c_int) -> String {
    if code & DETAILED != 0 {
        let slot = (code & !DETAILED) as usize >> CLASS_BITS;
        let texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((kept, text)) = texts.get(slot % KEPT)
            && *kept == code
        {
            return text.clone();
        }
    }
    match class_of(code).map(Class::text) {
        Some((name, meaning)) => format!("{name}: {meaning}"),
        None if code == 0 => "MPI_SUCCESS: no error".to_owned(),
        None => format!("{code} is no error code"),
    }
}
