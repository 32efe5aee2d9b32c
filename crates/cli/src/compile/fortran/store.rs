//! The folders in which compiled modules are kept, and the lock that lets one process at a time compile for a
//! key.
//!
//! ```text
//!   FOLDER/KEY            complete, whenever it is there
//!   FOLDER/KEY.lock       locked by the process that compiles; the kernel releases it when that process ends
//!   FOLDER/KEY.new.PID    what it compiles, renamed to KEY at the end
//! ```
//! Owns the order: lock, check again, compile, rename. A folder of the user is used only if no other user may
//! write to it.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::build::{Build, archive_file};

/// Time after which another process that compiles counts as hanging.
const LOCK_WAIT: Duration = Duration::from_secs(1800);
/// Interval between checks of the lock.
const LOCK_RETRY: Duration = Duration::from_millis(20);
/// The permission bits that let other users write.
const WRITE_OF_OTHERS: u32 = 0o022;

/// A folder with a folder of modules for each key.
#[derive(Clone, Debug)]
pub struct ModuleStore {
    folder: PathBuf,
    /// The only user who may write there; `None` for a folder of the installation.
    user: Option<u32>,
}

/// A store in which only this process compiles for one key.
pub struct LockedStore {
    folder: PathBuf,
    key: String,
    /// The lock, released when the store is dropped; `None` on a file system without locks.
    lock: Option<File>,
}

/// Returns true if a folder has been filled.
pub fn is_complete(folder: &Path) -> bool {
    folder.join(archive_file()).is_file()
}

impl ModuleStore {
    /// Returns the folders of this user, the best one first.
    pub fn places(variable: impl Fn(&str) -> Option<OsString>, temporary: &Path) -> Vec<ModuleStore> {
        let user = rustix::process::geteuid().as_raw();
        // By the specification of these variables a relative path is ignored.
        let folder = |name| variable(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
        let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
        let kept = cache.map(|cache| cache.join("canele/fortran"));
        let folders = kept.into_iter().chain([temporary.join(format!("canele-fortran-{user}"))]);
        folders.map(|folder| ModuleStore { folder, user: Some(user) }).collect()
    }

    /// Makes the store in the folder that an administrator fills.
    pub fn of_installation(folder: PathBuf) -> ModuleStore {
        ModuleStore { folder, user: None }
    }

    /// Returns the store's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the modules for a key, if they exist.
    pub fn find(&self, key: &str) -> Option<PathBuf> {
        let found = self.folder.join(key);
        (is_complete(&found) && self.check().is_ok()).then_some(found)
    }

    /// Waits until only this process compiles for a key.
    ///
    /// # Errors
    /// Returns a text with the reason why the folder cannot be used.
    pub fn lock(&self, key: &str, tell: &dyn Fn(&str)) -> Result<LockedStore, String> {
        let with_path = |error: io::Error| format!("{}: {error}", self.folder.display());
        let mode = if self.user.is_some() { 0o700 } else { 0o755 };
        // Another process may make it at the same time.
        let made = DirBuilder::new().recursive(true).mode(mode).create(&self.folder);
        made.map_err(with_path)?;
        self.check()?;
        let path = self.folder.join(format!("{key}.lock"));
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(with_path)?;
        let lock = wait_for(file, &path, tell)?;
        Ok(LockedStore { folder: self.folder.clone(), key: key.to_owned(), lock })
    }

    /// Refuses a folder to which another user may write, because its files become part of programs.
    fn check(&self) -> Result<(), String> {
        let Some(user) = self.user else { return Ok(()) };
        let is_own =
            |found: &Metadata| found.is_dir() && found.uid() == user && found.mode() & WRITE_OF_OTHERS == 0;
        match self.folder.symlink_metadata() {
            Ok(found) if is_own(&found) => Ok(()),
            Ok(_) => {
                Err(format!("{}: it is no folder to which this user alone may write", self.folder.display()))
            }
            Err(error) => Err(format!("{}: {error}", self.folder.display())),
        }
    }
}

/// Locks a file. Some network file systems have no locks. Processes that start at the same time may then all
/// compile, and the result of one of them is kept.
fn wait_for(file: File, path: &Path, tell: &dyn Fn(&str)) -> Result<Option<File>, String> {
    let until = Instant::now() + LOCK_WAIT;
    let mut is_told = false;
    while Instant::now() < until {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) => {
                if !is_told {
                    tell("waiting for another process, which compiles the modules mpi and mpi_f08");
                    is_told = true;
                }
                std::thread::sleep(LOCK_RETRY);
            }
        }
    }
    Err(format!("{}: another process has locked it for half an hour; end that process", path.display()))
}

impl LockedStore {
    /// Returns the folder of the modules, which another process may have compiled meanwhile. After an error
    /// there is no folder.
    ///
    /// # Errors
    /// Returns the errors of [`Build::fill`].
    pub fn fill(self, build: &Build<'_>) -> Result<PathBuf, String> {
        let (new, target) = (self.path(&format!(".new.{}", std::process::id())), self.path(""));
        if is_complete(&target) {
            return Ok(target);
        }
        self.remove_leftovers();
        let with_path = |error: io::Error| format!("{}: {error}", new.display());
        let filled = DirBuilder::new()
            .mode(0o700)
            .create(&new)
            .map_err(with_path)
            .and_then(|()| build.fill(&new))
            .and_then(|()| fs::rename(&new, &target).map_err(with_path));
        match filled {
            Ok(()) => Ok(target),
            // Without locks another process may have finished first.
            Err(error) => {
                let _ = fs::remove_dir_all(&new);
                if is_complete(&target) { Ok(target) } else { Err(error) }
            }
        }
    }

    fn path(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{}{end}", self.key))
    }

    /// Removes leftovers of processes that ended before they had compiled everything, and a damaged folder.
    /// Without a lock those processes may still be running.
    fn remove_leftovers(&self) {
        if self.lock.is_none() {
            return;
        }
        let start = format!("{}.new.", self.key);
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let left = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&start));
        for folder in left.map(|entry| entry.path()).chain([self.path("")]) {
            // A leftover that stays blocks no other name; otherwise the rename of the new folder fails and is
            // reported.
            let _ = fs::remove_dir_all(folder);
        }
    }
}
