//! The data for the dynamic linker in an executable or a library.
//!
//! Owns reading it from the headers of the file. The rest of a large program is not read.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use canele_sys::bounded_read::open_plain;
use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::read::{ReadCache, ReadRef};

/// The longest string, and the largest dynamic section, that are read, in bytes.
const MOST_TEXT: u64 = 16 << 10;
const MOST_DYNAMIC: u64 = 1 << 20;

/// The data of one 64-bit file for the dynamic linker.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Linked {
    /// The processor that the file is for.
    pub machine: u16,
    /// The dynamic linker that the file names; only executables do.
    pub interpreter: Option<PathBuf>,
    /// The names of the libraries that it needs.
    pub needed: Vec<OsString>,
    /// Folders that are searched before those of the environment (`DT_RPATH`), with `:` between them.
    pub rpath: Option<OsString>,
    /// Folders that are searched after those of the environment (`DT_RUNPATH`).
    pub runpath: Option<OsString>,
}

impl Linked {
    /// Reads a file; none if it is not a 64-bit executable or library.
    pub fn read(file: &Path) -> Option<Linked> {
        read(&ReadCache::new(open_plain(file).ok()?))
    }
}

fn read<'data>(data: impl ReadRef<'data>) -> Option<Linked> {
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, data).ok()?;
    let mut linked = Linked { machine: header.e_machine(endian).0, ..Linked::default() };
    let segment = |kind| segments.iter().find(|segment| segment.p_type(endian) == kind);
    if let Some(interpreter) = segment(elf::PT_INTERP).filter(|one| one.p_filesz(endian) <= MOST_TEXT) {
        let name = interpreter.data(endian, data).ok()?.strip_suffix(b"\0")?;
        linked.interpreter = Some(PathBuf::from(OsStr::from_bytes(name)));
    }
    let Some(dynamic) = segment(elf::PT_DYNAMIC).filter(|one| one.p_filesz(endian) <= MOST_DYNAMIC) else {
        return Some(linked);
    };
    let entries = dynamic.dynamic(endian, data).ok()??;
    let entries = || {
        let all = entries.iter().map(|entry| (entry.d_tag(endian), entry.d_val(endian)));
        all.take_while(|(tag, _)| *tag != elf::DT_NULL)
    };
    let (_, address) = entries().find(|(tag, _)| *tag == elf::DT_STRTAB)?;
    // In memory, the strings lie where a segment of the file was loaded.
    let strings = segments.iter().filter(|one| one.p_type(endian) == elf::PT_LOAD).find_map(|one| {
        let within = address.checked_sub(one.p_vaddr(endian))?;
        (within < one.p_filesz(endian)).then(|| one.p_offset(endian).checked_add(within))?
    })?;
    let text = |at: u64| {
        let start = strings.checked_add(at)?;
        let end = start.saturating_add(MOST_TEXT).min(data.len().ok()?);
        Some(OsString::from_vec(data.read_bytes_at_until(start..end, 0).ok()?.to_vec()))
    };
    for (tag, value) in entries() {
        match tag {
            elf::DT_NEEDED => linked.needed.push(text(value)?),
            elf::DT_RPATH => linked.rpath = Some(text(value)?),
            elf::DT_RUNPATH => linked.runpath = Some(text(value)?),
            _ => {}
        }
    }
    Some(linked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_name_their_linker_and_libraries_and_other_files_nothing() {
        let shell =
            Linked::read(&std::fs::canonicalize("/bin/sh").unwrap()).expect("the shell is an executable");
        assert!(shell.interpreter.unwrap().to_str().unwrap().contains("/ld-"));
        assert!(shell.needed.iter().any(|name| name == "libc.so.6"), "{:?}", shell.needed);
        for other in
            ["/proc/self/cmdline", "/", "/nowhere", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]
        {
            assert_eq!(Linked::read(Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn a_file_that_is_cut_or_changed_anywhere_is_read_without_a_panic() {
        let whole = std::fs::read(std::fs::canonicalize("/bin/sh").unwrap()).unwrap();
        for len in (0..whole.len().min(6000)).step_by(7) {
            let _ = read(&whole[..len]);
        }
        let mut changed = whole.clone();
        for at in 0..1024.min(whole.len()) {
            changed[at] ^= 0xff;
            let _ = read(&changed[..]);
            changed[at] ^= 0xff;
        }
    }
}
