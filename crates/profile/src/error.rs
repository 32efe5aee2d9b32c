//! Errors in the file of a profile, with their remedies.

use std::path::PathBuf;

use thiserror::Error;

use crate::file::FILE_VERSION;

/// The reason why a profile cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("cannot read the profile {}: {why}: {remedy}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        why: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The file has another version.
    #[error(
        "the profile {} has version {found}, and this canele reads version {FILE_VERSION}: measure again with `canele tune`", path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: i64,
    },
    /// A line of the file is wrong.
    #[error("the profile {}, line {line}: {what}: correct it, or measure again with `canele tune`", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key, if one is wrong, and the problem.
        what: String,
    },
}
