//! The recognition of MPI libraries, and of Canelé's among them.
//!
//! Owns their names, and the text by which every library of Canelé is recognised in any installation.

use std::fs;
use std::io::Read;
use std::path::Path;

use canele_sys::bounded_read::{MOST_DATA, open_plain};

use crate::installation;

/// A text that Canelé's libraries contain in any installation.
const OWN_MARK: &[u8] = b"CANELE_CONTROL_FD";
/// The number of bytes of a library that are read at once.
const PART: usize = 1 << 20;

/// Returns true for the names that MPICH, Open MPI, Intel MPI, MVAPICH and Cray MPI give their libraries, and
/// for the ABI's.
pub fn is_mpi_library(name: &str) -> bool {
    let (stem, rest) = name.split_once(".so").unwrap_or((name, ""));
    let is_version = rest.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit());
    is_version && (stem == "libmpi" || stem.starts_with("libmpi_") || stem.starts_with("libmpich"))
}

/// Returns true for this installation's libraries, and for those of another installation of Canelé.
pub fn is_own_library(library: &Path) -> bool {
    is_of_installation(library) || has_mark(library).unwrap_or(false)
}

/// Returns true for this installation's libraries.
pub fn is_of_installation(library: &Path) -> bool {
    let Ok(folder) = installation::library_folder() else { return false };
    let Ok(file) = fs::canonicalize(library) else { return false };
    let own = [installation::SONAME, installation::MPICH_SONAME, installation::OPENMPI_SONAME]
        .map(|name| folder.join(name));
    own.iter().any(|own| fs::canonicalize(own).is_ok_and(|own| own == file))
}

/// Returns true if a file contains the text; none if it cannot be read, or is too large for a library.
pub fn has_mark(library: &Path) -> Option<bool> {
    let file = open_plain(library).ok()?;
    if file.metadata().ok()?.len() > MOST_DATA {
        return None;
    }
    let mut file = file.take(MOST_DATA);
    let mut bytes = Vec::with_capacity(PART + OWN_MARK.len());
    loop {
        let read = file.by_ref().take(PART as u64).read_to_end(&mut bytes).ok()?;
        if bytes.windows(OWN_MARK.len()).any(|part| part == OWN_MARK) {
            return Some(true);
        }
        if read == 0 {
            return Some(false);
        }
        // The text may lie across the end of a part.
        bytes.drain(..bytes.len().saturating_sub(OWN_MARK.len() - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::installation::SONAME;

    #[test]
    fn names_of_mpi_libraries() {
        for name in ["libmpi.so.12", "libmpi.so", "libmpich.so.12.2.2", "libmpi_cray.so.12", SONAME] {
            assert!(is_mpi_library(name), "{name}");
        }
        for name in
            ["libmpfr.so.6", "libmpc.so.3", "libmpifake.so", "libmpg123.so.0", "libc.so.6", "libmpi_x.so.py"]
        {
            assert!(!is_mpi_library(name), "{name}");
        }
    }

    #[test]
    fn the_mark_is_found_across_the_parts_that_are_read() {
        let file = std::env::temp_dir().join(format!("canele-mark-{}", std::process::id()));
        for at in [0, PART - 5, PART, 3 * PART - 1] {
            let text = [vec![b'x'; at], OWN_MARK.to_vec(), vec![b'y'; 10]].concat();
            fs::write(&file, text).unwrap();
            assert_eq!(has_mark(&file), Some(true), "{at}");
        }
        fs::write(&file, vec![b'x'; 2 * PART]).unwrap();
        assert_eq!(has_mark(&file), Some(false));
        fs::remove_file(&file).unwrap();
        assert_eq!(has_mark(&file), None);
    }
}
