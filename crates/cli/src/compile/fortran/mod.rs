//! The modules `mpi` and `mpi_f08` for one Fortran compiler: compiled on first use, kept for the next one.
//!
//! ```text
//!   PREFIX/lib/canele/fortran/KEY     an administrator had them compiled: `canele fortran --prepare`
//!   ~/.cache/canele/fortran/KEY       compiled by the first `mpifort` of a user
//!   /tmp/canele-fortran-UID/KEY       the same, where no home can be written to
//!     mpif.h  mpi.mod  mpi_f08.mod …  libcanele_fortran.a
//! ```
//! Each compiler writes modules that others cannot read, and options may change the kinds of numbers. KEY
//! distinguishes such cases. Owns the choice of the folder. Only processes that hold a lock compile.

mod build;
mod commands;
mod flags;
mod identity;
mod prepare;
mod store;
mod symbols;

use std::ffi::OsString;
use std::path::PathBuf;

use canele_launch::installation::prepared_modules_folder;

use super::compiler::CompilerChoice;
use build::Build;
use identity::FortranCompiler;
use store::ModuleStore;

pub use prepare::{PreparedPlace, prepare, take_prepare};

/// Returns the folder of the modules for a compiler and the options among `words`; compiles them if there is
/// none. `tell` gets messages for the user.
///
/// # Errors
/// Returns a text with the reason why there are no modules, and a remedy.
pub fn modules(choice: &CompilerChoice, words: &[OsString], tell: &dyn Fn(&str)) -> Result<PathBuf, String> {
    let compiler = FortranCompiler::ask(choice, words)?;
    let sources = compiler.sources();
    let key = compiler.key(&sources);
    let places = ModuleStore::places(|name| std::env::var_os(name), &std::env::temp_dir());
    let prepared = prepared_modules_folder().ok().into_iter().map(ModuleStore::of_installation);
    let mut stores = prepared.chain(places.iter().cloned());
    if let Some(found) = stores.find_map(|store| store.find(&key)) {
        return Ok(found);
    }
    let build = Build { compiler: &compiler, sources: &sources, tell };
    let mut refused = String::new();
    for store in &places {
        match store.lock(&key, tell) {
            Ok(locked) => {
                if !refused.is_empty() {
                    tell(&format!(
                        "{refused}: the modules are kept in {} instead; set XDG_CACHE_HOME to a folder that you may write to",
                        store.folder().display()
                    ));
                }
                return locked.fill(&build);
            }
            Err(error) => {
                let separator = if refused.is_empty() { "" } else { "; " };
                refused = format!("{refused}{separator}{error}");
            }
        }
    }
    Err(format!(
        "there is no folder for the compiled modules: {refused}; set XDG_CACHE_HOME to a folder that you may write to"
    ))
}
