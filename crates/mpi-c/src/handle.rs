//! The handle types of the ABI: pointers in C, numbers here, which the table of handles leads to objects.
//!
//! A handle is compared with a constant:
//!
//! ```
//! use canele_mpi_c::{constants::MPI_COMM_NULL, handle::MPI_Comm};
//! let is_null = |comm: MPI_Comm| comm == MPI_COMM_NULL;
//! ```
//!
//! A constant is no pattern:
//!
//! ```compile_fail
//! use canele_mpi_c::{constants::MPI_COMM_NULL, handle::MPI_Comm};
//! let is_null = |comm: MPI_Comm| matches!(comm, MPI_COMM_NULL);
//! ```

use std::sync::Arc;

use canele_mpi::datatype::Datatype;
use canele_mpi::file::File;
use canele_mpi::group::Group;
use canele_mpi::info::Info;
use canele_mpi::point::Message;
use canele_mpi::session::Session;
use canele_mpi::window::Win;
use canele_mpi::{Class, Comm, Errhandler, Error, Result};

use crate::layout::{HandleNumber, constant_row};
use crate::operations::OpObject;
use crate::table::{HANDLES, Object, ObjectKind};

/// A handle of any kind.
pub trait Handle: Copy {
    /// Returns the handle with this value.
    fn of(value: usize) -> Self;
    /// Returns its value.
    fn value(self) -> usize;
}

macro_rules! handles {
    ($($name:ident($number:ty) $class:ident $what:literal;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`: ", $what, ".")]
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name($number);

        // Not derived: then a constant is no pattern, and its value need not be known when the compiler runs.
        impl PartialEq for $name {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                self.0 == other.0
            }
        }

        impl Eq for $name {}

        impl Handle for $name {
            fn of(value: usize) -> Self {
                Self::of(value)
            }

            fn value(self) -> usize {
                self.value()
            }
        }

        impl $name {
            /// The handle with this value.
            #[inline(always)]
            pub const fn of(value: usize) -> Self {
                Self(value as $number)
            }

            /// Its value.
            #[inline(always)]
            pub const fn value(self) -> usize {
                self.0 as usize
            }

            /// Whether it has the value of a constant, which names the same object as long as the library is used.
            pub fn is_constant(self) -> bool {
                constant_row(self.value()).is_some()
            }

            /// The error of a handle that names nothing.
            #[cold]
            pub fn invalid(self) -> Box<Error> {
                Error::new(Class::$class, format!("{:#x} is no {}: {}", self.0, $what, why(self.value())))
            }
        }
    )*};
}
handles! {
    MPI_Op(HandleNumber) Operation "operation";
    MPI_Comm(HandleNumber) Communicator "communicator";
    MPI_Group(HandleNumber) Group "group";
    MPI_Win(HandleNumber) Window "window";
    MPI_File(usize) File "file";
    MPI_Session(HandleNumber) Session "session";
    MPI_Message(HandleNumber) Request "message";
    MPI_Info(HandleNumber) Info "info object";
    MPI_Errhandler(HandleNumber) Errhandler "error handler";
    MPI_Request(HandleNumber) Request "request";
    MPI_Datatype(HandleNumber) Datatype "datatype";
}

/// Why a value is no handle of its kind.
fn why(value: usize) -> String {
    let other = HANDLES.kind(value).and_then(|kind| ObjectKind::ALL.iter().find(|(of, _)| *of == kind));
    match value {
        0 => "it was never set".to_owned(),
        _ if other.is_some() => format!("it is one of the {}", other.map_or("", |(_, plural)| plural)),
        _ if HANDLES.may_be(value) => "it was freed, or never made".to_owned(),
        _ if !crate::library::PROCESS.is_initialized() => {
            "MPI is not initialised, or was finalised".to_owned()
        }
        _ => "it is a null handle, or a constant of another kind".to_owned(),
    }
}

/// Joins kinds of handles with the objects that the table holds.
macro_rules! objects {
    ($($name:ident $class:ident $object:ty, $kind:ident;)*) => {$(
        // SAFETY: each kind stands in this list once.
        unsafe impl Object for $object {
            const KIND: ObjectKind = ObjectKind::$kind;
        }

        impl $name {
            /// Its object.
            ///
            /// # Errors
            /// It is null, was freed, or never was one.
            #[inline(always)]
            pub fn get(self) -> Result<&'static $object> {
                self.find().ok_or_else(|| self.invalid())
            }

            /// Its object, if there is one.
            #[inline(always)]
            pub fn find(self) -> Option<&'static $object> {
                HANDLES.get(self.value())
            }

            /// Its object, to be kept beyond the call.
            ///
            /// # Errors
            /// As [`Self::get`].
            pub fn share(self) -> Result<Arc<$object>> {
                HANDLES.share(self.value()).ok_or_else(|| self.invalid())
            }

            /// A new handle.
            ///
            /// # Errors
            /// All handles are used.
            pub fn new(object: Arc<$object>) -> Result<Self> {
                HANDLES.insert(object).map(Self::of).ok_or_else(all_used)
            }

            /// Gives the value of a constant an object.
            pub fn fix(self, object: Arc<$object>) {
                HANDLES.fix(self.value(), object);
            }

            /// Gives the handle up; its object lives on in what uses it.
            ///
            /// # Errors
            /// As [`Self::get`]; it is a constant.
            pub fn free(self) -> Result<Arc<$object>> {
                self.get()?;
                if self.is_constant() {
                    return Err(Error::new(
                        Class::$class,
                        format!("{:#x} is predefined: it cannot be freed", self.0),
                    ));
                }
                HANDLES.remove(self.value()).ok_or_else(|| self.invalid())
            }
        }
    )*};
}

objects! {
    MPI_Comm Communicator Comm, Comm;
    MPI_Group Group Group, Group;
    MPI_Info Info Info, Info;
    MPI_Op Operation OpObject, Op;
    MPI_Errhandler Errhandler Errhandler, Errhandler;
    MPI_Datatype Datatype Datatype, Datatype;
    MPI_Message Request Message, Message;
    MPI_Session Session Session, Session;
    MPI_Win Window Win, Window;
    MPI_File File File, File;
}

#[cold]
fn all_used() -> Box<Error> {
    Error::new(Class::NoMemory, "all 2093056 handles are used: free some objects")
}
