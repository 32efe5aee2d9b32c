//! Error handlers of the program (MPI 5.0, section 9.3).

use core::ffi::{c_int, c_void};

use super::Function;
use super::slot::{SLOTS, Slots, instances};
use crate::mpi::*;

type Handler = extern "C" fn(*mut Handle, *mut c_int);

/// Defines the functions that C calls for the error handlers of a kind of object.
macro_rules! kind {
    ($made:ident, $called:ident, $slots:ident, $call:ident, $number:ident, $kind:literal) => {
        static $slots: Slots = Slots::new();
        static $called: [Handler; SLOTS] = instances!($call as Handler);

        extern "C" fn $call<const SLOT: usize>(object: *mut Handle, code: *mut c_int) {
            // SAFETY: MPI passes valid places, and a handle.
            let (number, code) = unsafe { ($number(*object), *code) };
            handle($slots.get(SLOT), number, code);
        }

        #[doc = concat!("Returns what C calls in place of an error handler of a ", $kind, ", null if there is no slot left.")]
        #[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
        pub extern "C" fn $made(function: Function) -> *const c_void {
            $slots.of(function).map_or(core::ptr::null(), |slot| $called[slot] as *const c_void)
        }
    };
}

kind!(canele_fort_comm_errhandler, COMM_CALLED, COMM, of_comm, PMPI_Comm_toint, "communicator");
kind!(canele_fort_file_errhandler, FILE_CALLED, FILE, of_file, PMPI_File_toint, "file");
kind!(canele_fort_session_errhandler, SESSION_CALLED, SESSION, of_session, PMPI_Session_toint, "session");
kind!(canele_fort_win_errhandler, WIN_CALLED, WIN, of_win, PMPI_Win_toint, "window");

fn handle(function: Function, object: c_int, code: c_int) {
    // SAFETY: the program gave a function that is called like this (MPI_Comm_errhandler_function and its
    // kin).
    let function: extern "C" fn(*mut i64, *mut i64) = unsafe { core::mem::transmute(function) };
    let (mut object, mut code) = (i64::from(object), i64::from(code));
    function(&mut object, &mut code);
}
