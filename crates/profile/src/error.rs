//! What is wrong with the file of a profile, and what to do about it.

use std::path::PathBuf;

use thiserror::Error;

use crate::file::FILE_VERSION;

/// Why a profile cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// The file cannot be read.
    #[error("cannot read the profile {}: {why}: {remedy}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The file has another version.
    #[error(
        "the profile {} has version {found}, and this canele reads version {FILE_VERSION}: measure again with `canele tune`", path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// What it says.
        found: i64,
    },
    /// A line of the file is wrong.
    #[error("the profile {}, line {line}: {what}: correct it, or measure again with `canele tune`", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The key, where one is wrong, and what is wrong.
        what: String,
    },
}
