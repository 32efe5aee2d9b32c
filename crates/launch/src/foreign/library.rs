//! Which files are MPI libraries, and whether one is Canelé's.
//!
//! Owns their names, and the word by which every library of Canelé is known wherever it is installed.

use std::fs;
use std::io::Read;
use std::path::Path;

use canele_sys::bounded_read::{MOST_DATA, open_plain};

use crate::installation;

/// What Canelé's libraries have in them wherever they are installed.
const OWN_MARK: &[u8] = b"CANELE_CONTROL_FD";
/// Of a library so many bytes are read at once.
const PART: usize = 1 << 20;

/// True of the names that MPICH, Open MPI, Intel MPI, MVAPICH and Cray MPI give their libraries, and of the ABI's.
pub fn is_mpi_library(name: &str) -> bool {
    let (stem, rest) = name.split_once(".so").unwrap_or((name, ""));
    let is_version = rest.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit());
    is_version && (stem == "libmpi" || stem.starts_with("libmpi_") || stem.starts_with("libmpich"))
}

/// True of this installation's libraries, and of another one's of Canelé.
pub fn is_own_library(library: &Path) -> bool {
    is_of_installation(library) || has_mark(library).unwrap_or(false)
}

/// True of this installation's libraries.
pub fn is_of_installation(library: &Path) -> bool {
    let Ok(folder) = installation::library_folder() else { return false };
    let Ok(file) = fs::canonicalize(library) else { return false };
    let own = [installation::SONAME, installation::MPICH_SONAME].map(|name| folder.join(name));
    own.iter().any(|own| fs::canonicalize(own).is_ok_and(|own| own == file))
}

/// Whether a file has the word in it; nothing if it cannot be read, or is too large for a library.
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
        // The word may lie across the end of a part.
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
