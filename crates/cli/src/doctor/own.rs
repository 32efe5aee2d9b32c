//! This installation: presence and common release of command, libraries and headers, and validity of the
//! settings.

use canele_sys::bounded_read::{self, MOST_DATA};
use std::path::Path;

use canele_launch::installation::{
    FORTRAN_SONAME, MPICH_SONAME, OPENMPI_SONAME, SONAME, fortran_library_folder, include_folder,
    library_folder,
};

use super::finding::{Finding, ok, problem, remark};

const RELEASE: &str = env!("CARGO_PKG_VERSION");
/// The beginning of the result of `MPI_Get_library_version`.
const NAME: &str = "Canelé ";

/// Returns all findings.
pub fn examine() -> Vec<Finding> {
    let mut found = vec![command()];
    match library_folder() {
        Ok(folder) => {
            found.push(library("MPI library", &folder.join(SONAME)));
            for (abi, name, built_for) in [
                ("MPICH's ABI", MPICH_SONAME, "MPICH or Intel MPI"),
                ("Open MPI's ABI", OPENMPI_SONAME, "Open MPI"),
            ] {
                found.push(match folder.join(name) {
                    file if file.exists() => library(abi, &file),
                    file => remark(
                        abi,
                        format!("{} is not there", file.display()),
                        format!("programs that were built for {built_for} find no library of Canelé: install it again"),
                    ),
                });
            }
            found.push(fortran());
        }
        Err(text) => found.push(remark("MPI library", text, "needed by MPI programs alone")),
    }
    match include_folder() {
        Ok(folder) => found.push(ok("headers", folder.display().to_string())),
        Err(text) => found.push(remark("headers", text, "needed to compile MPI programs alone")),
    }
    found
}

fn command() -> Finding {
    let path =
        std::env::current_exe().map_or_else(|error| error.to_string(), |path| path.display().to_string());
    ok("command", format!("canele {RELEASE}, {path}"))
}

/// Returns the finding on the library that programs in Fortran need beside that of MPI.
fn fortran() -> Finding {
    match fortran_library_folder() {
        Ok(folder) => ok("Fortran", folder.join(FORTRAN_SONAME).display().to_string()),
        Err(text) => remark("Fortran", text, "needed by programs of `mpifort` alone"),
    }
}

/// Returns the finding on a library, which must have the command's release: launcher and ranks need the same
/// version.
fn library(what: &str, file: &Path) -> Finding {
    let path = file.display();
    match bounded_read::read(file, MOST_DATA).map(|bytes| release_in(&bytes)) {
        Err(error) => problem(what, format!("{path}: {error}"), "install Canelé again"),
        Ok(Some(release)) if release == RELEASE => ok(what, format!("{release}, {path}")),
        Ok(release) => problem(
            what,
            format!(
                "{path} is of release {}, the command of {RELEASE}",
                release.as_deref().unwrap_or("unknown")
            ),
            "launcher and ranks refuse each other: install command and library together",
        ),
    }
}

/// Returns the release that a library's file contains.
fn release_in(bytes: &[u8]) -> Option<String> {
    let is_release = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    let mut places = bytes.windows(NAME.len()).enumerate().filter(|(_, part)| *part == NAME.as_bytes());
    places.find_map(|(at, _)| {
        let rest = &bytes[at + NAME.len()..];
        let text = rest
            .iter()
            .take(32)
            .map_while(|byte| (byte.is_ascii_graphic() && *byte != b',').then_some(*byte as char));
        Some(text.collect::<String>()).filter(|text| is_release(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_says_its_release() {
        let file = "ELF Canel\u{e9} is Canel\u{e9} 0.1.0, MPI 5.0, Canel\u{e9} 9".as_bytes();
        assert_eq!(release_in(file).as_deref(), Some("0.1.0"));
        assert_eq!(release_in(b"MPICH 4.2"), None);
    }
}
