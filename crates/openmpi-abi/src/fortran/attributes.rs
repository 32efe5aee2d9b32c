//! Attributes for Open MPI's Fortran library, which passes the attribute word of the object's struct.

use core::ffi::{c_int, c_void};

use canele_openmpi_c::attributes::{CopyFunction, DeleteFunction, ObjectKind};
use canele_openmpi_c::constants::{MPI_ERR_ARG, MPI_SUCCESS};
use canele_openmpi_c::error::{self, CallResult, On};
use canele_openmpi_c::fortran::{attribute, attribute_set, keyval_create};
use canele_openmpi_c::handle::{MPI_Comm, MPI_Win};
use canele_openmpi_c::types::Out;
use canele_openmpi_layout::HandleNumber;
use canele_openmpi_layout::fortran::fields::object_of_attributes;
use canele_openmpi_layout::handle::ProgramHandle;

/// Returns the kind of objects with a number of Open MPI.
pub fn kind(number: c_int) -> Option<ObjectKind> {
    match number {
        1 => Some(ObjectKind::Communicator),
        2 => Some(ObjectKind::Datatype),
        3 => Some(ObjectKind::Window),
        _ => None,
    }
}

/// Returns the code of a Fortran call, after calling the object's error handler for a failure.
pub fn code(call: &str, on: On, outcome: CallResult) -> c_int {
    outcome.map_or_else(|failed| error::raise(call, on, failed), |()| MPI_SUCCESS)
}

/// Returns the object whose error handler is called.
fn on(kind: ObjectKind, object: usize) -> On {
    match kind {
        ObjectKind::Communicator => On::Comm(MPI_Comm::of(object)),
        ObjectKind::Window => On::Win(MPI_Win::of(object)),
        ObjectKind::Datatype => On::Nothing,
    }
}

macro_rules! attributes {
    ($($number:ty: $get:ident $set:ident $create:ident;)*) => {$(
        #[doc = concat!("`", stringify!($get), "`: the value of an attribute as a number.")]
        ///
        /// # Safety
        /// The places for the value and for the flag are there.
        // SAFETY: the name is Open MPI's, and this crate alone defines it; so for all names below.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $get(
            attributes: *const c_void,
            keyval: c_int,
            value: *mut $number,
            flag: *mut c_int,
        ) -> c_int {
            let outcome = attribute::<$number>(object_of_attributes(attributes), keyval).map(|found| {
                // SAFETY: as the caller says.
                unsafe {
                    flag.write(c_int::from(found.is_some()));
                    if let Some(found) = found {
                        value.write(found);
                    }
                }
            });
            code("a call that reads an attribute", On::Nothing, outcome)
        }

        #[doc = concat!("`", stringify!($set), "`: sets an attribute to a number.")]
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $set(
            of: c_int,
            object: HandleNumber,
            _attributes: *mut c_void,
            keyval: c_int,
            value: $number,
            _predefined: bool,
        ) -> c_int {
            let Some(of) = kind(of) else { return MPI_ERR_ARG };
            let object = object.value();
            code("a call that sets an attribute", on(of, object), attribute_set(of, object, keyval, value))
        }

        #[doc = concat!("`", stringify!($create), "`: makes a key, whose functions are in Fortran.")]
        // SAFETY: as above.
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $create(
            of: c_int,
            copy: CopyFunction,
            delete: DeleteFunction,
            keyval: Out<c_int>,
            extra_state: $number,
            _flags: c_int,
            _more: *mut c_void,
        ) -> c_int {
            let Some(of) = kind(of) else { return MPI_ERR_ARG };
            let outcome = keyval_create(of, copy, delete, keyval, extra_state);
            code("a call that makes a key", On::Nothing, outcome)
        }
    )*};
}
attributes! {
    c_int: ompi_attr_get_fint ompi_attr_set_fint ompi_attr_create_keyval_fint;
    i64: ompi_attr_get_aint ompi_attr_set_aint ompi_attr_create_keyval_aint;
}
