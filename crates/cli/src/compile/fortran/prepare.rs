//! `canele fortran --prepare`: compiles the modules for all users of an installation, and registers them with
//! pkg-config.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use canele_launch::installation::{fortran_library_folder, prepared_modules_folder};
use canele_mpi_tables::Abi;

use super::super::Language;
use super::super::compiler::CompilerChoice;
use super::build::Build;
use super::identity::FortranCompiler;
use super::store::ModuleStore;

/// The option.
const OPTION: &str = "--prepare";
/// Names for pkg-config with the version of each. A build that uses Open MPI's name wants a recent release;
/// the file names the version of the MPI standard.
const PACKAGES: [(&str, &str); 2] = [("mpi-fort", env!("CARGO_PKG_VERSION")), ("ompi-fort", "5.0")];
/// The text that marks a file for pkg-config as Canelé's.
const OWN: &str = "Description: Canelé";

/// The place of the modules of `--prepare`.
#[derive(Debug, PartialEq, Eq)]
pub enum PreparedPlace {
    /// The modules are kept beside the libraries of the installation.
    Installation,
    /// The modules are kept in a folder that the option names.
    Folder(PathBuf),
}

/// Takes the option out of the words; returns its value, if it is there.
///
/// # Errors
/// Returns a text for an option without a value.
pub fn take_prepare(words: &mut Vec<OsString>) -> Result<Option<PreparedPlace>, String> {
    let mut taken = None;
    let mut wrong = None;
    words.retain(|word| {
        let Some(rest) = word.to_str().and_then(|word| word.strip_prefix(OPTION)) else { return true };
        match rest.strip_prefix('=') {
            None if rest.is_empty() => taken = Some(PreparedPlace::Installation),
            None => return true,
            Some("") => {
                wrong = Some(format!("{OPTION}= names no folder: write {OPTION}=FOLDER, or {OPTION} alone"))
            }
            Some(folder) => taken = Some(PreparedPlace::Folder(folder.into())),
        }
        false
    });
    wrong.map_or(Ok(taken), Err)
}

/// Compiles the modules for a compiler, and the options among `words`, and returns their folder.
///
/// # Errors
/// Returns a text with the reason why there are no modules, and a remedy.
pub fn prepare(
    choice: &CompilerChoice,
    words: &[OsString],
    place: &PreparedPlace,
    tell: &dyn Fn(&str),
) -> Result<PathBuf, String> {
    let compiler = FortranCompiler::ask(choice, words)?;
    let sources = compiler.sources();
    let root = match place {
        PreparedPlace::Folder(folder) => {
            std::path::absolute(folder).map_err(|error| format!("{}: {error}", folder.display()))?
        }
        PreparedPlace::Installation => prepared_modules_folder()?,
    };
    let store = ModuleStore::of_installation(root);
    let key = compiler.key(&sources);
    let locked = store.lock(&key, tell).map_err(|error| {
        format!(
            "{error}; who may write there prepares modules for all, or name a folder with {OPTION}=FOLDER"
        )
    })?;
    let modules = locked.fill(&Build { compiler: &compiler, sources: &sources, tell })?;
    if *place == PreparedPlace::Installation && compiler.is_plain_gnu() {
        describe(&modules, &fortran_library_folder()?, &compiler.title(), tell);
    }
    Ok(modules)
}

/// Writes the files for pkg-config if the installation has such files.
fn describe(modules: &Path, library: &Path, title: &str, tell: &dyn Fn(&str)) {
    let packages = library.with_file_name("pkgconfig");
    if !packages.is_dir() {
        return;
    }
    for (name, version) in PACKAGES {
        let file = packages.join(format!("{name}.pc"));
        let is_of_others = fs::read_to_string(&file).is_ok_and(|text| !text.contains(OWN));
        if is_of_others {
            tell(&format!("{} stays as it is: it is not of Canelé", file.display()));
            continue;
        }
        let text = package(name, version, modules, library, title);
        if let Err(error) = fs::write(&file, text) {
            tell(&format!("pkg-config will not know {name}: {}: {error}", file.display()));
        }
    }
}

fn package(name: &str, version: &str, modules: &Path, library: &Path, title: &str) -> String {
    let (modules, folder) = (modules.display(), library.display());
    let libraries: Vec<String> =
        Language::Fortran.libraries(Abi::Standard).iter().map(|name| format!("-l{name}")).collect();
    format!(
        "includedir={modules}
libdir={folder}

Name: {name}
{OWN}, the modules mpi and mpi_f08 for {title}
Version: {version}
Cflags: -I${{includedir}}
Libs: -L${{includedir}} -L${{libdir}} -Wl,--enable-new-dtags,-rpath,${{libdir}} {}
",
        libraries.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_is_taken_out_of_the_words() {
        for (line, expected, rest) in [
            ("-c a.f90", Ok(None), "-c a.f90"),
            ("--prepare", Ok(Some(PreparedPlace::Installation)), ""),
            ("-i8 --prepare=/a/b", Ok(Some(PreparedPlace::Folder("/a/b".into()))), "-i8"),
            ("--prepared --prepare=", Err(()), "--prepared"),
        ] {
            let mut words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let taken = take_prepare(&mut words).map_err(|_| ());
            assert_eq!(taken, expected, "{line}");
            assert_eq!(words, rest.split_whitespace().map(OsString::from).collect::<Vec<_>>());
        }
    }
}
