//! Handles of the ABI, and their objects in the table of handles.

use std::sync::Arc;

use canele_mpi::datatype::Datatype;
use canele_mpi::file::File;
use canele_mpi::group::Group;
use canele_mpi::info::Info;
use canele_mpi::point::Message;
use canele_mpi::session::Session;
use canele_mpi::window::Win;
use canele_mpi::{Class, Comm, Errhandler, Error, Result};
use layout::fortran::{READS_FIELDS, fields};
pub use layout::handle::{
    Handle, MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_File, MPI_Group, MPI_Info, MPI_Message, MPI_Op,
    MPI_Request, MPI_Session, MPI_Win,
};

use crate::foreign_handle::origin;
use crate::operations::OpObject;
use crate::table::{HANDLES, Object, ObjectKind};

/// A handle type, with the error texts for its handles.
pub trait HandleKind: Handle {
    /// The class of its errors.
    const CLASS: Class;
    /// The noun for its objects, without an article.
    const NOUN: &'static str;

    /// Returns the error of an invalid handle.
    #[cold]
    fn invalid(self) -> Box<Error> {
        let value = self.value();
        let (shown, why) = match origin(self.bits()) {
            Some(origin) => (self.bits(), origin),
            None => (value, why(value)),
        };
        Error::new(Self::CLASS, format!("{shown:#x} is no {}: {why}", Self::NOUN))
    }
}

/// Returns the reason why a value is no handle of its kind.
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

/// A handle type whose objects are in the table of handles.
pub trait ObjectHandle: HandleKind {
    /// The type of the objects.
    type Object: Object;

    /// Returns the object of a handle.
    ///
    /// # Errors
    /// Fails if the handle is null, was freed, or never existed.
    #[inline(always)]
    fn get(self) -> Result<&'static Self::Object> {
        self.find().ok_or_else(|| self.invalid())
    }

    /// Returns the object of a handle, if there is one.
    #[inline(always)]
    fn find(self) -> Option<&'static Self::Object> {
        HANDLES.get(self.value())
    }

    /// Returns the object of a handle, for use beyond the call.
    ///
    /// # Errors
    /// Fails like [`Self::get`].
    fn share(self) -> Result<Arc<Self::Object>> {
        HANDLES.share(self.value()).ok_or_else(|| self.invalid())
    }

    /// Makes a new handle of an object.
    ///
    /// # Errors
    /// Fails if all handles are used.
    fn new(object: Arc<Self::Object>) -> Result<Self> {
        let value = HANDLES.insert(object).ok_or_else(all_used)?;
        if READS_FIELDS && fields::are_there() {
            fields::write_new_object(value);
        }
        Ok(Self::of(value))
    }

    /// Assigns an object to the value of a constant.
    fn fix(self, object: Arc<Self::Object>) {
        HANDLES.fix(self.value(), object);
    }

    /// Frees the handle; its object lives on in its other users.
    ///
    /// # Errors
    /// Fails like [`Self::get`], and for a constant.
    fn free(self) -> Result<Arc<Self::Object>> {
        self.get()?;
        if self.is_constant() {
            let text = format!("{:#x} is predefined: it cannot be freed", self.value());
            return Err(Error::new(Self::CLASS, text));
        }
        HANDLES.remove(self.value()).ok_or_else(|| self.invalid())
    }
}

#[cold]
fn all_used() -> Box<Error> {
    Error::new(Class::NoMemory, "all 2093056 handles are used: free some objects")
}

/// Defines the errors and objects of handle types.
macro_rules! kinds {
    ($($name:ident $class:ident $noun:literal $(=> $object:ty, $kind:ident)?;)*) => {$(
        impl HandleKind for $name {
            const CLASS: Class = Class::$class;
            const NOUN: &'static str = $noun;
        }

        $(
            impl ObjectHandle for $name {
                type Object = $object;
            }

            // SAFETY: each kind stands in this list once.
            unsafe impl Object for $object {
                const KIND: ObjectKind = ObjectKind::$kind;
            }
        )?
    )*};
}
kinds! {
    MPI_Comm Communicator "communicator" => Comm, Comm;
    MPI_Group Group "group" => Group, Group;
    MPI_Info Info "info object" => Info, Info;
    MPI_Op Operation "operation" => OpObject, Op;
    MPI_Errhandler Errhandler "error handler" => Errhandler, Errhandler;
    MPI_Datatype Datatype "datatype" => Datatype, Datatype;
    MPI_Message Request "message" => Message, Message;
    MPI_Session Session "session" => Session, Session;
    MPI_Win Window "window" => Win, Window;
    MPI_File File "file" => File, File;
    // The table of requests holds the objects of these.
    MPI_Request Request "request";
}
