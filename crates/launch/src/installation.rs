//! The places of the MPI library and its header, relative to this executable.
//!
//! ```text
//!   installed                                    in the tree it is built in
//!     PREFIX/bin/canele                            target/PROFILE/canele
//!     PREFIX/lib/canele/libmpi_abi.so.1            target/PROFILE/libmpi_abi.so
//!     PREFIX/lib/canele/libmpi.so.12               target/PROFILE/libmpi.so
//!     PREFIX/lib/canele/libmpich.so.12             that library under Debian's name
//!     PREFIX/lib/canele/libmpi.so.40                target/PROFILE/libopenmpi_abi.so
//!     PREFIX/lib/canele/mpich/libmpi.so, openmpi/libmpi.so   these libraries for the linker's `-lmpi`
//!     PREFIX/lib/canele/default-abi                the ABI that mpicc compiles for, if not the standard's
//!     PREFIX/lib/canele/libcanele.so.0             target/PROFILE/libcanele_c.so
//!     PREFIX/lib/canele/libcanele_fort.so.0        target/PROFILE/libcanele_fort.so
//!     PREFIX/lib/canele/fortran/KEY                target/PROFILE/mpi/fortran/KEY   modules of one compiler
//!     PREFIX/lib/canele/programs/laplace …         target/PROFILE/laplace …
//!     PREFIX/etc                                   target/etc   never made here
//!     PREFIX/include/mpi.h                         target/PROFILE/mpi/libmpi_abi.so.1   made on demand
//!                                                  crates/mpi-abi/include/mpi.h
//!     PREFIX/include/mpich/mpi.h, openmpi/mpi.h    crates/mpi-abi/include/mpich/mpi.h, openmpi/mpi.h
//! ```
//!
//! Owns both layouts. The libraries are one for each ABI of MPI, and Canelé's own for C. Their folder holds
//! nothing else, so a search there finds no other library. Never reads the environment, and never finds
//! another implementation's library.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The name of the standard ABI's library, with which programs are linked and for which the dynamic linker
/// looks.
pub const SONAME: &str = "libmpi_abi.so.1";
/// The library name that programs built for MPICH or Intel MPI look for.
pub const MPICH_SONAME: &str = "libmpi.so.12";
/// The name that Debian gives MPICH's library.
const DEBIAN_MPICH_SONAME: &str = "libmpich.so.12";
const MPICH_BUILT: &str = "libmpi.so";
/// The library name that programs built for Open MPI look for.
pub const OPENMPI_SONAME: &str = "libmpi.so.40";
const OPENMPI_BUILT: &str = "libopenmpi_abi.so";
/// Canelé's own library for C: its name in a build, and the names that programs and the compiler's linker
/// look for.
const OWN_BUILT: &str = "libcanele_c.so";
const OWN_NAMES: [&str; 2] = ["libcanele.so.0", "libcanele.so"];
/// The name of the library that programs in Fortran need beside the one for C, and its other names.
pub const FORTRAN_SONAME: &str = "libcanele_fort.so.0";
const FORTRAN_BUILT: &str = "libcanele_fort.so";
const FORTRAN_NAMES: [&str; 2] = [FORTRAN_SONAME, FORTRAN_BUILT];
/// The folder, beside the libraries, of Fortran modules that an administrator has compiled.
const MODULES: &str = "fortran";
/// The name that the compiler's linker looks for as the standard ABI's library.
const LINK_NAME: &str = "libmpi_abi.so";
/// The file, beside the libraries, that names the ABI for which programs are compiled by default.
const DEFAULT_ABI: &str = "default-abi";
/// The name of the standard's ABI.
const STANDARD: &str = "standard";
/// The name that the linker looks for as the library of another ABI; each ABI has a folder of its own.
const LINK_NAME_OF_OTHERS: &str = "libmpi.so";
const HEADER: &str = "mpi.h";
const SEARCHED: &str = "LD_LIBRARY_PATH";
/// The variable that names the library that pip's mpi4py loads first, before any library beside its Python.
/// The second variable names the ABI of that library.
const MPI4PY_LIBRARY: &str = "MPI4PY_LIBMPI";
const MPI4PY_ABI: &str = "MPI4PY_MPIABI";

/// The folder of a tree in which the header is written.
const SOURCE_INCLUDE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mpi-abi/include");

/// Returns the folder that holds the libraries and nothing else.
///
/// # Errors
/// Fails with a text that names the searched places and a remedy.
pub fn library_folder() -> Result<PathBuf, String> {
    library_folder_from(&executable_folder()?)
}

/// Returns the folder with both libraries that a program in Fortran needs.
///
/// # Errors
/// Fails with a text that names the missing library and a remedy.
pub fn fortran_library_folder() -> Result<PathBuf, String> {
    fortran_library_folder_from(&executable_folder()?)
}

/// Returns the folder of the modules for Fortran that an administrator has compiled, one folder for each
/// compiler. It may be missing.
///
/// # Errors
/// Fails with a text if the libraries, beside which it lies, are missing.
pub fn prepared_modules_folder() -> Result<PathBuf, String> {
    Ok(library_folder()?.join(MODULES))
}

/// Returns the folder in which `mpi.h` lies for programs that are compiled without a wrapper.
///
/// # Errors
/// Fails with a text that names the searched places and a remedy.
pub fn include_folder() -> Result<PathBuf, String> {
    include_folder_from(&executable_folder()?, Path::new(SOURCE_INCLUDE))
}

/// Returns the folder in which `mpi.h` lies for one ABI: `standard`, `mpich` or `openmpi`. Only an
/// installation whose default is another ABI has a folder for the standard's.
///
/// # Errors
/// Fails with a text that names the searched places and a remedy.
pub fn include_folder_of(abi: &str) -> Result<PathBuf, String> {
    include_folder_below(include_folder()?, abi)
}

fn include_folder_below(include: PathBuf, abi: &str) -> Result<PathBuf, String> {
    let folder = include.join(abi);
    let header = folder.join(HEADER);
    match abi {
        _ if header.is_file() => Ok(folder),
        STANDARD => Ok(include),
        _ => Err(missing_for(abi, "the header of MPI", &header)),
    }
}

/// Returns the file that names the ABI for which this installation compiles C and C++, and the name. The file
/// is missing if that is the standard's ABI. The wheel has it, because mpi4py's wheel is of MPICH's ABI.
pub fn default_abi() -> Option<(PathBuf, String)> {
    let file = library_folder().ok()?.join(DEFAULT_ABI);
    let text = fs::read_to_string(&file).ok()?;
    Some((file, text.trim().to_owned()))
}

/// Returns the folder in which the linker finds the library of another ABI, called `mpich` or `openmpi`, as
/// `-lmpi`.
///
/// # Errors
/// Fails with a text that names the searched places and a remedy.
pub fn link_folder_of(abi: &str) -> Result<PathBuf, String> {
    let folder = library_folder()?.join(abi);
    let library = folder.join(LINK_NAME_OF_OTHERS);
    if library.exists() { Ok(folder) } else { Err(missing_for(abi, "the MPI library", &library)) }
}

/// Returns the folder for files that the administrator of an installation writes. It may be missing.
///
/// # Errors
/// Fails with a text if this executable cannot be found.
pub fn configuration_folder() -> Result<PathBuf, String> {
    Ok(sibling(&executable_folder()?, "etc"))
}

/// Returns the path of an example program of this name.
///
/// # Errors
/// Fails with the path where it should be.
pub fn example_program(name: &str) -> Result<PathBuf, PathBuf> {
    let here = executable_folder().unwrap_or_default();
    let places = [here.join(name), sibling(&here, "lib/canele/programs").join(name)];
    let found = places.iter().find(|path| path.is_file()).cloned();
    let [built, _] = places;
    found.ok_or(built)
}

/// Extends `environment`, which is set on top of this process's own, so that started programs find the
/// library before any other. This holds for the dynamic linker, and for pip's mpi4py unless the environment
/// already names its library. If the library is not installed, nothing changes.
pub fn add_library_path(environment: &mut Vec<(OsString, OsString)>) {
    let Ok(folder) = library_folder() else { return };
    let set = |variable: &str| {
        let own = environment.iter().rev().find(|(name, _)| name == variable).map(|(_, value)| value.clone());
        own.or_else(|| std::env::var_os(variable))
    };
    let searched = prepended(&folder, set(SEARCHED));
    let by_mpich = folder.join(MPICH_SONAME);
    let is_told = [MPI4PY_LIBRARY, MPI4PY_ABI].iter().any(|name| set(name).is_some());
    environment.push((SEARCHED.into(), searched));
    if !is_told && by_mpich.is_file() {
        environment.push((MPI4PY_LIBRARY.into(), by_mpich.into()));
    }
}

/// Prepends a folder to a list. An empty entry would be the current directory, so none is added to an unset
/// list.
fn prepended(folder: &Path, before: Option<OsString>) -> OsString {
    let mut searched = folder.as_os_str().to_owned();
    if let Some(before) = before.filter(|before| !before.is_empty()) {
        searched.push(":");
        searched.push(before);
    }
    searched
}

fn executable_folder() -> Result<PathBuf, String> {
    let executable = std::env::current_exe().map_err(|error| format!("this executable: {error}"))?;
    Ok(executable.parent().unwrap_or(Path::new("/")).to_owned())
}

fn library_folder_from(here: &Path) -> Result<PathBuf, String> {
    let installed = sibling(here, "lib/canele");
    if installed.join(SONAME).is_file() {
        return Ok(installed);
    }
    let built = here.join(LINK_NAME);
    if !built.is_file() {
        return Err(missing("the MPI library", &[installed.join(SONAME), built]));
    }
    let folder = here.join("mpi");
    let link = |built: &str, name| link_to(&Path::new("..").join(built), &folder.join(name));
    let link_for_linker = |built: &str, abi| {
        let inside = folder.join(abi);
        fs::create_dir_all(&inside)?;
        link_to(&Path::new("../..").join(built), &inside.join(LINK_NAME_OF_OTHERS))
    };
    let others = [(MPICH_BUILT, "mpich"), (OPENMPI_BUILT, "openmpi")];
    let others = others.into_iter().filter(|(built, _)| here.join(built).is_file());
    let mut names = vec![(LINK_NAME, SONAME), (LINK_NAME, LINK_NAME)];
    if here.join(MPICH_BUILT).is_file() {
        names.extend([MPICH_SONAME, DEBIAN_MPICH_SONAME].map(|name| (MPICH_BUILT, name)));
    }
    if here.join(OPENMPI_BUILT).is_file() {
        names.push((OPENMPI_BUILT, OPENMPI_SONAME));
    }
    if here.join(OWN_BUILT).is_file() {
        names.extend(OWN_NAMES.map(|name| (OWN_BUILT, name)));
    }
    if here.join(FORTRAN_BUILT).is_file() {
        names.extend(FORTRAN_NAMES.map(|name| (FORTRAN_BUILT, name)));
    }
    let made = fs::create_dir_all(&folder)
        .and_then(|()| names.into_iter().try_for_each(|(built, name)| link(built, name)))
        .and_then(|()| others.into_iter().try_for_each(|(built, abi)| link_for_linker(built, abi)));
    made.map_err(|error| format!("cannot make {} for the MPI library beside it: {error}", folder.display()))?;
    Ok(folder)
}

fn fortran_library_folder_from(here: &Path) -> Result<PathBuf, String> {
    let folder = library_folder_from(here)?;
    let file = folder.join(FORTRAN_SONAME);
    match file.is_file() {
        true => Ok(folder),
        false => Err(format!(
            "the library for Fortran, {}, is neither installed nor built: `scripts/install [PREFIX]` installs it with all else; in \
             the source tree `cargo build -p canele-mpi-fortran` is enough",
            file.display()
        )),
    }
}

fn include_folder_from(here: &Path, source: &Path) -> Result<PathBuf, String> {
    let installed = sibling(here, "include");
    // A build's executable lies beside the library of its build.
    let built = here.join(LINK_NAME).is_file().then(|| source.to_owned());
    let places: Vec<PathBuf> = std::iter::once(installed).chain(built).collect();
    match places.iter().find(|folder| folder.join(HEADER).is_file()) {
        Some(folder) => Ok(fs::canonicalize(folder).unwrap_or_else(|_| folder.clone())),
        None => Err(missing("the header of MPI", &places.iter().map(|p| p.join(HEADER)).collect::<Vec<_>>())),
    }
}

/// Returns a folder beside that of the executable, without `..` in its name: the name is written into
/// programs.
fn sibling(here: &Path, name: &str) -> PathBuf {
    here.parent().unwrap_or(Path::new("/")).join(name)
}

/// Makes a symbolic link unless it exists; several processes may do so at once.
fn link_to(target: &Path, link: &Path) -> io::Result<()> {
    if fs::read_link(link).is_ok_and(|found| found == target) {
        return Ok(());
    }
    let new = link.with_extension(format!("{}.new", std::process::id()));
    symlink(target, &new)?;
    fs::rename(&new, link)
}

fn missing(what: &str, places: &[PathBuf]) -> String {
    let places: Vec<String> = places.iter().map(|path| path.display().to_string()).collect();
    format!(
        "{what} is neither installed nor built; looked at {}. `scripts/install [PREFIX]` installs command, library and \
         header together; in the source tree `cargo build -p canele-cli -p canele-mpi-abi` is enough",
        places.join(" and ")
    )
}

fn missing_for(abi: &str, what: &str, file: &Path) -> String {
    format!(
        "{what} by the ABI {abi}, {}, is neither installed nor built: `scripts/install [PREFIX]` installs it with all else; in the source \
         tree `cargo build -p canele-{abi}-abi` is enough",
        file.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test, removed with its content.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str, files: &[&str]) -> Scratch {
            let folder = std::env::temp_dir().join(format!("canele-{name}-{}", std::process::id()));
            for file in files {
                let file = folder.join(file);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, "").unwrap();
            }
            Scratch(folder)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn an_installation_is_found_beside_the_folder_of_the_executable() {
        let scratch =
            Scratch::new("installed", &["bin/canele", "lib/canele/libmpi_abi.so.1", "include/mpi.h"]);
        let bin = scratch.0.join("bin");
        assert_eq!(library_folder_from(&bin), Ok(scratch.0.join("lib/canele")));
        assert_eq!(include_folder_from(&bin, Path::new("/nowhere")), Ok(scratch.0.join("include")));
    }

    #[test]
    fn the_standards_header_has_a_folder_of_its_own_where_another_abi_is_the_default() {
        let scratch = Scratch::new("headers", &["mpi.h", "mpich/mpi.h"]);
        let include = &scratch.0;
        assert_eq!(include_folder_below(include.clone(), STANDARD), Ok(include.clone()));
        assert_eq!(include_folder_below(include.clone(), "mpich"), Ok(include.join("mpich")));
        assert!(include_folder_below(include.clone(), "openmpi").unwrap_err().contains("openmpi/mpi.h"));
        let folder = include.join(STANDARD);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(HEADER), "").unwrap();
        assert_eq!(include_folder_below(include.clone(), STANDARD), Ok(folder));
    }

    #[test]
    fn in_a_build_the_library_gets_a_folder_with_the_name_programs_look_for() {
        let scratch = Scratch::new("built", &["debug/canele", "debug/libmpi_abi.so", "source/mpi.h"]);
        let (here, source) = (scratch.0.join("debug"), scratch.0.join("source"));
        for _ in 0..2 {
            let folder = library_folder_from(&here).unwrap();
            assert_eq!(folder, here.join("mpi"));
            let names = [SONAME, LINK_NAME].map(|name| fs::canonicalize(folder.join(name)).unwrap());
            assert!(names.iter().all(|file| *file == here.join(LINK_NAME)), "{names:?}");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        }
        let error = fortran_library_folder_from(&here).unwrap_err();
        assert!(error.contains(FORTRAN_SONAME) && error.contains("-p canele-mpi-fortran"), "{error}");
        for built in [MPICH_BUILT, OPENMPI_BUILT, OWN_BUILT, FORTRAN_BUILT] {
            fs::write(here.join(built), "").unwrap();
        }
        let folder = fortran_library_folder_from(&here).unwrap();
        let by_mpich = [MPICH_SONAME, DEBIAN_MPICH_SONAME].map(|name| (name, MPICH_BUILT));
        let by_openmpi = [(OPENMPI_SONAME, OPENMPI_BUILT)];
        let own = OWN_NAMES.map(|name| (name, OWN_BUILT));
        let by_fortran = FORTRAN_NAMES.map(|name| (name, FORTRAN_BUILT));
        for (name, built) in by_mpich.into_iter().chain(by_openmpi).chain(own).chain(by_fortran) {
            assert_eq!(fs::canonicalize(folder.join(name)).unwrap(), here.join(built));
        }
        for (abi, built) in [("mpich", MPICH_BUILT), ("openmpi", OPENMPI_BUILT)] {
            assert_eq!(fs::canonicalize(folder.join(abi).join("libmpi.so")).unwrap(), here.join(built));
        }
        assert_eq!(include_folder_from(&here, &source), Ok(source));
    }

    #[test]
    fn what_is_missing_is_told_with_the_places_and_the_remedy() {
        let scratch = Scratch::new("missing", &["bin/canele", "source/mpi.h"]);
        let (bin, source) = (scratch.0.join("bin"), scratch.0.join("source"));
        // Without the library, the header of a source tree is of another build.
        for error in [library_folder_from(&bin).unwrap_err(), include_folder_from(&bin, &source).unwrap_err()]
        {
            assert!(
                error.contains(scratch.0.to_str().unwrap()) && error.contains("scripts/install"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_library_is_searched_before_what_was_searched_anyway() {
        let folder = Path::new("/opt/lib/canele");
        assert_eq!(prepended(folder, None), "/opt/lib/canele");
        assert_eq!(prepended(folder, Some("".into())), "/opt/lib/canele");
        assert_eq!(prepended(folder, Some("/a:/b".into())), "/opt/lib/canele:/a:/b");
    }
}
