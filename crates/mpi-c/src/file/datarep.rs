//! Data representations of the program (MPI 5.0, §14.5.3).

use core::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use canele_mem::buffer::{RawMut, Readable};
use canele_mpi::datatype::{Basic, Datatype};
use canele_mpi::file::{Datarep, Representation};
use canele_mpi::{Class, Elements, Error, Result, fail};

use crate::attributes::Value;
use crate::constants::{MPI_MAX_DATAREP_STRING, MPI_SUCCESS};
use crate::datatype::publish;
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, ObjectHandle};
use crate::pointer::Text;
use crate::program_call::call_program;

/// Returns the extent of a datatype in the file.
pub type DatarepExtent = unsafe extern "C-unwind" fn(MPI_Datatype, *mut i64, Value) -> c_int;
/// Converts elements between the user's buffer and the file's: buffer, datatype, count, file buffer,
/// position, state.
pub type DatarepConversion =
    unsafe extern "C-unwind" fn(*mut c_void, MPI_Datatype, c_int, *mut c_void, i64, Value) -> c_int;
/// Converts elements with a large count.
pub type DatarepConversionLarge =
    unsafe extern "C-unwind" fn(*mut c_void, MPI_Datatype, i64, *mut c_void, i64, Value) -> c_int;

/// A conversion function of either form.
#[derive(Clone, Copy)]
enum Conversion {
    Small(DatarepConversion),
    Large(DatarepConversionLarge),
}

struct Registered {
    name: String,
    read: Option<Conversion>,
    write: Option<Conversion>,
    extent: DatarepExtent,
    state: usize,
}

/// All registered representations; they are never removed.
static REGISTERED: Mutex<Vec<Arc<Registered>>> = Mutex::new(Vec::new());

/// Largest number of elements for one call of a function with a count of type `int`.
const MOST: usize = c_int::MAX as usize;

impl Registered {
    fn state(&self) -> Value {
        core::ptr::with_exposed_provenance_mut(self.state)
    }

    /// Converts `count` elements at `user` from or to the bytes at `file`.
    fn convert(
        &self,
        conversion: Conversion,
        user: *mut u8,
        of: &Arc<Datatype>,
        count: usize,
        file: *mut u8,
    ) -> Result<()> {
        let handle = publish(of.clone())?;
        let mut done = 0;
        let mut result = Ok(());
        while done < count && result.is_ok() {
            let n = (count - done).min(MOST);
            let what = "a conversion function of a data representation";
            let (user, file, at) = (user.cast::<c_void>(), file.cast::<c_void>(), done as i64);
            // SAFETY: the program gave the function for such calls; both buffers hold the elements that it is
            // told of.
            let code = call_program(what, || unsafe {
                match conversion {
                    Conversion::Small(function) => function(user, handle, n as c_int, file, at, self.state()),
                    Conversion::Large(function) => function(user, handle, n as i64, file, at, self.state()),
                }
            });
            if code != MPI_SUCCESS {
                result = Err(Error { class: Class::Conversion, ..*Error::given(code, what) }.into());
            }
            done += n;
        }
        if !of.is_predefined() {
            handle.free()?;
        }
        result
    }
}

impl Representation for Registered {
    fn name(&self) -> &str {
        &self.name
    }

    fn size(&self, basic: Basic) -> Result<usize> {
        let handle = publish(Datatype::basic(basic).clone())?;
        let mut extent = 0;
        let what = "the function of a data representation that says extents";
        // SAFETY: the program gave this function for such calls; the extent lives during it.
        let code = call_program(what, || unsafe { (self.extent)(handle, &raw mut extent, self.state()) });
        match usize::try_from(extent) {
            _ if code != MPI_SUCCESS => Err(Error::given(code, what)),
            Ok(extent) => Ok(extent),
            Err(_) => fail!(Conversion, "{what} gave {extent} for {}: it must not be negative", basic.name()),
        }
    }

    fn write(&self, from: &Elements, into: &mut [u8]) -> Result<bool> {
        let Some(conversion) = self.write else { return Ok(false) };
        self.convert(conversion, from.raw.address(), &from.of, from.count, into.as_mut_ptr())?;
        Ok(true)
    }

    fn read(&self, from: &[u8], into: &mut RawMut, of: &Arc<Datatype>, count: usize) -> Result<bool> {
        let Some(conversion) = self.read else { return Ok(false) };
        self.convert(conversion, into.address(), of, count, from.as_ptr().cast_mut())?;
        Ok(true)
    }
}

/// Returns the data representation with a name.
pub(super) fn named(name: &str) -> Result<Datarep> {
    let of_standard = Datarep::named(name);
    let registered = || {
        let all = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().find(|registered| registered.name == name)?;
        Some(Datarep::Registered(found.clone()))
    };
    match of_standard.or_else(registered) {
        Some(found) => Ok(found),
        None => fail!(
            UnsupportedDatarep,
            "datarep is {name:?}: it must be native, internal, external32, or one that MPI_Register_datarep was given"
        ),
    }
}

fn register(
    datarep: Text,
    read: Option<Conversion>,
    write: Option<Conversion>,
    extent: Option<DatarepExtent>,
    state: Value,
) -> CallResult {
    let name = datarep.read("datarep")?;
    if name.is_empty() || name.len() >= MPI_MAX_DATAREP_STRING as usize {
        let most = MPI_MAX_DATAREP_STRING - 1;
        fail!(Argument, "datarep has {} bytes: it must have 1 to {most}", name.len());
    }
    let Some(extent) = extent else {
        fail!(Argument, "dtype_file_extent_fn is a null pointer: the sizes in the file are needed");
    };
    let mut all = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    if Datarep::named(&name).is_some() || all.iter().any(|registered| registered.name == name) {
        fail!(DupDatarep, "datarep is {name:?}, which there is already: give another name");
    }
    let state = state.expose_provenance();
    all.push(Arc::new(Registered { name, read, write, extent, state }));
    Ok(())
}

/// `MPI_Register_datarep`.
pub fn register_datarep(
    datarep: Text,
    read_conversion_fn: Option<DatarepConversion>,
    write_conversion_fn: Option<DatarepConversion>,
    dtype_file_extent_fn: Option<DatarepExtent>,
    extra_state: Value,
) -> CallResult {
    let (read, write) =
        (read_conversion_fn.map(Conversion::Small), write_conversion_fn.map(Conversion::Small));
    register(datarep, read, write, dtype_file_extent_fn, extra_state)
}

/// `MPI_Register_datarep_c`.
pub fn register_datarep_c(
    datarep: Text,
    read_conversion_fn: Option<DatarepConversionLarge>,
    write_conversion_fn: Option<DatarepConversionLarge>,
    dtype_file_extent_fn: Option<DatarepExtent>,
    extra_state: Value,
) -> CallResult {
    let (read, write) =
        (read_conversion_fn.map(Conversion::Large), write_conversion_fn.map(Conversion::Large));
    register(datarep, read, write, dtype_file_extent_fn, extra_state)
}
