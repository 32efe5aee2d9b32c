//! A search for the MPI library that the dynamic linker would load with a program. Nothing is started for it.
//!
//! Owns the order in which glibc's ld.so(8) searches. For programs of other dynamic linkers and for unknown
//! cases no library is found.

use std::collections::{HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::elf::Linked;
use super::library::{is_mpi_library, is_own_library};

const CACHE: &str = "/etc/ld.so.cache";
const CACHE_MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
/// The largest cache that is read, in bytes.
const MOST_CACHE: u64 = 64 << 20;
/// The most libraries of a program.
const MOST_LIBRARIES: usize = 4096;

/// The search for libraries in one environment.
#[derive(Debug)]
pub struct Search {
    searched: Vec<PathBuf>,
    /// False if libraries are preloaded, which may replace any other.
    is_known: bool,
    cache: OnceLock<Cache>,
}

/// A file that is loaded.
struct Loaded {
    linked: Linked,
    folder: PathBuf,
    /// The folders of `DT_RPATH` of the file and of the files that needed it.
    rpath: Vec<PathBuf>,
}

impl Search {
    /// Returns a search in the environment that `variable` reads.
    pub fn new(variable: impl Fn(&str) -> Option<OsString>) -> Search {
        let searched = variable("LD_LIBRARY_PATH").unwrap_or_default();
        let preloaded = variable("LD_PRELOAD").unwrap_or_default();
        let stands_in = preloaded.as_bytes().to_ascii_lowercase().windows(3).any(|part| part == b"mpi");
        Search { searched: folders(&searched, None), is_known: !stands_in, cache: OnceLock::new() }
    }

    /// Returns the MPI library that an executable is linked to, directly or through other libraries. Returns
    /// none if Canelé's MPI library is among them.
    pub fn mpi_of_program(&self, program: &Path) -> Option<PathBuf> {
        let program = &fs::canonicalize(program).ok()?;
        let linked = Linked::read(program)?;
        let interpreter = linked.interpreter.as_deref()?.file_name()?;
        if !interpreter.as_bytes().starts_with(b"ld-linux") && !interpreter.as_bytes().starts_with(b"ld64.so")
        {
            return None;
        }
        self.other_mpi(program, linked, Vec::new())
    }

    /// Returns the MPI library of a library that `program` loads while it runs.
    pub fn mpi_of_module(&self, module: &Path, program: &Path) -> Option<PathBuf> {
        let loader = Linked::read(program).map(|linked| Loaded::new(program, linked, &[]));
        let rpath = loader.map(|loader| loader.rpath).unwrap_or_default();
        self.other_mpi(module, Linked::read(module)?, rpath)
    }

    fn other_mpi(&self, file: &Path, linked: Linked, rpath: Vec<PathBuf>) -> Option<PathBuf> {
        let mut known: HashSet<OsString> = HashSet::new();
        let mut other: Option<(usize, PathBuf)> = None;
        let machine = linked.machine;
        let mut waiting = VecDeque::from([Loaded::new(file, linked, &rpath)]);
        while let Some(loaded) = waiting.pop_front() {
            for name in &loaded.linked.needed {
                if !self.is_known || known.len() >= MOST_LIBRARIES {
                    return None;
                }
                if !known.insert(name.clone()) {
                    continue;
                }
                // The dynamic linker itself reports a library that it does not find.
                let Some((path, linked)) = self.find(name, &loaded, machine) else { continue };
                if is_mpi_library(&path_name(name)) {
                    if is_own_library(&path) {
                        return None;
                    }
                    // Libraries of language bindings have longer names.
                    if other.as_ref().is_none_or(|(len, _)| name.len() < *len) {
                        other = Some((name.len(), path.clone()));
                    }
                }
                waiting.push_back(Loaded::new(&path, linked, &loaded.rpath));
            }
        }
        other.map(|(_, path)| path)
    }

    /// Returns the path of a library that a file needs.
    fn find(&self, name: &OsStr, by: &Loaded, machine: u16) -> Option<(PathBuf, Linked)> {
        let fits = |path: PathBuf| {
            let linked = Linked::read(&path).filter(|linked| linked.machine == machine)?;
            Some((path, linked))
        };
        if name.as_bytes().contains(&b'/') {
            return fits(PathBuf::from(name));
        }
        let runpath =
            by.linked.runpath.as_ref().map(|text| folders(text, Some(&by.folder))).unwrap_or_default();
        let rpath: &[PathBuf] = if by.linked.runpath.is_none() { &by.rpath } else { &[] };
        let mut named = rpath.iter().chain(&self.searched).chain(&runpath);
        let in_folder = |folder: &PathBuf| fits(folder.join(name));
        named.find_map(in_folder).or_else(|| {
            let cache = self.cache.get_or_init(Cache::read);
            cache.paths(name).into_iter().find_map(&fits).or_else(|| {
                let usual = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"];
                usual.iter().find_map(|folder| fits(Path::new(folder).join(name)))
            })
        })
    }
}

impl Loaded {
    fn new(file: &Path, linked: Linked, above: &[PathBuf]) -> Loaded {
        let folder = file.parent().unwrap_or(Path::new("/")).to_owned();
        // A `DT_RUNPATH` disables the file's `DT_RPATH`.
        let own = linked.rpath.as_ref().filter(|_| linked.runpath.is_none());
        let mut rpath = own.map(|text| folders(text, Some(&folder))).unwrap_or_default();
        rpath.extend_from_slice(above);
        Loaded { linked, folder, rpath }
    }
}

/// Returns the folders of a list, in which `$ORIGIN` is the folder of the file that has the list. Folders
/// whose names depend on the processor are left out.
fn folders(text: &OsStr, origin: Option<&Path>) -> Vec<PathBuf> {
    let text = text.to_string_lossy();
    let folder = |one: &str| {
        let mut one = one.to_owned();
        for word in ["${ORIGIN}", "$ORIGIN"] {
            one = one.replace(word, &origin.unwrap_or(Path::new("")).to_string_lossy());
        }
        (!one.contains('$')).then(|| PathBuf::from(if one.is_empty() { "." } else { &one }))
    };
    if text.is_empty() { Vec::new() } else { text.split([':', ';']).filter_map(folder).collect() }
}

fn path_name(name: &OsStr) -> String {
    Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The names and paths of the libraries of the system's folders, as ldconfig(8) wrote them.
#[derive(Debug, Default)]
struct Cache(Vec<u8>);

impl Cache {
    fn read() -> Cache {
        let is_sound = fs::metadata(CACHE).is_ok_and(|about| about.is_file() && about.len() <= MOST_CACHE);
        let bytes = if is_sound { fs::read(CACHE).unwrap_or_default() } else { Vec::new() };
        // Older systems have an older format before this one.
        let start = bytes.windows(CACHE_MAGIC.len()).step_by(4).position(|part| part == CACHE_MAGIC);
        Cache(start.map(|at| bytes[at * 4..].to_vec()).unwrap_or_default())
    }

    /// Returns the paths under which a name is known, maybe for several processors.
    fn paths(&self, name: &OsStr) -> Vec<PathBuf> {
        const ENTRIES: usize = 48;
        const ENTRY: usize = 24;
        let number = |at: usize| {
            let bytes = self.0.get(at..at.checked_add(4)?)?;
            Some(u32::from_ne_bytes(bytes.try_into().ok()?) as usize)
        };
        let text = |at: usize| self.0.get(at..)?.split(|byte| *byte == 0).next();
        let count = number(20).unwrap_or(0).min(self.0.len() / ENTRY);
        let path = |index: usize| {
            let entry = ENTRIES + index * ENTRY;
            let is_it = text(number(entry + 4)?)? == name.as_bytes();
            is_it.then(|| Some(PathBuf::from(OsString::from_vec(text(number(entry + 8)?)?.to_vec()))))?
        };
        (0..count).filter_map(path).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_libraries_of_a_program_without_mpi_are_found_and_none_is_an_mpi() {
        let search = Search::new(|_| None);
        let shell = fs::canonicalize("/bin/sh").unwrap();
        let linked = Linked::read(&shell).unwrap();
        let machine = linked.machine;
        let loaded = Loaded::new(&shell, linked, &[]);
        for name in &loaded.linked.needed {
            assert!(search.find(name, &loaded, machine).is_some(), "{name:?}");
        }
        assert_eq!(search.find(OsStr::new("libnowhere.so.1"), &loaded, machine).map(|(path, _)| path), None);
        assert_eq!(search.mpi_of_program(&shell), None);
    }

    #[test]
    fn lists_of_folders_are_read_as_the_dynamic_linker_does() {
        let list = |text: &str| folders(OsStr::new(text), Some(Path::new("/opt/bin")));
        assert_eq!(
            list("/a:$ORIGIN/../lib:${ORIGIN}"),
            ["/a", "/opt/bin/../lib", "/opt/bin"].map(PathBuf::from)
        );
        assert_eq!(list(""), Vec::<PathBuf>::new());
        assert_eq!(list("/a::/$LIB/x"), ["/a", "."].map(PathBuf::from));
    }

    #[test]
    fn a_cache_that_is_cut_names_nothing_outside_of_it() {
        let Cache(whole) = Cache::read();
        for len in (0..whole.len().min(4096)).step_by(11) {
            let _ = Cache(whole[..len].to_vec()).paths(OsStr::new("libc.so.6"));
        }
        if !whole.is_empty() {
            assert!(!Cache(whole).paths(OsStr::new("libc.so.6")).is_empty());
        }
    }
}
