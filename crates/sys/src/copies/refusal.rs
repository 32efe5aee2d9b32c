//! The error that two libraries of a process cannot share a value.

use std::ffi::{CStr, c_void};
use std::fmt;

use thiserror::Error;

/// A library that contains a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyLibrary {
    /// Its path, or its name if the loader does not say the path.
    pub path: Box<str>,
    /// The version of its shared interface; none for a library that has no version.
    pub version: Option<u32>,
}

impl CopyLibrary {
    /// Returns the library that contains `address`, called `name` if its path is not known.
    pub(super) fn of(address: *const c_void, name: &str, version: Option<u32>) -> Self {
        Self { path: path_of(address).unwrap_or_else(|| name.into()), version }
    }
}

impl fmt::Display for CopyLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Some(version) => write!(f, "{} (sharing version {version})", self.path),
            None => write!(f, "{} (made before sharing versions existed)", self.path),
        }
    }
}

/// Another library of the process offers a value that this library cannot share.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CannotShare {
    /// They have different versions.
    #[error(
        "through {theirs}. {ours} cannot share the job with it, because {} is older: install both libraries from one package",
        older(ours, theirs)
    )]
    OtherVersion {
        /// This library.
        ours: CopyLibrary,
        /// The other library.
        theirs: CopyLibrary,
    },
    /// They have the same version, but were compiled from different sources, by different compilers or with
    /// different options.
    #[error(
        "through {theirs}. {ours} cannot share the job with it, because the two are of different builds: install both libraries from one \
         package, or build both together"
    )]
    OtherBuild {
        /// This library.
        ours: CopyLibrary,
        /// The other library.
        theirs: CopyLibrary,
    },
}

/// Returns the path of the library with the lower version. A library without a version is older than each
/// that has one.
fn older<'a>(ours: &'a CopyLibrary, theirs: &'a CopyLibrary) -> &'a str {
    if theirs.version < ours.version { &theirs.path } else { &ours.path }
}

/// Returns the path of the library or program that contains `address`, if the loader knows it.
fn path_of(address: *const c_void) -> Option<Box<str>> {
    // SAFETY: a C structure of pointers and numbers, for which zero is a value.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the function compares the address and does not read there; `found` may be written.
    if unsafe { libc::dladdr(address, &raw mut found) } == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a text of the loader, which lives as long as the library, and that is not unloaded.
    let path = unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy();
    (!path.is_empty()).then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(path: &str, version: Option<u32>) -> CopyLibrary {
        CopyLibrary { path: path.into(), version }
    }

    #[test]
    fn a_refusal_names_both_libraries_their_versions_and_the_older_one() {
        let [first, second, oldest] = [("/a/first", Some(1)), ("/b/second", Some(2)), ("/c/oldest", None)]
            .map(|(path, v)| library(path, v));
        for (ours, theirs, older) in
            [(&first, &second, "/a/first"), (&second, &first, "/a/first"), (&first, &oldest, "/c/oldest")]
        {
            let refusal = CannotShare::OtherVersion { ours: ours.clone(), theirs: theirs.clone() };
            assert_eq!(
                refusal.to_string(),
                format!(
                    "through {theirs}. {ours} cannot share the job with it, because {older} is older: install both libraries from one package"
                )
            );
        }
        assert_eq!(first.to_string(), "/a/first (sharing version 1)");
        assert_eq!(oldest.to_string(), "/c/oldest (made before sharing versions existed)");
        let build = CannotShare::OtherBuild { ours: first.clone(), theirs: library("/d/other", Some(1)) };
        let build = build.to_string();
        assert!(
            build.starts_with("through /d/other (sharing version 1). /a/first (sharing version 1) cannot"),
            "{build}"
        );
        assert!(build.contains("different builds") && build.contains("build both together"), "{build}");
    }

    #[test]
    fn a_library_without_a_path_has_its_name() {
        let ours = CopyLibrary::of((&raw const super::super::OFFER).cast(), "this", Some(1));
        assert!(ours.path.starts_with('/') || ours.path.contains("canele"), "{ours}");
        assert_eq!(&*CopyLibrary::of(std::ptr::null(), "libmpi_abi.so.1", None).path, "libmpi_abi.so.1");
    }
}
