//! The ABI of MPI for which a program is compiled. Owns the option and the variable that choose it, and the
//! names of its header and library.

use canele_mpi_tables::Abi;

/// The option that chooses an ABI.
pub const ABI_OPTION: &str = "-abi=";
/// The variable that chooses an ABI if no option does.
pub const ABI_VARIABLE: &str = "CANELE_ABI";

/// The user's names of the ABIs. They are also names of folders of headers and of link names.
pub const ABI_NAMES: [(&str, Abi); 3] =
    [("standard", Abi::Standard), ("mpich", Abi::Mpich), ("openmpi", Abi::OpenMpi)];

/// Returns the ABI that `value` names. `named_by` stands before the value where a user has written it.
///
/// # Errors
/// Returns a text that lists the names.
pub fn read_abi(named_by: &str, value: &str) -> Result<Abi, String> {
    let known = ABI_NAMES.iter().find(|(name, _)| *name == value.trim());
    let unknown = || format!("{named_by}{value} names no ABI of MPI: it is standard, mpich or openmpi");
    known.map(|&(_, abi)| abi).ok_or_else(unknown)
}

/// Returns the user's name of an ABI.
pub fn abi_name(abi: Abi) -> &'static str {
    ABI_NAMES.iter().find(|(_, named)| *named == abi).map_or("standard", |&(name, _)| name)
}

/// Returns the folder in which the link name of an ABI lies, below the folder of the standard ABI's link
/// name.
pub fn abi_folder(abi: Abi) -> Option<&'static str> {
    (abi != Abi::Standard).then(|| abi_name(abi))
}

/// Returns the name of the library of an ABI, in the form for the linker.
pub fn library_name(abi: Abi) -> &'static str {
    match abi {
        Abi::Standard => "mpi_abi",
        Abi::Mpich | Abi::OpenMpi => "mpi",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_an_abi_and_others_are_refused_with_the_list() {
        for (name, abi) in ABI_NAMES {
            assert_eq!(read_abi(ABI_OPTION, name), Ok(abi));
            assert_eq!(abi_folder(abi).unwrap_or("standard"), name);
        }
        for (named_by, value, starts) in [
            (ABI_OPTION, "", "-abi= names"),
            ("CANELE_ABI=", "intel", "CANELE_ABI=intel names"),
            ("/opt/default-abi: ", "intel", "/opt/default-abi: intel names"),
        ] {
            let error = read_abi(named_by, value).unwrap_err();
            assert!(error.starts_with(starts), "{error}");
            assert!(ABI_NAMES.iter().all(|(name, _)| error.contains(name)), "{error}");
        }
    }
}
