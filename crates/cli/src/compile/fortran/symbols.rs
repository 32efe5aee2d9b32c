//! The symbols of the compiled procedures, for profiling: a library may define `mpi_send_` itself, and calls
//! `pmpi_send_`.
//!
//! Owns the words for `nm` and `objcopy`. Each procedure gets a second symbol with the prefix P, and its own
//! symbol becomes weak. So another definition takes precedence without an error. References stay unchanged: a
//! weak reference would pull no object out of an archive.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::commands::{RunError, run_in, said_in};

/// Gives the procedures of an object file in a folder their second symbols.
///
/// # Errors
/// Fails if a command of binutils fails or does not exist.
pub fn profile(folder: &Path, object: &str) -> Result<(), RunError> {
    let said = said_in(folder, &["nm", "-g", "--defined-only", "-P", object].map(OsString::from))?;
    let words: String = said.lines().filter_map(words).collect();
    let file = format!("{object}.words");
    fs::write(folder.join(&file), words).map_err(RunError::NotStarted)?;
    run_in(folder, &["objcopy".into(), format!("@{file}").into(), object.into()])?;
    fs::remove_file(folder.join(file)).map_err(RunError::NotStarted)
}

/// Returns the words for a line of `nm` (name, kind, place and length); none if it is no procedure of MPI.
fn words(line: &str) -> Option<String> {
    let mut columns = line.split_whitespace();
    let (name, kind, place) = (columns.next()?, columns.next()?, columns.next()?);
    let prefix = match name.get(..4)? {
        "mpi_" => "p",
        "MPI_" => "P",
        _ => return None,
    };
    let is_procedure = kind == "T" && u64::from_str_radix(place, 16).is_ok();
    is_procedure.then(|| {
        format!("--weaken-symbol={name}\n--add-symbol={prefix}{name}=.text:0x{place},function,global\n")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn procedures_of_mpi_get_a_second_symbol() {
        assert_eq!(
            words("mpi_send_ T 00000000000000a0 0000000000000040").unwrap(),
            "--weaken-symbol=mpi_send_\n--add-symbol=pmpi_send_=.text:0x00000000000000a0,function,global\n"
        );
        assert!(words("MPI_SEND T 0 10").unwrap().contains("--add-symbol=PMPI_SEND="));
        for other in
            ["canele_places_ C 18 20", "mpi_data_ D 0 8", "__mpi_MOD_x T 0 1", "mpi_send_ T", "é", ""]
        {
            assert_eq!(words(other), None, "{other}");
        }
    }
}
