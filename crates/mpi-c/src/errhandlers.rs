//! Error handlers as C programs make and use them (MPI 5.0, §9.3).

use core::ffi::c_int;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use canele_mpi::{Class, Comm, Errhandler, Error};

use layout::cplusplus::THROWING_HANDLER;

use crate::constants::*;
use crate::cplusplus::{CPlusPlusErrhandler, CallerPlace, Handled, throw};
use crate::error::{CallResult, Failed};
use crate::error_classes;
use crate::handle::{MPI_Comm, MPI_Errhandler, MPI_File, MPI_Session, MPI_Win, ObjectHandle};
use crate::library::{self, Aborted};
use crate::pointer::Out;

/// `MPI_Comm_errhandler_function` and the corresponding types: the object, the code, and optional arguments,
/// of which there are none.
///
/// A function in C++ may throw an exception.
pub type ErrhandlerFunction<T> = Option<unsafe extern "C-unwind" fn(*mut T, *mut c_int, ...)>;

/// Makes a handler that calls a function of the program with a handle of this kind. C++ has no handlers of
/// sessions, so they have no `kind`.
fn create<T: Copy + 'static>(
    function: ErrhandlerFunction<T>,
    errhandler: Out<MPI_Errhandler>,
    handle: fn(usize) -> T,
    kind: Option<Handled>,
) -> CallResult {
    let Some(function) = function else {
        return Err(Error::new(Class::Argument, "the error handler function is a null pointer").into());
    };
    let caller = CallerPlace::default();
    let place = kind.map(|_| caller.clone());
    let call = move |number: usize, mut code: c_int| {
        match kind.zip(caller.get().copied()) {
            // SAFETY: only the C++ library's function calls this one, which is of the program, in C++.
            Some((kind, caller)) => kind.call(caller, number, &mut code, unsafe {
                core::mem::transmute::<
                    unsafe extern "C-unwind" fn(*mut T, *mut c_int, ...),
                    CPlusPlusErrhandler,
                >(function)
            }),
            // SAFETY: the program gave this function for errors of such objects; both arguments live during
            // the call. An exception passes.
            None => unsafe { function(&mut handle(number), &mut code) },
        }
        code
    };
    let made = take_up(Arc::new(Errhandler::Call(Arc::new(call))), place)?;
    Ok(errhandler.set(made, "errhandler")?)
}

/// Returns the place for the C++ library's function that calls a handler of the program; none for other
/// handlers.
///
/// # Errors
/// Fails if the handle names no error handler.
pub(crate) fn caller_of(errhandler: MPI_Errhandler) -> canele_mpi::Result<Option<CallerPlace>> {
    let address = address_of(errhandler.get()?);
    Ok(handles_in_use().get(&address).and_then(|used| used.caller.clone()))
}

/// Returns the handle of a new handler. It calls a function with an object's handle and the code, and returns
/// its result.
///
/// # Errors
/// Fails if all handles are used.
pub(crate) fn handle_of_call(
    call: impl Fn(usize, c_int) -> c_int + Send + Sync + 'static,
) -> canele_mpi::Result<MPI_Errhandler> {
    handle_of(Arc::new(Errhandler::Call(Arc::new(call))))
}

/// Assigns the predefined handlers to their constants.
pub(crate) fn predefine() {
    for (handle, handler) in [
        (MPI_ERRORS_ARE_FATAL, Errhandler::Fatal),
        (MPI_ERRORS_ABORT, Errhandler::Abort),
        (MPI_ERRORS_RETURN, Errhandler::Return),
    ] {
        handle.fix(Arc::new(handler));
    }
    if let Some(handle) = THROWING_HANDLER {
        let handler = Arc::new(Errhandler::Call(Arc::new(throw)));
        // The program holds it from the start, so its handle is never freed.
        handles_in_use().insert(address_of(&handler), InUse { handle, uses: 1, caller: None });
        handle.fix(handler);
    }
}

/// A handler to which the program has a handle.
struct InUse {
    /// The handle, which queries return, too.
    handle: MPI_Errhandler,
    /// Number of the program's references.
    uses: usize,
    /// The place for the function that calls a handler in C++.
    caller: Option<CallerPlace>,
}

/// The handlers to which the program has a handle, by the handler's address.
type HandlesInUse = BTreeMap<usize, InUse>;

static HANDLES_IN_USE: Mutex<HandlesInUse> = Mutex::new(BTreeMap::new());

fn handles_in_use() -> MutexGuard<'static, HandlesInUse> {
    HANDLES_IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn address_of(handler: &Errhandler) -> usize {
    core::ptr::from_ref(handler).addr()
}

/// Returns the handle of a handler and counts another reference of the program.
pub(crate) fn handle_of(handler: Arc<Errhandler>) -> canele_mpi::Result<MPI_Errhandler> {
    take_up(handler, None)
}

/// Counts a reference of the program to a handler; returns its handle. A new handle has this place for the
/// function that calls it.
fn take_up(handler: Arc<Errhandler>, caller: Option<CallerPlace>) -> canele_mpi::Result<MPI_Errhandler> {
    let mut all = handles_in_use();
    let address = address_of(&handler);
    if let Some(used) = all.get_mut(&address) {
        used.uses += 1;
        return Ok(used.handle);
    }
    let handle = MPI_Errhandler::new(handler)?;
    all.insert(address, InUse { handle, uses: 1, caller });
    Ok(handle)
}

/// Drops one reference of the program to a handle; the handler lives on in the objects that use it.
fn give_up(handle: MPI_Errhandler) -> canele_mpi::Result<()> {
    let mut all = handles_in_use();
    let address = address_of(handle.get()?);
    if let Some(used) = all.get_mut(&address).filter(|used| used.uses > 1) {
        used.uses -= 1;
        return Ok(());
    }
    handle.free()?;
    all.remove(&address);
    Ok(())
}

/// Fails for an invalid error handler.
///
/// # Errors
/// Fails if the handle names no error handler.
pub fn check(errhandler: MPI_Errhandler) -> CallResult {
    // A session may be the program's first use of MPI.
    library::predefine();
    errhandler.get()?;
    Ok(())
}

/// `MPI_Comm_create_errhandler`.
pub fn comm_create_errhandler(
    function: ErrhandlerFunction<MPI_Comm>,
    errhandler: Out<MPI_Errhandler>,
) -> CallResult {
    create(function, errhandler, MPI_Comm::of, Some(Handled::Comm))
}

/// `MPI_Session_create_errhandler`.
pub fn session_create_errhandler(
    function: ErrhandlerFunction<MPI_Session>,
    errhandler: Out<MPI_Errhandler>,
) -> CallResult {
    create(function, errhandler, MPI_Session::of, None)
}

/// `MPI_Win_create_errhandler`.
pub fn win_create_errhandler(
    function: ErrhandlerFunction<MPI_Win>,
    errhandler: Out<MPI_Errhandler>,
) -> CallResult {
    create(function, errhandler, MPI_Win::of, Some(Handled::Win))
}

/// `MPI_File_create_errhandler`.
pub fn file_create_errhandler(
    function: ErrhandlerFunction<MPI_File>,
    errhandler: Out<MPI_Errhandler>,
) -> CallResult {
    create(function, errhandler, MPI_File::of, Some(Handled::File))
}

/// `MPI_Errhandler_free`.
pub fn errhandler_free(errhandler: Out<MPI_Errhandler>) -> CallResult {
    let handle = errhandler.get("errhandler")?;
    // `get_errhandler` may have returned one of the constants, which programs free like other handles.
    if handle.get().is_ok_and(|handler| matches!(handler, Errhandler::Call(_))) {
        give_up(handle)?;
    } else {
        handle.get()?;
    }
    Ok(errhandler.set(MPI_ERRHANDLER_NULL, "errhandler")?)
}

/// `MPI_Comm_set_errhandler`.
pub fn comm_set_errhandler(comm: MPI_Comm, errhandler: MPI_Errhandler) -> CallResult {
    comm.get()?.set_errhandler(errhandler.share()?);
    library::note_errhandler_set(comm);
    Ok(())
}

/// `MPI_Comm_get_errhandler`.
pub fn comm_get_errhandler(comm: MPI_Comm, errhandler: Out<MPI_Errhandler>) -> CallResult {
    Ok(errhandler.set(given(comm.get()?.errhandler())?, "errhandler")?)
}

/// `MPI_Session_set_errhandler`.
pub fn session_set_errhandler(session: MPI_Session, errhandler: MPI_Errhandler) -> CallResult {
    session.get()?.set_errhandler(errhandler.share()?);
    Ok(())
}

/// `MPI_Session_get_errhandler`.
pub fn session_get_errhandler(session: MPI_Session, errhandler: Out<MPI_Errhandler>) -> CallResult {
    Ok(errhandler.set(given(session.get()?.errhandler())?, "errhandler")?)
}

/// `MPI_Win_set_errhandler`.
pub fn win_set_errhandler(win: MPI_Win, errhandler: MPI_Errhandler) -> CallResult {
    win.get()?.comm().set_errhandler(errhandler.share()?);
    Ok(())
}

/// `MPI_Win_get_errhandler`.
pub fn win_get_errhandler(win: MPI_Win, errhandler: Out<MPI_Errhandler>) -> CallResult {
    Ok(errhandler.set(given(win.get()?.comm().errhandler())?, "errhandler")?)
}

/// The initial handler of files: calls return the code, unless the program sets another handler on
/// `MPI_FILE_NULL`.
static OF_FILES: Mutex<Option<Arc<Errhandler>>> = Mutex::new(None);

/// Returns the initial handler of files, which also gets errors without a file.
pub(crate) fn of_files() -> Arc<Errhandler> {
    let mut handler = OF_FILES.lock().unwrap_or_else(PoisonError::into_inner);
    handler.get_or_insert_with(|| Arc::new(Errhandler::Return)).clone()
}

/// `MPI_File_set_errhandler`; on `MPI_FILE_NULL` it sets the initial handler of later files.
pub fn file_set_errhandler(file: MPI_File, errhandler: MPI_Errhandler) -> CallResult {
    let handler = errhandler.share()?;
    if file == MPI_FILE_NULL {
        *OF_FILES.lock().unwrap_or_else(PoisonError::into_inner) = Some(handler);
    } else {
        file.get()?.comm().set_errhandler(handler);
    }
    Ok(())
}

/// Returns the handler of a file, or the initial handler of files.
fn of_file(file: MPI_File) -> canele_mpi::Result<Arc<Errhandler>> {
    if file == MPI_FILE_NULL { Ok(of_files()) } else { Ok(file.get()?.comm().errhandler()) }
}

/// `MPI_File_get_errhandler`.
pub fn file_get_errhandler(file: MPI_File, errhandler: Out<MPI_Errhandler>) -> CallResult {
    Ok(errhandler.set(given(of_file(file)?)?, "errhandler")?)
}

/// `MPI_File_call_errhandler`.
pub fn file_call_errhandler(fh: MPI_File, errorcode: c_int) -> CallResult {
    let handler = of_file(fh)?;
    let file = fh.get().ok();
    called(&handler, fh.value(), errorcode, file.map(|file| &**file.comm()))
}

/// Returns the handle of a handler that an object has: a constant, or the handle of a handler of the program.
fn given(handler: Arc<Errhandler>) -> canele_mpi::Result<MPI_Errhandler> {
    match *handler {
        Errhandler::Fatal => Ok(MPI_ERRORS_ARE_FATAL),
        Errhandler::Abort => Ok(MPI_ERRORS_ABORT),
        Errhandler::Return => Ok(MPI_ERRORS_RETURN),
        Errhandler::Call(_) => handle_of(handler),
    }
}

/// `MPI_Comm_call_errhandler`.
pub fn comm_call_errhandler(comm: MPI_Comm, errorcode: c_int) -> CallResult {
    let comm = comm.get()?;
    called(&comm.errhandler(), comm.number(), errorcode, Some(comm))
}

/// `MPI_Session_call_errhandler`.
pub fn session_call_errhandler(session: MPI_Session, errorcode: c_int) -> CallResult {
    let session = session.get()?;
    called(&session.errhandler(), session.number(), errorcode, None)
}

/// `MPI_Win_call_errhandler`.
pub fn win_call_errhandler(win: MPI_Win, errorcode: c_int) -> CallResult {
    let comm = win.get()?.comm();
    called(&comm.errhandler(), comm.number(), errorcode, Some(comm))
}

/// Returns the processes that a fatal handler ends (MPI 5.0, §9.3). The object of the error belongs to the
/// members of `comm`, or without one to this process alone.
pub(crate) fn whom<'a>(handler: &Errhandler, comm: Option<&'a Comm>) -> Aborted<'a> {
    match handler {
        Errhandler::Abort => comm.map_or(Aborted::Own, Aborted::Members),
        _ => Aborted::All,
    }
}

/// Calls a handler with a code that the program gives. The call succeeds if the handler returns. The object
/// belongs to the members of `comm`, or without one to this process alone.
fn called(handler: &Errhandler, number: usize, code: c_int, comm: Option<&Comm>) -> CallResult {
    match handler {
        Errhandler::Fatal | Errhandler::Abort => {
            let meaning = error_classes::meaning(code).unwrap_or_default();
            let meaning = String::from_utf8_lossy(&meaning);
            let text = format!("an error handler was called with code {code}: {meaning}");
            library::abort(&text, code, whom(handler, comm))
        }
        Errhandler::Return => Ok(()),
        Errhandler::Call(call) => {
            call(number, code);
            Ok::<(), Failed>(())
        }
    }
}
