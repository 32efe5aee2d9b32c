//! Detection of handles of another MPI ABI, and the error text about them.
//!
//! A program compiled for one ABI may be linked with a library compiled for another. Their functions have
//! equal names, so both call the library that the dynamic linker found first. Nothing is converted: a status
//! has another layout there, and an object's handle may have any value. Only the path of an error recognises
//! such handles.

use core::ffi::CStr;

use layout::ABI_OPTION;
use layout::constants::FOREIGN;

/// The addresses that this project's library uses as object handles for Open MPI's ABI.
const OPENMPI_OBJECTS: core::ops::Range<usize> = 0x2ca0_0000_0000..0x2ca1_0000_0000;
const OPENMPI: [&str; 3] = ["Open MPI's ABI", "libmpi.so.40", "openmpi"];

/// Names the ABI of a handle in the program's memory; none if it is unknown.
pub fn origin(bits: usize) -> Option<String> {
    // A handle of 32 bits may be sign-extended.
    let number = if bits >> 32 == 0xffff_ffff { bits & 0xffff_ffff } else { bits };
    for (abi, library, option, constants) in FOREIGN {
        // MPICH's null message and null request have one number; the request, which programs pass more often,
        // is last.
        if let Some((name, _)) = constants.iter().rev().find(|(_, value)| *value == number) {
            return Some(advice(name, [abi, library, option]));
        }
    }
    if ABI_OPTION == OPENMPI[2] || bits >> 32 == 0 && !is_position_dependent(bits) {
        return None;
    }
    match OPENMPI_OBJECTS.contains(&bits) {
        true => Some(advice("a handle", OPENMPI)),
        false => variable(bits).map(|name| advice(&name, OPENMPI)),
    }
}

/// Returns true for an address that a variable of a position-dependent program may have.
fn is_position_dependent(bits: usize) -> bool {
    bits >= 64 << 10
}

fn advice(name: &str, [abi, library, option]: [&str; 3]) -> String {
    format!(
        "it is {name} of {abi} ({library}): compile what passes it with `mpicc -abi={ABI_OPTION}`, or all else with `mpicc -abi={option}`"
    )
}

/// Returns the name of Open MPI's variable at this address.
fn variable(address: usize) -> Option<String> {
    // SAFETY: all fields are numbers and pointers.
    let mut found: libc::Dl_info = unsafe { core::mem::zeroed() };
    let address = core::ptr::without_provenance::<core::ffi::c_void>(address);
    // SAFETY: any address may be asked about; the place is there.
    if unsafe { libc::dladdr(address, &raw mut found) } == 0 || found.dli_sname.is_null() {
        return None;
    }
    if found.dli_saddr.cast_const() != address {
        return None;
    }
    // SAFETY: the dynamic linker gives a text of C, which lives as long as the library that the address is
    // in.
    let name = unsafe { CStr::from_ptr(found.dli_sname) }.to_string_lossy();
    let is_openmpis =
        ["ompi_mpi_", "ompi_message_", "ompi_request_"].iter().any(|start| name.starts_with(start));
    is_openmpis.then(|| format!("`{name}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::{MPI_COMM_WORLD, MPI_INT};

    #[test]
    fn constants_of_other_abis_are_named_and_own_ones_are_not() {
        for (_, library, option, constants) in FOREIGN {
            for name in ["MPI_COMM_WORLD", "MPI_INT", "MPI_SUM", "MPI_COMM_NULL"] {
                let (_, value) = constants.iter().find(|(known, _)| *known == name).unwrap();
                let text = origin(*value).unwrap();
                assert!(text.contains(name) && text.contains(library), "{text}");
                assert!(text.contains(&format!("-abi={option}")) && text.contains(ABI_OPTION), "{text}");
            }
        }
        for own in [MPI_COMM_WORLD.value(), MPI_INT.value(), 0, usize::MAX] {
            // By Open MPI's ABI these are numbers inside of the library, and stand in no program.
            assert!(ABI_OPTION == OPENMPI[2] || origin(own).is_none(), "{own:#x}");
        }
    }

    #[test]
    fn an_object_of_open_mpis_abi_is_known_by_its_address() {
        let text = origin(OPENMPI_OBJECTS.start + (4096 << 10));
        assert_eq!(text.is_some_and(|text| text.contains("libmpi.so.40")), ABI_OPTION != OPENMPI[2]);
    }

    #[test]
    fn handles_of_32_bits_are_known_with_their_signs() {
        for (_, _, _, constants) in FOREIGN.iter().filter(|(_, _, option, _)| *option == "mpich") {
            let (_, value) = constants.iter().find(|(name, _)| *name == "MPI_FLOAT_INT").unwrap();
            assert!(origin(*value | !0 << 32).unwrap().contains("MPI_FLOAT_INT"));
        }
    }
}
