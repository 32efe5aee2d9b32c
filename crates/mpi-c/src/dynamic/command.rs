//! The path of the command `canele`, relative to this library. It is the launcher for the processes that a
//! program started alone spawns.
//!
//! ```text
//!   installed                                    in the tree it is built in
//!     PREFIX/bin/canele                            target/PROFILE/canele
//!     PREFIX/lib/canele/libmpi_abi.so.1            target/PROFILE/libmpi_abi.so
//! ```

use core::ffi::CStr;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Returns the command that was installed or built with this library, if it exists.
pub fn beside_library() -> Option<PathBuf> {
    let mut found = libc::Dl_info {
        dli_fname: core::ptr::null(),
        dli_fbase: core::ptr::null_mut(),
        dli_sname: core::ptr::null(),
        dli_saddr: core::ptr::null_mut(),
    };
    let here = beside_library as fn() -> Option<PathBuf> as *const core::ffi::c_void;
    // SAFETY: an address of this library, and a place for what is known of it.
    if unsafe { libc::dladdr(here, &raw mut found) } == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name of a loaded file, which stays loaded.
    let name = unsafe { CStr::from_ptr(found.dli_fname) }.to_bytes();
    let library = std::fs::canonicalize(Path::new(OsStr::from_bytes(name))).ok()?;
    command_for(library.parent()?)
}

/// Returns the command for a library in this folder.
fn command_for(folder: &Path) -> Option<PathBuf> {
    let installed = folder.parent().and_then(Path::parent).map(|prefix| prefix.join("bin/canele"));
    // A library built by tests lies one folder deeper.
    let built = [Some(folder), folder.parent()].into_iter().flatten().map(|folder| folder.join("canele"));
    installed.into_iter().chain(built).find(|command| command.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_found_in_an_installation_and_in_a_build() {
        let scratch = std::env::temp_dir().join(format!("canele-command-{}", std::process::id()));
        for (file, library) in [("a/bin/canele", "a/lib/canele"), ("b/canele", "b"), ("c/canele", "c/deps")] {
            let (file, library) = (scratch.join(file), scratch.join(library));
            assert_eq!(command_for(&library), None);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::create_dir_all(&library).unwrap();
            std::fs::write(&file, "").unwrap();
            assert_eq!(command_for(&library), Some(file));
        }
        std::fs::remove_dir_all(&scratch).unwrap();
    }
}
