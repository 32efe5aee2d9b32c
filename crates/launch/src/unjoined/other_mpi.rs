//! Programs of another MPI: each of their ranks is a job of one, because no launcher that they know has started them.
//!
//! Owns finding the MPI library of a program. Its dynamic linker is asked, which knows where it searches; the program is not run.
//! A library that a program loads itself, as Python loads a module's, is not found.

use canele_sys::bounded_read::{self, MOST_DATA};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::installation::{self, SONAME};
use crate::plan::{Plan, Program};

/// What Canelé's library has in it wherever it is installed.
const OWN_MARK: &[u8] = b"CANELE_CONTROL_FD";

/// What to say of a job of several ranks one of whose programs is linked to another MPI.
pub fn text(plan: &Plan) -> Option<String> {
    let ranks = plan.size();
    let other = |program: &Program| Some((program.command[0].clone(), other_library(plan, program)?));
    let (program, library) = plan.programs.iter().filter(|_| ranks > 1).find_map(other)?;
    Some(format!(
        "no rank has joined the job, each of the {ranks} was one of its own: {} is linked to another MPI, {}. Compile it with \
         mpicc (canele cc), or start it with the launcher of that MPI",
        program.display(),
        library.display()
    ))
}

/// The MPI library that a program is linked to, unless it is Canelé's.
fn other_library(plan: &Plan, program: &Program) -> Option<PathBuf> {
    let file = plan.file(program)?;
    let interpreter = interpreter(&file)?;
    // Another program there may not know what it is asked.
    if !interpreter.file_name()?.as_bytes().starts_with(b"ld-") {
        return None;
    }
    let library = mpi_library(&plan.ask(Command::new(interpreter).arg("--list").arg(&file))?)?;
    (!is_own_library(&library)).then_some(library)
}

/// The dynamic linker that an executable of 64 bits names.
fn interpreter(file: &Path) -> Option<PathBuf> {
    const PROGRAM_HEADERS: usize = 32;
    const PROGRAM_HEADER_SIZE: usize = 54;
    const PROGRAM_HEADER_COUNT: usize = 56;
    const INTERPRETER: u64 = 3;
    let file = File::open(file).ok()?;
    let mut header = [0; 64];
    file.read_exact_at(&mut header, 0).ok()?;
    if header[..6] != *b"\x7fELF\x02\x01" {
        return None;
    }
    let (first, size) = (number(&header, PROGRAM_HEADERS, 8), number(&header, PROGRAM_HEADER_SIZE, 2));
    (0..number(&header, PROGRAM_HEADER_COUNT, 2)).find_map(|index| {
        let mut entry = [0; 56];
        file.read_exact_at(&mut entry, first.checked_add(index * size)?).ok()?;
        let (kind, at, len) = (number(&entry, 0, 4), number(&entry, 8, 8), number(&entry, 32, 8));
        if kind != INTERPRETER || len > 4096 {
            return None;
        }
        let mut name = vec![0; len as usize];
        file.read_exact_at(&mut name, at).ok()?;
        Some(PathBuf::from(OsStr::from_bytes(name.strip_suffix(b"\0")?)))
    })
}

/// A little-endian number of some bytes.
fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    bytes[at..at + len].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// The MPI library among what a dynamic linker lists: `libmpi.so.12 => /usr/lib/libmpi.so.12 (0x…)`.
fn mpi_library(list: &str) -> Option<PathBuf> {
    let found = list.lines().filter_map(|line| {
        let (name, rest) = line.trim().split_once(" => ")?;
        let (path, _) = rest.rsplit_once(" (")?;
        is_mpi_library(name).then_some((name, path))
    });
    // Languages' bindings have longer names.
    found.min_by_key(|(name, _)| name.len()).map(|(_, path)| PathBuf::from(path))
}

/// True of the names that MPICH, Open MPI, Intel MPI, MVAPICH and Cray MPI give their libraries, and of the ABI's.
pub fn is_mpi_library(name: &str) -> bool {
    let stem = name.split(".so").next().unwrap_or_default();
    stem == "libmpi" || stem.starts_with("libmpi_") || stem.starts_with("libmpich")
}

/// True of this installation's library, and of another one's of Canelé.
pub fn is_own_library(library: &Path) -> bool {
    let file = |path: &Path| fs::canonicalize(path).ok();
    let own = installation::library_folder().ok().and_then(|folder| file(&folder.join(SONAME)));
    own.is_some() && own == file(library)
        || bounded_read::read(library, MOST_DATA)
            .is_ok_and(|bytes| bytes.windows(OWN_MARK.len()).any(|part| part == OWN_MARK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_itself_is_found_among_others() {
        let list = "\tlinux-vdso.so.1 (0x00007ffd)\n\
                    \tlibmpi_mpifh.so.40 => /opt/ompi/lib/libmpi_mpifh.so.40 (0x00007f2b)\n\
                    \tlibmpfr.so.6 => /lib/libmpfr.so.6 (0x00007f2c)\n\
                    \tlibmpi.so.40 => /opt/with a blank/libmpi.so.40 (0x00007f2d)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f2e)\n";
        assert_eq!(mpi_library(list), Some("/opt/with a blank/libmpi.so.40".into()));
        assert_eq!(mpi_library("\tlibmpi.so.12 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x0)\n"), None);
    }

    #[test]
    fn names_of_mpi_libraries() {
        for name in ["libmpi.so.12", "libmpi.so", "libmpich.so.12", "libmpi_cray.so.12", SONAME] {
            assert!(is_mpi_library(name), "{name}");
        }
        for name in ["libmpfr.so.6", "libmpc.so.3", "libmpifake.so", "libmpg123.so.0", "libc.so.6"] {
            assert!(!is_mpi_library(name), "{name}");
        }
    }

    #[test]
    fn executables_name_their_linker_and_other_files_none() {
        let own = std::env::current_exe().unwrap();
        assert!(interpreter(&own).is_none_or(|path| path.exists()));
        let shell =
            interpreter(&fs::canonicalize("/bin/sh").unwrap()).expect("the shell is linked dynamically");
        assert!(shell.to_str().unwrap().contains("/ld-"), "{shell:?}");
        assert_eq!(interpreter(Path::new("/proc/self/cmdline")), None);
        assert_eq!(interpreter(Path::new("/")), None);
    }
}
