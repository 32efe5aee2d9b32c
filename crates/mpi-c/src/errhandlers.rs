//! Error handlers as C programs make and use them (MPI 5.0, §9.3).

use core::ffi::{c_int, c_void};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use canele_mpi::{Class, Comm, Errhandler, Error};

use layout::cplusplus::THROWING_HANDLER;

use crate::constants::*;
use crate::cplusplus::throw;
use crate::error::{CallResult, Failed};
use crate::error_classes;
use crate::handle::{MPI_Comm, MPI_Errhandler, MPI_File, MPI_Session, MPI_Win, ObjectHandle};
use crate::library::{self, Aborted};
use crate::pointer::Out;
use crate::table::{HANDLES, ObjectKind};

/// `MPI_Comm_errhandler_function` and the corresponding types: the object, the code, and optional arguments,
/// of which there are none.
///
/// A function in C++ may throw an exception.
pub type ErrhandlerFunction<T> = Option<unsafe extern "C-unwind" fn(*mut T, *mut c_int, ...)>;

/// MPICH's function in C++ that calls a handler of the program: the kind of object, a pointer to its handle,
/// a pointer to the code, the handler.
pub type ErrhandlerCaller =
    unsafe extern "C-unwind" fn(c_int, *mut c_void, *mut c_int, unsafe extern "C-unwind" fn());

thread_local! {
    /// The place for what calls the handler that this thread made last, and the handler.
    static MADE_LAST: RefCell<Option<(MPI_Errhandler, Weak<OnceLock<ErrhandlerCaller>>)>> = const { RefCell::new(None) };
}

/// `MPII_Errhandler_set_cxx`: sets MPICH's function in C++ that calls a handler of the program. The C++
/// library calls this on the thread that has just made the handler.
///
/// # Errors
/// Fails if the thread has made another handler since, or the function is a null pointer.
pub fn set_caller(errhandler: MPI_Errhandler, caller: Option<ErrhandlerCaller>) -> CallResult {
    let place = MADE_LAST.with_borrow(|made| {
        made.as_ref().filter(|(last, _)| *last == errhandler).and_then(|(_, place)| place.upgrade())
    });
    let (Some(place), Some(caller)) = (place, caller) else {
        return Err(Error::new(
            Class::Argument,
            "the error handler is not the one that this thread made last, or what calls it is a null pointer",
        )
        .into());
    };
    // A second call would set the same function.
    let _ = place.set(caller);
    Ok(())
}

/// Returns MPICH's number of the kind of the object with this handle value: 0 for a communicator, 1 for a
/// file, 2 for a window.
fn kind_in_cplusplus(value: usize) -> c_int {
    match HANDLES.kind(value) {
        Some(ObjectKind::Comm) => 0,
        Some(ObjectKind::Window) => 2,
        _ => 1,
    }
}

/// Makes a handler that calls a function of the program with a handle of this kind.
fn create<T: Copy + 'static>(
    function: ErrhandlerFunction<T>,
    errhandler: Out<MPI_Errhandler>,
    handle: fn(usize) -> T,
) -> CallResult {
    let Some(function) = function else {
        return Err(Error::new(Class::Argument, "the error handler function is a null pointer").into());
    };
    let caller = Arc::new(OnceLock::<ErrhandlerCaller>::new());
    let place = Arc::downgrade(&caller);
    let call = move |number: usize, code: c_int| {
        let (mut object, mut code) = (handle(number), code);
        // SAFETY: the program gave this function for errors of such objects, and the C++ library's function
        // calls functions in C++; the arguments live during the call. An exception passes.
        unsafe {
            match caller.get() {
                Some(caller) => {
                    let function = core::mem::transmute::<
                        unsafe extern "C-unwind" fn(*mut T, *mut c_int, ...),
                        unsafe extern "C-unwind" fn(),
                    >(function);
                    let kind = kind_in_cplusplus(number);
                    caller(kind, (&raw mut object).cast(), &raw mut code, function);
                }
                None => function(&raw mut object, &raw mut code),
            }
        }
        code
    };
    let made = handle_of_call(call)?;
    MADE_LAST.set(Some((made, place)));
    Ok(errhandler.set(made, "errhandler")?)
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
        handles_in_use().insert(address_of(&handler), (handle, 1));
        handle.fix(handler);
    }
}

/// The handle of each handler of the program, by the handler's address, and the number of the program's
/// references. A query returns the existing handle.
type HandlesInUse = BTreeMap<usize, (MPI_Errhandler, usize)>;

static HANDLES_IN_USE: Mutex<HandlesInUse> = Mutex::new(BTreeMap::new());

fn handles_in_use() -> MutexGuard<'static, HandlesInUse> {
    HANDLES_IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn address_of(handler: &Errhandler) -> usize {
    core::ptr::from_ref(handler).addr()
}

/// Returns the handle of a handler and counts another reference of the program.
pub(crate) fn handle_of(handler: Arc<Errhandler>) -> canele_mpi::Result<MPI_Errhandler> {
    let mut all = handles_in_use();
    let address = address_of(&handler);
    if let Some((handle, uses)) = all.get_mut(&address) {
        *uses += 1;
        return Ok(*handle);
    }
    let handle = MPI_Errhandler::new(handler)?;
    all.insert(address, (handle, 1));
    Ok(handle)
}

/// Drops one reference of the program to a handle; the handler lives on in the objects that use it.
fn give_up(handle: MPI_Errhandler) -> canele_mpi::Result<()> {
    let mut all = handles_in_use();
    let address = address_of(handle.get()?);
    if let Some((_, uses)) = all.get_mut(&address).filter(|(_, uses)| *uses > 1) {
        *uses -= 1;
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
    create(function, errhandler, MPI_Comm::of)
}

/// `MPI_Session_create_errhandler`.
pub fn session_create_errhandler(
    function: ErrhandlerFunction<MPI_Session>,
    errhandler: Out<MPI_Errhandler>,
) -> CallResult {
    create(function, errhandler, MPI_Session::of)
}

/// `MPI_Win_create_errhandler`.
pub fn win_create_errhandler(
    function: ErrhandlerFunction<MPI_Win>,
    errhandler: Out<MPI_Errhandler>,
) -> CallResult {
    create(function, errhandler, MPI_Win::of)
}

/// `MPI_File_create_errhandler`.
pub fn file_create_errhandler(
    function: ErrhandlerFunction<MPI_File>,
    errhandler: Out<MPI_Errhandler>,
) -> CallResult {
    create(function, errhandler, MPI_File::of)
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
