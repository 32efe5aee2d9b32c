//! The variables whose addresses are the constant handles, and the form of handles in a program's memory.

use core::cell::UnsafeCell;

use crate::handle::{CONSTANT_ROWS, ProgramHandle};

/// The first address of object handles; the range is otherwise unused. Open MPI's Fortran library accesses
/// fields of its own structs there, for which memory may be reserved ([`fields`](crate::fortran::fields)).
///
/// ```text
///   value:    0 (2 bits) | generation (8 bits) | index (22 bits)
///   address:  FIRST_OBJECT + (index (22 bits) | 0 (2 bits) | generation (8 bits))
/// ```
/// So the handles of one table row share 1 KiB, however often the row is reused.
pub const FIRST_OBJECT: usize = 0x2ca0_0000_0000;
/// Upper limit of object values.
pub const OBJECTS: usize = 1 << 30;
/// Size of the address range in bytes.
pub const OBJECT_BYTES: usize = 1 << 32;
/// Number of address bits below the index.
const INDEX_SHIFT: u32 = 10;
/// Smaller addresses belong to no variable: a null pointer, an invalid number, or a constant of the standard
/// ABI. Linux normally gives a program no such address, and linkers place no program there.
const FIRST_ADDRESS: usize = 64 << 10;

/// A variable of `WORDS` words. The first one is the number, and never changes. The others keep the size that
/// programs were linked with, and hold the fields that the Fortran library accesses.
#[repr(C)]
pub struct Object<const WORDS: usize>(UnsafeCell<[usize; WORDS]>);

// SAFETY: the first word never changes; the others are accessed through raw pointers alone.
unsafe impl<const WORDS: usize> Sync for Object<WORDS> {}

impl<const WORDS: usize> Object<WORDS> {
    const fn new(number: usize) -> Self {
        let mut words = [0; WORDS];
        words[0] = number;
        Self(UnsafeCell::new(words))
    }
}

/// A handle: the address of a variable, or an address in the range of objects.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandleNumber(*const usize);

/// A file handle, which has the form of all handles.
pub type FileNumber = HandleNumber;

// SAFETY: the number that an address leads to never changes.
unsafe impl Send for HandleNumber {}
// SAFETY: as above.
unsafe impl Sync for HandleNumber {}

impl HandleNumber {
    /// Returns its address.
    pub(crate) fn address(self) -> usize {
        self.0.expose_provenance()
    }

    /// Returns the handle with this address.
    pub(crate) fn at(address: usize) -> Self {
        Self(core::ptr::with_exposed_provenance(address))
    }
}

impl ProgramHandle for HandleNumber {
    #[inline(always)]
    fn value(self) -> usize {
        match self.0.addr() {
            address if address.wrapping_sub(FIRST_OBJECT) < OBJECT_BYTES => {
                ((address - FIRST_OBJECT) as u32).rotate_right(INDEX_SHIFT) as usize
            }
            // SAFETY: a handle that is no object's is the address of a variable, as the standard says of what
            // a program passes.
            address if address >= FIRST_ADDRESS => unsafe { *self.0 },
            _ => 0,
        }
    }

    fn bits(self) -> usize {
        self.0.addr()
    }
}

/// Returns the program's form of a handle with this value.
#[inline(always)]
pub const fn in_program(value: usize) -> HandleNumber {
    if value < CONSTANT_ROWS {
        VARIABLES[value]
    } else {
        let offset = (value as u32).rotate_left(INDEX_SHIFT) as usize;
        HandleNumber(core::ptr::without_provenance(FIRST_OBJECT + offset))
    }
}

/// Returns the program's form of a file handle with this value.
#[inline(always)]
pub const fn file_in_program(value: usize) -> FileNumber {
    in_program(value)
}

macro_rules! objects {
    ($($name:ident $bytes:literal $number:literal $is_given:literal;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of Open MPI.")]
            // SAFETY: the name is Open MPI's, and this crate alone defines it.
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)] // The name is Open MPI's.
            pub static $name: Object<{ $bytes / size_of::<usize>() }> = Object::new($number);
        )*

        /// The variables that calls return, by the numbers of their constants; null if there is none.
        static VARIABLES: [HandleNumber; CONSTANT_ROWS] = {
            let mut all = [HandleNumber(core::ptr::null()); CONSTANT_ROWS];
            $(if $is_given {
                all[$number] = HandleNumber((&raw const $name).cast());
            })*
            all
        };
    };
}

include!(concat!(env!("OUT_DIR"), "/objects.rs"));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::{MPI_COMM_NULL, MPI_COMM_WORLD, MPI_REQUEST_NULL};

    #[test]
    fn a_constant_is_the_address_of_its_variable_and_has_its_number_inside() {
        assert_eq!(in_program(0x101), HandleNumber((&raw const ompi_mpi_comm_world).cast()));
        assert_eq!((MPI_COMM_WORLD.value(), MPI_COMM_NULL.value()), (0x101, 0x100));
        assert_eq!(MPI_REQUEST_NULL.value(), 0x180);
        assert!(MPI_COMM_WORLD != MPI_COMM_NULL);
        // Two names of one datatype.
        let other = HandleNumber((&raw const ompi_mpi_c_complex).cast());
        assert_eq!(other.value(), HandleNumber((&raw const ompi_mpi_c_float_complex).cast()).value());
    }

    #[test]
    fn an_object_keeps_its_value_and_what_is_no_handle_has_none() {
        for value in [CONSTANT_ROWS, 0x20_0000, 0x20_0001, 1 << 22 | 0x20_0000, OBJECTS - 1] {
            assert_eq!(in_program(value).value(), value);
        }
        for number in [0, 1, 0x101, FIRST_ADDRESS - 1] {
            assert_eq!(HandleNumber(core::ptr::without_provenance(number)).value(), 0);
        }
        assert_eq!(in_program(CONSTANT_ROWS - 1).value(), 0);
    }

    #[test]
    fn handles_of_one_row_share_memory_and_those_of_two_rows_have_none_in_common() {
        let address = |value: usize| in_program(value).address();
        let (first, last) = (address(0x20_0000), address(255 << 22 | 0x20_0000));
        assert_eq!(last - first, 255);
        assert!(address(0x20_0001) - last >= 512);
        assert!(address(OBJECTS - 1) + 512 <= FIRST_OBJECT + OBJECT_BYTES);
        // Two bits of an address are none of a value.
        assert!(HandleNumber::at(first + 256).value() >= OBJECTS);
    }

    #[test]
    fn variables_have_the_sizes_that_programs_were_linked_with() {
        assert_eq!((size_of_val(&ompi_mpi_comm_world), size_of_val(&ompi_mpi_file_null)), (512, 1536));
        assert_eq!((size_of_val(&ompi_mpi_op_sum), size_of_val(&ompi_request_null)), (2048, 256));
    }
}
