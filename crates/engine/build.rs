//! Gives this build a name: copies of the engine in one process share their state only if they have the same
//! one.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::{env, fs, io};

/// The crates whose types form the state of an engine, as the workspace lays them out. A package from a
/// registry has them by their versions.
const CRATES: [&str; 8] = ["collective", "control", "engine", "mem", "proto", "rail", "sys", "trace"];
/// The other inputs that decide how the compiler lays types out.
const VARIABLES: [&str; 6] =
    ["TARGET", "PROFILE", "OPT_LEVEL", "CARGO_ENCODED_RUSTFLAGS", "CARGO_PKG_VERSION", "CARGO_CFG_PANIC"];

fn main() -> io::Result<()> {
    let mut hasher = DefaultHasher::new();
    for name in CRATES {
        let folder = Path::new("..").join(name).join("src");
        if folder.is_dir() {
            println!("cargo:rerun-if-changed={}", folder.display());
            hash_folder(&folder, &mut hasher)?;
        }
    }
    for name in VARIABLES {
        env::var_os(name).hash(&mut hasher);
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=CANELE_BUILD={:016x}", hasher.finish());
    Ok(())
}

fn hash_folder(folder: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            hash_folder(&path, hasher)?;
        } else {
            (path.file_name(), fs::read(&path)?).hash(hasher);
        }
    }
    Ok(())
}
