//! The flags for a profiling library, which defines functions with the names of MPI's and calls the originals
//! under `PMPI_`.
//!
//! Owns the search for a library or for a file that describes it. The files are those of MPICH: a shell reads
//! them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The flags of a profiling library.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ProfilingFlags {
    /// Flags for the compiler, before the folder of MPI's header.
    pub include: Vec<OsString>,
    /// Flags for the linker, before the MPI library.
    pub before: Vec<OsString>,
    /// Flags for the linker, after the MPI library.
    pub after: Vec<OsString>,
}

/// A shell script that prints the words of a file's variables, one on each line. The file's own output goes
/// to standard error.
const READ: &str = "set -f; PROFILE_INCPATHS= PROFILE_PRELIB= PROFILE_POSTLIB=; . \"$0\" >&2
    printf '%s\\n' $PROFILE_INCPATHS -- $PROFILE_PRELIB -- $PROFILE_POSTLIB";

impl ProfilingFlags {
    /// Finds the flags of a library in the folder of the MPI library, else of a file in `configuration` or
    /// the current folder. If there is none, the linker has to find the library.
    ///
    /// # Errors
    /// Returns a text about an unusable file.
    pub fn find(name: &str, library: Option<&Path>, configuration: &Path) -> Result<ProfilingFlags, String> {
        let beside = library.is_some_and(|folder| {
            ["so", "a"].iter().any(|kind| folder.join(format!("lib{name}.{kind}")).is_file())
        });
        let file = |folder: &Path| Some(folder.join(format!("{name}.conf"))).filter(|file| file.is_file());
        match file(configuration).or_else(|| file(Path::new("."))) {
            Some(file) if !beside => ProfilingFlags::read(&file),
            _ => Ok(ProfilingFlags { before: vec![format!("-l{name}").into()], ..ProfilingFlags::default() }),
        }
    }

    fn read(file: &PathBuf) -> Result<ProfilingFlags, String> {
        let mut shell = Command::new("sh");
        shell.args(["-c", READ]).arg(file).stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = shell
            .output()
            .map_err(|error| format!("cannot run sh, which reads {}: {error}", file.display()))?;
        let words: Vec<&[u8]> =
            output.stdout.split(|&byte| byte == b'\n').filter(|word| !word.is_empty()).collect();
        let lists = words.split(|word| word == b"--");
        let mut lists = lists.map(|list| list.iter().map(|word| OsString::from_vec(word.to_vec())).collect());
        let mut next = || lists.next().unwrap_or_default();
        let flags = ProfilingFlags { include: next(), before: next(), after: next() };
        match output.status {
            status if !status.success() => Err(format!(
                "the shell cannot read {} ({status}): correct it, or take -profile= out",
                file.display()
            )),
            _ if flags == ProfilingFlags::default() => Err(format!(
                "{} sets none of PROFILE_PRELIB, PROFILE_POSTLIB and PROFILE_INCPATHS: add PROFILE_PRELIB=\"-L/folder -lname\"",
                file.display()
            )),
            _ => Ok(flags),
        }
    }
}
