//! Programs that are named without a folder: if `PATH` has no program of the name, the one in the working
//! directory is meant, as in other launchers.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Returns the name by which a program is started from the folder that the ranks start in.
pub fn found(name: OsString, folder: Option<&OsStr>, path: Option<OsString>) -> OsString {
    let is_program = |folder: &Path| {
        std::fs::metadata(folder.join(&name))
            .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    let folder = Path::new(folder.unwrap_or(OsStr::new(".")));
    let is_named_alone = !name.is_empty() && !name.as_bytes().contains(&b'/');
    if !is_named_alone || !is_program(folder) {
        return name;
    }
    let in_path = std::env::split_paths(&path.unwrap_or_default()).any(|folder| is_program(&folder));
    if in_path { name } else { Path::new(".").join(name).into() }
}
