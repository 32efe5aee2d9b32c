//! The time of a cache line, measured by the first launcher after a boot. All launchers of a user select
//! their profile by it, so the ranks of their jobs can connect to each other.
//!
//! Owns the file `canele/line.HOST.toml` in the user's cache folder, and the checks of its content. HOST
//! separates the hosts that share a home.
//!
//! ```text
//!   read ──no record──▶ lock the folder, read again ──no record──▶ measure, write
//! ```
//! Never fails: a launcher that cannot keep a record uses what it measures itself.

use std::fs::{DirBuilder, File, Metadata, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use canele_sys::boot::boot_id;
use canele_sys::bounded_read;
use rustix::fs::{AtFlags, Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::{MachineIdentity, line_probe};

/// The version of the file's form.
const VERSION: u32 = 1;
/// The most bytes of the file.
const MOST_BYTES: u64 = 64 << 10;
/// The longest wait for another launcher that measures. A measurement takes much less.
const LOCK_WAIT: Duration = Duration::from_millis(500);
/// The pause between two attempts to lock.
const LOCK_RETRY: Duration = Duration::from_millis(1);
/// The permissions that other users must not have on a trusted file or folder.
const WRITE_OF_OTHERS: u32 = 0o022;

/// The time of a cache line between the two processors, and its origin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineTime {
    /// Nanoseconds.
    pub ns: u32,
    /// The origin of the time.
    pub origin: LineOrigin,
}

/// The origin of the time of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LineOrigin {
    /// Measured now. No file could be written, so the next launcher measures again.
    Measured,
    /// Measured now and written to this file.
    Written(PathBuf),
    /// Read from this file, which an earlier launcher wrote since the machine started.
    Read(PathBuf),
}

/// Returns the time of a line from the record in `folder`. Without a record it measures and records the time;
/// none if it cannot measure.
pub(crate) fn line_time(folder: Option<&Path>, machine: &MachineIdentity) -> Option<LineTime> {
    let file = folder.zip(boot_id()).map(|(folder, boot)| RecordFile::new(folder, boot.trim(), machine));
    recorded_or_measured(file.as_ref(), line_probe::line_ns)
}

fn recorded_or_measured(
    file: Option<&RecordFile>,
    measure: impl FnOnce() -> Option<u32>,
) -> Option<LineTime> {
    let record = |file: &RecordFile, ns| LineTime { ns, origin: LineOrigin::Read(file.path()) };
    if let Some((file, ns)) = file.and_then(|file| Some((file, file.read()?))) {
        return Some(record(file, ns));
    }
    let locked = file.and_then(|file| Some((file, file.lock_folder()?)));
    // Another launcher may have measured before this one got the lock.
    if let Some((file, ns)) = locked.as_ref().and_then(|(file, _)| Some((*file, file.read()?))) {
        return Some(record(file, ns));
    }
    let ns = measure()?;
    let origin = match locked {
        Some((file, folder)) if file.write(&folder, ns).is_ok() => LineOrigin::Written(file.path()),
        _ => LineOrigin::Measured,
    };
    Some(LineTime { ns, origin })
}

/// The content of the file. The machine comes last, so a truncated file describes another machine.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineRecord {
    version: u32,
    boot: String,
    line_ns: u32,
    machine: MachineIdentity,
}

/// The file of a user for one boot of one machine.
struct RecordFile {
    folder: PathBuf,
    name: String,
    boot: String,
    machine: MachineIdentity,
    /// The user whose files are trusted.
    user: u32,
}

impl RecordFile {
    fn new(folder: &Path, boot: &str, machine: &MachineIdentity) -> Self {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
        let host = host.replace(|c| !is_plain(c), "_");
        Self {
            folder: folder.join("canele"),
            name: format!("line.{host}.toml"),
            boot: boot.into(),
            machine: machine.clone(),
            user: rustix::process::geteuid().as_raw(),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    fn is_trusted(&self, found: &Metadata) -> bool {
        found.uid() == self.user && found.mode() & WRITE_OF_OTHERS == 0
    }

    /// Opens the folder if it is trusted.
    fn open_folder(&self) -> Option<File> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = File::from(rustix::fs::open(&self.folder, flags, Mode::empty()).ok()?);
        self.is_trusted(&folder.metadata().ok()?).then_some(folder)
    }

    /// Makes the folder, unless it would lie in a folder of another user.
    fn make_folder(&self) -> Option<File> {
        let above = self.folder.ancestors().find_map(|above| above.metadata().ok())?;
        if above.uid() == self.user {
            // Another launcher may make it at the same time.
            let _ = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        }
        self.open_folder()
    }

    /// Returns the time of the line in a trusted record of this boot and this machine, if it is plausible.
    fn read(&self) -> Option<u32> {
        // A pipe is opened without waiting, and refused.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.open_folder()?, &self.name, flags, Mode::empty()).ok()?;
        let file = File::from(file);
        let found = file.metadata().ok()?;
        if !found.is_file() || !self.is_trusted(&found) {
            return None;
        }
        let text = bounded_read::read_all(file, MOST_BYTES).and_then(bounded_read::text).ok()?;
        let LineRecord { version, boot, line_ns, machine } = toml::from_str(&text).ok()?;
        let is_of_here = version == VERSION && boot == self.boot && machine == self.machine;
        (is_of_here && line_probe::is_plausible(line_ns)).then_some(line_ns)
    }

    /// Opens the folder and keeps other launchers from measuring until the folder is closed.
    fn lock_folder(&self) -> Option<File> {
        let folder = self.make_folder()?;
        let until = Instant::now() + LOCK_WAIT;
        loop {
            match folder.try_lock() {
                Err(TryLockError::WouldBlock) if Instant::now() < until => std::thread::sleep(LOCK_RETRY),
                Err(TryLockError::WouldBlock) => return None,
                // Some network file systems have no locks of folders. Launchers that start at once may get
                // different results there.
                Ok(()) | Err(TryLockError::Error(_)) => return Some(folder),
            }
        }
    }

    /// Writes the whole record or none, replacing any other file.
    fn write(&self, folder: &File, line_ns: u32) -> io::Result<()> {
        let (boot, machine) = (self.boot.clone(), self.machine.clone());
        let text = toml::to_string(&LineRecord { version: VERSION, boot, line_ns, machine });
        let text = text.map_err(io::Error::other)?;
        let new = format!("{}.{}", self.name, std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(folder, &new, flags, Mode::RUSR | Mode::WUSR)?);
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| Ok(rustix::fs::renameat(folder, &new, folder, &self.name)?));
        if written.is_err() {
            let _ = rustix::fs::unlinkat(folder, &new, AtFlags::empty());
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use canele_sys::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::machine::tests::server;

    /// A home of a test, removed when dropped.
    struct Home(PathBuf);

    impl Home {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("canele-line-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn file(&self, boot: &str) -> RecordFile {
            RecordFile::new(&self.0.join(".cache"), boot, &server())
        }

        /// Returns a file in which a launcher of this boot wrote 200 ns.
        fn written(&self) -> RecordFile {
            let file = self.file("boot");
            assert_eq!(measured(&file, 200), (200, LineOrigin::Written(file.path())));
            file
        }
    }

    impl Drop for Home {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// Returns the result of a launcher whose measurement would give `ns` nanoseconds.
    fn measured(file: &RecordFile, ns: u32) -> (u32, LineOrigin) {
        let LineTime { ns, origin } = recorded_or_measured(Some(file), || Some(ns)).unwrap();
        (ns, origin)
    }

    /// Checks that a launcher measures 30 ns and writes them over the file, and that the next one reads them.
    fn check_written_over(file: &RecordFile) {
        assert_eq!(measured(file, 30), (30, LineOrigin::Written(file.path())));
        assert_eq!(measured(file, 40), (30, LineOrigin::Read(file.path())));
    }

    #[test]
    fn later_launchers_of_a_boot_read_what_the_first_one_measured() {
        let home = Home::new("first");
        let file = home.written();
        let read = recorded_or_measured(Some(&file), || panic!("it is known")).unwrap();
        assert_eq!(read, LineTime { ns: 200, origin: LineOrigin::Read(file.path()) });
        let modes = [&*file.folder, &*file.path()].map(|path| path.metadata().unwrap().mode() & 0o777);
        assert_eq!(modes, [0o700, 0o600]);
        assert_eq!(fs::read_dir(&file.folder).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn a_record_of_another_boot_machine_or_version_is_written_over() {
        let home = Home::new("other");
        home.written();
        check_written_over(&home.file("next boot"));
        let file = home.file("boot");
        check_written_over(&file);
        let mut other = home.file("boot");
        other.machine.model = "Processor Y".into();
        check_written_over(&other);
        let text = fs::read_to_string(file.path()).unwrap();
        fs::write(file.path(), text.replace("version = 1", "version = 2")).unwrap();
        check_written_over(&other);
    }

    #[test]
    fn a_record_of_a_time_that_no_line_takes_is_written_over() {
        let home = Home::new("implausible");
        let file = home.written();
        let text = fs::read_to_string(file.path()).unwrap();
        for ns in ["0", "12347", "4294967295"] {
            fs::write(file.path(), text.replace("line_ns = 200", &format!("line_ns = {ns}"))).unwrap();
            check_written_over(&file);
        }
    }

    #[test]
    fn a_torn_record_is_none() {
        let home = Home::new("torn");
        let file = home.written();
        let text = fs::read_to_string(file.path()).unwrap();
        for len in 0..text.trim_end().len() {
            fs::write(file.path(), &text[..len]).unwrap();
            assert_eq!(file.read(), None, "{}", &text[..len]);
        }
        check_written_over(&file);
        for torn in [vec![0; text.len()], vec![0xff; 100], vec![b' '; MOST_BYTES as usize + 1]] {
            fs::write(file.path(), torn).unwrap();
            check_written_over(&file);
        }
    }

    #[test]
    fn a_file_that_is_not_the_users_alone_is_replaced() {
        let home = Home::new("foreign");
        let file = home.written();
        for mode in [0o620, 0o602, 0o666] {
            fs::set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
            check_written_over(&file);
        }
        let elsewhere = home.0.join("elsewhere");
        fs::rename(file.path(), &elsewhere).unwrap();
        let text = fs::read(&elsewhere).unwrap();
        symlink(&elsewhere, file.path()).unwrap();
        check_written_over(&file);
        assert_eq!(fs::read(&elsewhere).unwrap(), text, "a link is not followed");
        fs::remove_file(file.path()).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            file.path(),
            rustix::fs::FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        check_written_over(&file);
    }

    #[test]
    fn without_a_folder_of_the_user_alone_each_launcher_measures() {
        let home = Home::new("folder");
        let is_measured = |file: &RecordFile| {
            assert_eq!(measured(file, 30), (30, LineOrigin::Measured));
            assert_eq!(measured(file, 40), (40, LineOrigin::Measured));
        };
        assert_eq!(recorded_or_measured(None, || Some(7)).unwrap().origin, LineOrigin::Measured);
        let mut foreign = home.file("boot");
        foreign.user += 1;
        is_measured(&foreign);
        assert!(!foreign.folder.exists(), "no folder is made in that of another user");
        let file = home.written();
        is_measured(&foreign);
        assert_eq!(measured(&file, 50).0, 200, "the file of another user stays");
        for mode in [0o720, 0o702] {
            fs::set_permissions(&file.folder, Permissions::from_mode(mode)).unwrap();
            is_measured(&file);
        }
        fs::set_permissions(&file.folder, Permissions::from_mode(0o700)).unwrap();
        fs::remove_file(file.path()).unwrap();
        fs::create_dir(file.path()).unwrap();
        is_measured(&file);
        assert_eq!(fs::read_dir(&file.folder).unwrap().count(), 1, "nothing else is left");
        is_measured(&RecordFile::new(Path::new("/proc/self"), "boot", &server()));
        fs::write(home.0.join("plain"), "").unwrap();
        is_measured(&RecordFile::new(&home.0.join("plain"), "boot", &server()));
    }

    #[test]
    fn what_cannot_be_measured_or_written_leaves_no_record() {
        let home = Home::new("none");
        let file = home.file("boot");
        assert_eq!(recorded_or_measured(Some(&file), || None), None);
        assert_eq!(file.read(), None);
        check_written_over(&file);
        let full = File::open("/proc/self").unwrap();
        assert!(file.write(&full, 1).is_err());
    }

    #[test]
    fn launchers_that_start_at_once_measure_once() {
        let home = Home::new("at-once");
        for before in [None, Some("torn"), Some("foreign")] {
            let file = home.file("boot");
            if let Some(before) = before {
                fs::write(file.path(), before).unwrap();
                let mode = if before == "torn" { 0o600 } else { 0o666 };
                fs::set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
            }
            let next = AtomicU32::new(100);
            let measure = || Some(next.fetch_add(1, Ordering::Relaxed));
            let launcher = || recorded_or_measured(Some(&file), measure).unwrap().ns;
            let outcomes: Vec<u32> = std::thread::scope(|scope| {
                let all: Vec<_> = (0..8).map(|_| scope.spawn(launcher)).collect();
                all.into_iter().map(|launcher| launcher.join().unwrap()).collect()
            });
            assert_eq!(outcomes, [100; 8], "{before:?}");
            fs::remove_file(file.path()).unwrap();
        }
    }
}
