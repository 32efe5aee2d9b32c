//! Memory at handles for Open MPI's Fortran and C++ libraries. These take a handle for the address of an Open
//! MPI struct, and access a few fields.
//!
//! A constant has its variable. Object handles have memory only if one of these libraries is used. Then the
//! range of their addresses is reserved, and pages become real when fields are written. The offsets are those
//! of releases 4.1 and 5.0 (`ompi/communicator/communicator.h` and similar files). If the releases differ,
//! both fields are written; 5.0 is assumed with its default, fault tolerance.
//!
//! | object | field | offset |
//! |---|---|---|
//! | a group | its number in Fortran | 0x18 |
//! | an operation | flags; the library sets the flag of a Fortran function | 0x54 |
//! | a request | its completion, its number in Fortran | 0x58, 0x68 |
//! | a generalized request | true for functions in C; the library clears it for Fortran | 0xc0 |
//! | a datatype, a window | its attributes | 0xd0, 0xf0 |
//! | a communicator | flags, groups, attributes | 4.1: 0xe8, 0xf8, 0x100, 0x110; 5.0: 0xe0, 0x108, 0x110, 0x120 |
//!
//! Attributes are a pointer that the library only passes on, so it may be any pointer that leads back to the
//! object. Of a communicator's group the library reads only the size. Fields of a handle need not be aligned.

use core::ffi::{c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{NUMBERS, number_in_fortran};
use crate::handle::{CONSTANT_ROWS, ProgramHandle};
use crate::objects::{FIRST_OBJECT, HandleNumber, OBJECT_BYTES, in_program};

/// Offset of a group's number.
const GROUP_NUMBER: usize = 0x18;
/// Offset of an operation's flags, and the flag of a Fortran function.
const OP_FLAGS: usize = 0x54;
const OP_OF_FORTRAN: u32 = 2;
/// Offset of a request's completion pointer, and its value for a complete request. The library then frees its
/// copies of arguments, which this library does not need.
const REQUEST_COMPLETE: usize = 0x58;
const COMPLETE: usize = 1;
/// Offset of a request's number.
const REQUEST_NUMBER: usize = 0x68;
/// Offset of a generalized request's flag for C functions.
const FUNCTIONS_ARE_C: usize = 0xc0;
/// Offsets of the attributes of a datatype, a window, and a communicator of 4.1 and of 5.0.
const ATTRIBUTES: [usize; 4] = [0xd0, 0xf0, 0x110, 0x120];
/// Offsets of a communicator's flags in 4.1 and 5.0, and the flag of an inter-communicator.
const COMM_FLAGS: [usize; 2] = [0xe8, 0xe0];
const INTER: u32 = 1;
/// The flags of a Cartesian communicator, and of one with a graph.
const CART: u32 = 0x100;
const GRAPH: u32 = 0x200;
/// Offsets of a communicator's local and remote group in 4.1 and 5.0. The last one is that of the attributes
/// in 4.1, so both share one pointer.
const LOCAL_GROUP: [usize; 2] = [0xf8, 0x108];
const REMOTE_GROUP: [usize; 2] = [0x100, 0x110];
/// Offsets of the two groups, behind all fields.
const LOCAL_AT: usize = 0x180;
const REMOTE_AT: usize = 0x1a0;
/// Offset of a group's size.
const GROUP_SIZE: usize = 0x10;
/// Number of bytes with fields.
const BYTES: usize = 0x1c0;

/// Set after handles have memory.
static RESERVED: OnceLock<()> = OnceLock::new();

/// Returns true if handles have memory.
#[inline(always)]
pub fn are_there() -> bool {
    RESERVED.get().is_some()
}

/// Returns true if the Fortran library is loaded.
pub fn is_library_loaded() -> bool {
    // SAFETY: the name is a string.
    if !unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"ompi_op_create_f".as_ptr()) }.is_null() {
        return true;
    }
    // The name finds a library that was loaded privately for another one.
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
    // SAFETY: the name is a string; nothing is loaded.
    let library = unsafe { libc::dlopen(c"libmpi_mpifh.so.40".as_ptr(), flags) };
    if !library.is_null() {
        // SAFETY: it was found above.
        unsafe { libc::dlclose(library) };
    }
    !library.is_null()
}

/// Gives handles memory, if they have none yet. A page becomes real when fields are written to it.
///
/// # Errors
/// Fails if the system refuses the address range; the text names the remedy.
pub fn reserve() -> Result<(), String> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if !are_there() {
        reserve_range(FIRST_OBJECT)?;
        write_constants();
        RESERVED.get_or_init(|| ());
    }
    Ok(())
}

fn reserve_range(first: usize) -> Result<(), String> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let at = core::ptr::without_provenance_mut(first);
    // SAFETY: new memory where nothing is, or none.
    let found = unsafe { libc::mmap(at, OBJECT_BYTES, protection, flags, -1, 0) };
    if found.expose_provenance() != first {
        let error = std::io::Error::last_os_error();
        if found != libc::MAP_FAILED {
            // SAFETY: a kernel that does not know the last flag gave other memory, which nothing uses.
            unsafe { libc::munmap(found, OBJECT_BYTES) };
        }
        return Err(format!(
            "Open MPI's libraries for Fortran and C++ need 4 GiB of addresses at {first:#x}, which the system refuses ({error}): raise the limit of the address space \
             (ulimit -v), or build the program for another MPI"
        ));
    }
    // SAFETY: the memory was given above. Its pages are used here and there, so large ones are a waste; a
    // kernel without them refuses.
    unsafe { libc::madvise(found, OBJECT_BYTES, libc::MADV_NOHUGEPAGE) };
    Ok(())
}

/// Writes the fields of constants that the library reads.
fn write_constants() {
    for (kind, number, value) in NUMBERS {
        let address = in_program(value).address();
        match kind {
            _ if address == 0 => {}
            "MPI_Group" => write(address, GROUP_NUMBER, number as c_int),
            "MPI_Comm" => write_attributes(address, &ATTRIBUTES),
            "MPI_Datatype" | "MPI_Win" => write_attributes(address, &ATTRIBUTES[..2]),
            _ => {}
        }
    }
}

/// Writes a field of the object at an address.
fn write<T: Copy>(address: usize, offset: usize, field: T) {
    let place = core::ptr::with_exposed_provenance_mut::<T>(address + offset);
    // SAFETY: the address is that of a variable with room for the field, or of a handle with memory. Only the
    // library for Fortran uses that memory beside this module, and the program does not use a handle while it
    // is made or freed.
    unsafe { place.write_unaligned(field) };
}

/// Reads a field of the object at an address.
fn read<T: Copy>(address: usize, offset: usize) -> T {
    let place = core::ptr::with_exposed_provenance::<T>(address + offset);
    // SAFETY: as in `write`; all bytes were written, or are zero.
    unsafe { place.read_unaligned() }
}

fn write_attributes(address: usize, offsets: &[usize]) {
    offsets.iter().for_each(|offset| write(address, *offset, address + REMOTE_AT));
}

/// Returns the value of the object whose attributes the library passes.
pub fn object_of_attributes(attributes: *const c_void) -> usize {
    HandleNumber::at(attributes.expose_provenance().wrapping_sub(REMOTE_AT)).value()
}

/// Writes the fields of a new object, whose handle may have been that of another one.
pub fn write_new_object(value: usize) {
    write(in_program(value).address(), 0, [0_u8; BYTES]);
    write_object(value);
}

/// Writes the fields of an object that the library gets, which may be older than the memory. Fields of
/// constants are written already.
pub fn write_object(value: usize) {
    if value >= CONSTANT_ROWS {
        let address = in_program(value).address();
        write(address, GROUP_NUMBER, number_in_fortran(value));
        write_attributes(address, &ATTRIBUTES);
    }
}

/// Writes the fields of a request that the library gets.
pub fn write_request(value: usize) {
    if value < CONSTANT_ROWS {
        return;
    }
    let address = in_program(value).address();
    write(address, REQUEST_COMPLETE, COMPLETE);
    write(address, REQUEST_NUMBER, number_in_fortran(value));
}

/// Writes the sizes of a communicator's groups; the remote one only for an inter-communicator.
pub fn write_groups(comm: usize, local: usize, remote: Option<usize>) {
    let address = in_program(comm).address();
    for (at, size) in [(LOCAL_AT, local), (REMOTE_AT, remote.unwrap_or(0))] {
        write(address, at + GROUP_SIZE, size as c_int);
    }
    let flags = if remote.is_some() { INTER } else { 0 };
    for release in 0..2 {
        write(address, COMM_FLAGS[release], flags);
        write(address, LOCAL_GROUP[release], address + LOCAL_AT);
        write(address, REMOTE_GROUP[release], address + REMOTE_AT);
    }
}

/// Marks a communicator, whose groups were written, as Cartesian.
pub fn mark_as_cart(comm: usize) {
    mark_comm(comm, CART);
}

/// Marks a communicator, whose groups were written, as a graph.
pub fn mark_as_graph(comm: usize) {
    mark_comm(comm, GRAPH);
}

fn mark_comm(comm: usize, flag: u32) {
    let address = in_program(comm).address();
    COMM_FLAGS.iter().for_each(|at| write(address, *at, read::<u32>(address, *at) | flag));
}

/// Returns true if the sizes of a communicator's groups were written.
pub fn have_groups(comm: usize) -> bool {
    read::<usize>(in_program(comm).address(), LOCAL_GROUP[0]) != 0
}

/// Returns true if the library has marked an operation as a Fortran operation.
pub fn is_fortran_op(value: usize) -> bool {
    value >= CONSTANT_ROWS && read::<u32>(in_program(value).address(), OP_FLAGS) & OP_OF_FORTRAN != 0
}

/// Marks a generalized request as a C request.
pub fn mark_request_as_c(value: usize) {
    write(in_program(value).address(), FUNCTIONS_ARE_C, true);
}

/// Returns true if the library has marked a generalized request as a Fortran request.
pub fn is_fortran_request(value: usize) -> bool {
    read::<u8>(in_program(value).address(), FUNCTIONS_ARE_C) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::{MPI_COMM_WORLD, MPI_GROUP_EMPTY, MPI_INTEGER};

    fn address(value: usize) -> usize {
        in_program(value).address()
    }

    /// Two handles of one row: of generations 0 and 255.
    const FIRST: usize = 0x1234;
    const LAST: usize = 255 << 22 | FIRST;

    #[test]
    fn the_library_for_fortran_finds_numbers_and_attributes_and_leaves_marks() {
        reserve().unwrap();
        write_new_object(LAST);
        assert_eq!(read::<c_int>(address(LAST), 0x18), LAST as c_int);
        for offset in [0xd0, 0xf0, 0x110, 0x120] {
            assert_eq!(object_of_attributes(read(address(LAST), offset)), LAST);
        }
        assert!(!is_fortran_op(LAST));
        write(address(LAST), 0x54, 2_u32);
        assert!(is_fortran_op(LAST));
        // A new tenant of the row has no marks of the one before.
        write_new_object(FIRST);
        write_new_object(LAST);
        assert!(!is_fortran_op(LAST));
        let request = 0x20_0007;
        mark_request_as_c(request);
        write_request(request);
        assert_eq!(read::<c_int>(address(request), 0x68), request as c_int);
        assert!(!is_fortran_request(request));
        write(address(request), 0xc0, false);
        assert!(is_fortran_request(request));
    }

    #[test]
    fn a_communicator_leads_to_the_sizes_of_its_groups() {
        reserve().unwrap();
        let comm = 0x4321;
        write_new_object(comm);
        assert!(!have_groups(comm));
        let size_at = |offset: usize| read::<c_int>(read::<usize>(address(comm), offset), 0x10);
        write_groups(comm, 3, None);
        assert!(have_groups(comm));
        assert_eq!([0xe8, 0xe0].map(|flags| read::<u32>(address(comm), flags)), [0, 0]);
        assert_eq!([0xf8, 0x108].map(size_at), [3, 3]);
        write_groups(comm, 3, Some(5));
        assert_eq!([0xe8, 0xe0].map(|flags| read::<u32>(address(comm), flags)), [1, 1]);
        assert_eq!([0x100, 0x110].map(size_at), [5, 5]);
        assert_eq!(object_of_attributes(read(address(comm), 0x110)), comm);
        write_groups(comm, 3, None);
        mark_as_graph(comm);
        assert_eq!([0xe8, 0xe0].map(|flags| read::<u32>(address(comm), flags)), [0x200, 0x200]);
    }

    #[test]
    fn constants_have_fields_in_their_variables() {
        reserve().unwrap();
        assert_eq!(read::<c_int>(address(MPI_GROUP_EMPTY.value()), 0x18), 1);
        for (value, offset) in [(MPI_COMM_WORLD.value(), 0x110), (MPI_INTEGER.value(), 0xd0)] {
            assert_eq!(object_of_attributes(read(address(value), offset)), value);
        }
        assert!(!is_fortran_op(crate::constants::MPI_SUM.value()));
    }

    #[test]
    fn addresses_that_are_used_are_refused_with_what_to_do() {
        reserve().unwrap();
        let text = reserve_range(FIRST_OBJECT).unwrap_err();
        assert!(text.contains("0x2ca000000000") && text.contains("ulimit -v"), "{text}");
    }
}
