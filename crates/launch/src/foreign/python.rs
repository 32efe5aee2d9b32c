//! The mpi4py that a Python program would import, found without running Python: by the folders in which its
//! interpreter searches.
//!
//! Owns these folders, and the parsing of a program's text. Unusual cases (options that change the search,
//! editable installations) are unknown: such a program has no mpi4py here.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use canele_sys::bounded_read::{self, MOST_SETTINGS};

/// The number of bytes of a program that are read: its imports lie within them.
const LONGEST_SCRIPT: u64 = 64 * 1024;
/// The number of entries of a folder that are read.
const MOST_ENTRIES: usize = 4096;

/// A program that runs in Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PythonProgram {
    /// The interpreter, with links unresolved: a virtual environment is found from the folder of the link.
    pub python: PathBuf,
    code: PythonCode,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PythonCode {
    Text(Vec<u8>),
    Module(OsString),
    /// A script file.
    Script(PathBuf),
}

impl PythonProgram {
    /// Returns the program of `python WORDS…` started in `directory`. None if it reads its program from
    /// another source, or searches modules otherwise.
    pub fn of_words(python: PathBuf, words: &[OsString], directory: &Path) -> Option<PythonProgram> {
        let mut words = words.iter();
        let code = loop {
            let word = words.next()?;
            match word.as_bytes() {
                b"-c" => break PythonCode::Text(words.next()?.as_bytes().to_vec()),
                b"-m" => break PythonCode::Module(words.next()?.clone()),
                b"-W" | b"-X" => drop(words.next()?),
                [b'-', letters @ ..]
                    if letters.iter().all(|letter| b"uBbdiOqvx".contains(letter)) && !letters.is_empty() => {}
                [b'-', ..] => return None,
                _ => break PythonCode::Script(directory.join(word)),
            }
        };
        Some(PythonProgram { python, code })
    }

    /// Returns true if the program certainly imports mpi4py: a line that is not indented does so, or the
    /// program is a module of mpi4py.
    pub fn imports_mpi4py(&self) -> bool {
        match &self.code {
            PythonCode::Module(name) => name == "mpi4py" || name.as_bytes().starts_with(b"mpi4py."),
            PythonCode::Text(text) => imports(text),
            PythonCode::Script(file) => start_of(file, LONGEST_SCRIPT).is_some_and(|text| imports(&text)),
        }
    }

    /// Returns true if the program's text or arguments contain the name.
    pub fn names_mpi4py(&self) -> bool {
        let names = |text: &[u8]| text.windows(6).any(|part| part == b"mpi4py");
        match &self.code {
            PythonCode::Module(name) => names(name.as_bytes()),
            PythonCode::Text(text) => names(text),
            PythonCode::Script(file) => start_of(file, LONGEST_SCRIPT).is_some_and(|text| names(&text)),
        }
    }

    /// Returns the folder of the mpi4py that the program would import.
    pub fn mpi4py(&self, variable: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        if variable("PYTHONHOME").is_some() {
            return None;
        }
        let own = match &self.code {
            PythonCode::Script(file) => file.parent().map(Path::to_owned),
            _ => None,
        };
        let set = variable("PYTHONPATH").map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
        let all =
            own.into_iter().chain(set.into_iter().flatten()).chain(module_folders(&self.python, variable));
        all.map(|folder| folder.join("mpi4py")).find(|folder| folder.join("__init__.py").is_file())
    }
}

/// Returns the `site-packages` folders of an interpreter, in the order of its search.
fn module_folders(python: &Path, variable: &impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Some(environment) = virtual_environment(python) {
        folders.extend(versions(&environment.join("lib")).into_iter().map(|lib| lib.join("site-packages")));
        let settings =
            bounded_read::read_text(environment.join("pyvenv.cfg"), MOST_SETTINGS).unwrap_or_default();
        let sees_system = settings.lines().any(|line| {
            let line = line.replace(' ', "").to_ascii_lowercase();
            line == "include-system-site-packages=true"
        });
        if !sees_system {
            return folders;
        }
    }
    let Ok(real) = fs::canonicalize(python) else { return folders };
    let Some(prefix) = real.parent().and_then(Path::parent) else { return folders };
    // The version is in a name such as `python3.11`; for other names it is unknown.
    let Some(name) = real.file_name().and_then(OsStr::to_str).filter(|name| name.contains('.')) else {
        return folders;
    };
    if variable("PYTHONNOUSERSITE").is_none() {
        let home = variable("PYTHONUSERBASE").map(PathBuf::from);
        let home = home.or_else(|| Some(Path::new(&variable("HOME")?).join(".local")));
        folders.extend(home.map(|home| home.join("lib").join(name).join("site-packages")));
    }
    folders.push(prefix.join("local/lib").join(name).join("dist-packages"));
    folders.push(prefix.join("lib/python3/dist-packages"));
    folders.push(prefix.join("lib").join(name).join("site-packages"));
    folders
}

/// Returns the virtual environment of an interpreter.
fn virtual_environment(python: &Path) -> Option<PathBuf> {
    let folder = python.parent()?.parent()?;
    folder.join("pyvenv.cfg").is_file().then(|| folder.to_owned())
}

/// Returns the folders `python3.…` in a folder.
fn versions(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES);
    let is_one = |name: &OsStr| name.as_bytes().starts_with(b"python3.");
    entries.filter(|entry| is_one(&entry.file_name())).map(|entry| entry.path()).collect()
}

/// The extension modules of an mpi4py.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Modules {
    /// The one that was built on this machine, for one implementation.
    pub built: Option<PathBuf>,
    /// The ABIs of the modules in pip's wheel, which selects one when it runs.
    pub abis: Vec<String>,
}

impl Modules {
    /// Returns the modules in the folder of an mpi4py.
    pub fn of(folder: &Path) -> Modules {
        let mut modules = Modules::default();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_ENTRIES) {
            let name = entry.file_name().to_string_lossy().into_owned();
            match name.split('.').collect::<Vec<_>>()[..] {
                // `abi3` is Python's ABI.
                ["MPI", _, "so"] | ["MPI", "so"] => modules.built = Some(entry.path()),
                ["MPI", abi, _, "so"] => modules.abis.push(abi.to_owned()),
                _ => {}
            }
        }
        modules
    }

    /// Returns true if none of the modules can load Canelé's library.
    pub fn are_of_others(&self) -> bool {
        let is_ours = |abi: &String| ["mpich", "openmpi", "mpiabi"].contains(&&**abi);
        self.built.is_none() && !self.abis.is_empty() && !self.abis.iter().any(is_ours)
    }
}

/// Returns true if a line that is not indented imports mpi4py.
fn imports(text: &[u8]) -> bool {
    let is_import = |line: &[u8]| {
        let rest = line.strip_prefix(b"import mpi4py").or(line.strip_prefix(b"from mpi4py"));
        rest.is_some_and(|rest| {
            rest.first().is_none_or(|next| !next.is_ascii_alphanumeric() && *next != b'_')
        })
    };
    text.split(|byte| [b'\n', b';'].contains(byte)).any(is_import)
}

/// Returns the words of a script's first line, which names its interpreter.
pub fn first_line(file: &Path) -> Option<Vec<OsString>> {
    let first = start_of(file, 256)?;
    let line = first.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    Some(words.map(|word| OsString::from_vec(word.to_vec())).collect())
}

/// Returns true for `python`, `python3.11` and paths that end so.
pub fn is_python(name: &OsStr) -> bool {
    Path::new(name).file_name().is_some_and(|name| name.as_bytes().starts_with(b"python"))
}

/// Returns the first bytes of a regular file.
fn start_of(file: &Path, bytes: u64) -> Option<Vec<u8>> {
    let mut start = Vec::new();
    let is_file = fs::metadata(file).is_ok_and(|about| about.is_file());
    is_file.then(|| File::open(file).ok()?.take(bytes).read_to_end(&mut start).ok())??;
    Some(start)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn program(words: &[&str]) -> Option<PythonProgram> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        PythonProgram::of_words("python3".into(), &words, Path::new("/here"))
    }

    #[test]
    fn programs_are_read_off_the_command_line() {
        let script = Some(PythonCode::Script("/here/a.py".into()));
        let code = |words: &[&str]| program(words).map(|program| program.code);
        assert_eq!(code(&["a.py", "-c", "x"]), script);
        assert_eq!(code(&["-u", "-W", "ignore", "-OO", "a.py"]), script);
        assert_eq!(code(&["-m", "mpi4py.bench", "x"]), Some(PythonCode::Module("mpi4py.bench".into())));
        for unknown in [&["-I", "a.py"][..], &["-"], &["-c"], &[], &["--version"]] {
            assert_eq!(program(unknown), None, "{unknown:?}");
        }
    }

    #[test]
    fn an_import_is_a_line_of_its_own() {
        for text in [
            "import mpi4py",
            "import os\nfrom mpi4py import MPI\n",
            "from mpi4py.futures import x",
            "a=1;import mpi4py",
        ] {
            assert!(program(&["-c", text]).unwrap().imports_mpi4py(), "{text}");
        }
        for text in ["# import mpi4py", "if x:\n    import mpi4py\n", "import mpi4pyx", "print('mpi4py')"] {
            assert!(!program(&["-c", text]).unwrap().imports_mpi4py(), "{text}");
        }
        assert!(program(&["-m", "mpi4py.bench"]).unwrap().imports_mpi4py());
        assert!(!program(&["-m", "pytest"]).unwrap().imports_mpi4py());
    }

    #[test]
    fn modules_are_found_where_the_interpreter_searches_them() {
        let root = std::env::temp_dir().join(format!("canele-python-{}", std::process::id()));
        let made = |folder: &str| {
            let folder = root.join(folder).join("mpi4py");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("__init__.py"), "").unwrap();
            folder
        };
        let base = made("base/lib/python3.11/site-packages");
        fs::create_dir_all(root.join("base/bin")).unwrap();
        fs::write(root.join("base/bin/python3.11"), "").unwrap();
        let bin = root.join("venv/bin");
        fs::create_dir_all(&bin).unwrap();
        symlink(root.join("base/bin/python3.11"), bin.join("python3")).unwrap();
        let found = |python: PathBuf, path: Option<&Path>| {
            let variable = |name: &str| path.filter(|_| name == "PYTHONPATH").map(OsString::from);
            let words = [OsString::from("-c"), OsString::from("")];
            PythonProgram::of_words(python, &words, &root).unwrap().mpi4py(&variable)
        };
        assert_eq!(found(root.join("base/bin/python3.11"), None), Some(base.clone()));
        // A virtual environment has its own packages, and sees the others only if it says so.
        fs::write(root.join("venv/pyvenv.cfg"), "include-system-site-packages = false\n").unwrap();
        assert_eq!(found(bin.join("python3"), None), None);
        fs::write(root.join("venv/pyvenv.cfg"), "include-system-site-packages = true\n").unwrap();
        assert_eq!(found(bin.join("python3"), None), Some(base));
        let own = made("venv/lib/python3.11/site-packages");
        assert_eq!(found(bin.join("python3"), None), Some(own));
        let first = made("first");
        assert_eq!(found(bin.join("python3"), first.parent()), Some(first));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn extension_modules_tell_the_abis() {
        let folder = std::env::temp_dir().join(format!("canele-modules-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let with = |names: &[&str]| {
            fs::read_dir(&folder).unwrap().flatten().for_each(|entry| fs::remove_file(entry.path()).unwrap());
            names.iter().for_each(|name| fs::write(folder.join(name), "").unwrap());
            Modules::of(&folder)
        };
        let tag = "cpython-311-x86_64-linux-gnu.so";
        assert!(with(&["MPI.msmpi.abi3.so", "MPI.pyi"]).are_of_others());
        for ours in ["MPI.mpich.", "MPI.openmpi.", "MPI.mpiabi.", "MPI."] {
            assert!(!with(&["MPI.msmpi.abi3.so", &format!("{ours}{tag}")]).are_of_others());
        }
        assert_eq!(with(&[&format!("MPI.{tag}")]).built, Some(folder.join(format!("MPI.{tag}"))));
        assert_eq!(with(&["MPI.abi3.so"]).built, Some(folder.join("MPI.abi3.so")));
        fs::remove_dir_all(folder).unwrap();
    }
}
