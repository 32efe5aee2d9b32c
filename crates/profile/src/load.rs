//! Selects the profile of this machine: that of a file, or a built-in one. Owns the paths where a file is
//! looked for.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::line_record::{self, LineOrigin, LineTime};
use crate::{HostProfile, MachineIdentity, MeasuredProfile, Profile, ProfileError};

/// The variable that names the file, or [`BUILT_IN`].
pub const VARIABLE: &str = "CANELE_PROFILE";
/// The value of [`VARIABLE`] that disables the file and the measurement.
pub const BUILT_IN: &str = "built-in";
/// The file's path below a folder of settings.
const BELOW: &str = "canele/profile.toml";
/// The folder of settings of all users.
const SYSTEM: &str = "/etc";

/// The origin of a profile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProfileSource {
    /// The file that [`VARIABLE`] names.
    Named(PathBuf),
    /// The file of the user, or that of all users.
    Found(PathBuf),
    /// There is no file.
    BuiltIn,
    /// There is no file, and this time of a cache line selects one of the built-in profiles.
    BuiltInByLine(LineTime),
}

impl fmt::Display for ProfileSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(path) => write!(f, "{} ({VARIABLE})", path.display()),
            Self::Found(path) => write!(f, "{}", path.display()),
            Self::BuiltIn => write!(f, "built in"),
            Self::BuiltInByLine(LineTime { ns, origin }) => {
                write!(f, "built in, by a cache line that takes {ns} ns, ")?;
                match origin {
                    LineOrigin::Measured => write!(f, "measured now"),
                    LineOrigin::Written(path) => write!(f, "measured now and written to {}", path.display()),
                    LineOrigin::Read(path) => {
                        write!(f, "measured since this machine started ({})", path.display())
                    }
                }
            }
        }
    }
}

/// The profile that applies here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadedProfile {
    /// The origin.
    pub source: ProfileSource,
    /// The file's content; none for a built-in profile.
    pub measured: Option<MeasuredProfile>,
    /// The figures.
    pub profile: Profile,
    /// This machine.
    pub here: MachineIdentity,
}

impl LoadedProfile {
    /// Describes in words the differences between this machine and the measured one.
    pub fn differences(&self) -> Vec<String> {
        self.measured.as_ref().map_or_else(Vec::new, |measured| measured.machine.differences(&self.here))
    }
}

/// Reads the profile of this machine. It is in the file that [`VARIABLE`] names, or else in
/// `canele/profile.toml` below `$XDG_CONFIG_HOME` or `~/.config`, or else below `/etc`. Without a file it is
/// a built-in profile. If the caches do not show which one fits, the time of a cache line selects it, which
/// the first launcher after a boot measures.
///
/// # Errors
/// Fails if a file exists, or was named, and cannot be used.
pub fn load() -> Result<LoadedProfile, ProfileError> {
    let variables = |name: &str| std::env::var_os(name);
    load_from(variables, Path::new(SYSTEM), MachineIdentity::here(), line_record::line_time)
}

/// Returns the path of the user's file; none without a home.
pub fn user_path() -> Option<PathBuf> {
    user_path_of(&|name| std::env::var_os(name))
}

fn user_path_of(get: &impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    Some(user_folder(get, "XDG_CONFIG_HOME", ".config")?.join(BELOW))
}

/// Returns the folder that a variable names, or else `in_home` in the user's home; none without a home.
fn user_folder(get: &impl Fn(&str) -> Option<OsString>, variable: &str, in_home: &str) -> Option<PathBuf> {
    let folder = |name| get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder(variable).or_else(|| Some(folder("HOME")?.join(in_home)))
}

fn load_from(
    get: impl Fn(&str) -> Option<OsString>,
    system: &Path,
    here: MachineIdentity,
    line_time: impl FnOnce(Option<&Path>, &MachineIdentity) -> Option<LineTime>,
) -> Result<LoadedProfile, ProfileError> {
    let of_file = |source: ProfileSource, path: &Path, here| {
        let measured = MeasuredProfile::read(path)?;
        Ok(LoadedProfile { source, profile: measured.profile(), measured: Some(measured), here })
    };
    let named = get(VARIABLE).filter(|value| !value.is_empty());
    if let Some(path) = named.as_ref().filter(|value| *value != BUILT_IN).map(PathBuf::from) {
        return of_file(ProfileSource::Named(path.clone()), &path, here);
    }
    let places = [user_path_of(&get), Some(system.join(BELOW))];
    // An existing file that cannot be read is an error, not a reason to look elsewhere. A folder that this
    // user may not enter, such as the home of another user, has no file.
    let is_there = |path: &PathBuf| path.try_exists().unwrap_or(false);
    let found = places.into_iter().flatten().find(|path| named.is_none() && is_there(path));
    match found {
        Some(path) => of_file(ProfileSource::Found(path.clone()), &path, here),
        None => {
            let (mut source, mut profile) = (ProfileSource::BuiltIn, Profile::built_in_for(&here));
            let cache = || user_folder(&get, "XDG_CACHE_HOME", ".cache");
            if named.is_none()
                && here.hides_its_caches()
                && let Some(line) = line_time(cache().as_deref(), &here)
            {
                profile.host = HostProfile::builtin_of_line(line.ns);
                source = ProfileSource::BuiltInByLine(line);
            }
            Ok(LoadedProfile { source, measured: None, profile, here })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::machine::tests::server;

    /// A folder of a test, removed when dropped.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("canele-profile-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        /// Writes a profile with this wake-up time.
        fn profile(&self, path: &str, wakeup_ns: u32) -> PathBuf {
            let host = HostProfile { wakeup_ns, ..HostProfile::OWN_CACHES };
            let measured = MeasuredProfile::new(server(), Profile { host, networks: Vec::new() }, Vec::new());
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, measured.to_text()).unwrap();
            path
        }

        fn load(&self, variables: &[(&str, &Path)]) -> Result<LoadedProfile, ProfileError> {
            let get = |name: &str| {
                variables.iter().find(|(of, _)| *of == name).map(|(_, value)| value.as_os_str().to_owned())
            };
            load_from(get, &self.0.join("etc"), server(), |_, _| panic!("the caches of a server tell all"))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_nearest_place_counts() {
        let folder = Folder::new("places");
        let (home, config) = (folder.0.join("home"), folder.0.join("config"));
        let all = [("HOME", &*home), ("XDG_CONFIG_HOME", &*config)];
        let loaded = folder.load(&all).unwrap();
        assert_eq!((loaded.source, loaded.measured), (ProfileSource::BuiltIn, None));
        assert_eq!(loaded.profile.host, HostProfile::OWN_CACHES);
        let system = folder.profile("etc/canele/profile.toml", 1);
        let loaded = folder.load(&all).unwrap();
        assert_eq!((loaded.source, loaded.profile.host.wakeup_ns), (ProfileSource::Found(system), 1));
        folder.profile("home/.config/canele/profile.toml", 2);
        assert_eq!(folder.load(&all[..1]).unwrap().profile.host.wakeup_ns, 2);
        assert_eq!(
            folder.load(&all).unwrap().profile.host.wakeup_ns,
            1,
            "XDG_CONFIG_HOME stands for ~/.config"
        );
        folder.profile("config/canele/profile.toml", 3);
        assert_eq!(folder.load(&all).unwrap().profile.host.wakeup_ns, 3);
        let named = folder.profile("other.toml", 4);
        let loaded = folder.load(&[all[0], all[1], (VARIABLE, &named)]).unwrap();
        assert_eq!((loaded.source, loaded.profile.host.wakeup_ns), (ProfileSource::Named(named), 4));
        let loaded = folder.load(&[all[0], all[1], (VARIABLE, Path::new(BUILT_IN))]).unwrap();
        assert_eq!(loaded.source, ProfileSource::BuiltIn);
        assert_eq!(
            folder.load(&[all[0], all[1], (VARIABLE, Path::new(""))]).unwrap().profile.host.wakeup_ns,
            3
        );
    }

    #[test]
    fn a_line_is_measured_of_two_processors_without_a_named_profile() {
        let load = |name: &'static str, line_ns: Option<u32>| {
            let get = |of: &str| match of {
                VARIABLE => Some(name.into()),
                "HOME" => Some("/home/a".into()),
                _ => None,
            };
            let (mut here, mut is_measured) = (server(), false);
            here.processors = 2;
            let line_time = |folder: Option<&Path>, _: &MachineIdentity| {
                is_measured = true;
                assert_eq!(folder, Some(Path::new("/home/a/.cache")));
                Some(LineTime { ns: line_ns?, origin: LineOrigin::Measured })
            };
            let loaded = load_from(get, Path::new("/no/such/folder"), here, line_time).unwrap();
            assert_eq!(loaded.source == ProfileSource::BuiltIn, line_ns.is_none() || !is_measured);
            (loaded.profile.host, is_measured)
        };
        assert_eq!(load("", Some(200)), (HostProfile::TWO_FAR_PROCESSORS, true));
        assert_eq!(load("", Some(30)), (HostProfile::SHARED_CACHES, true));
        assert_eq!(load("", None), (HostProfile::SHARED_CACHES, true), "they were busy");
        assert_eq!(load(BUILT_IN, Some(200)), (HostProfile::SHARED_CACHES, false));
    }

    #[test]
    fn a_source_says_where_the_time_of_a_line_comes_from() {
        let path = || PathBuf::from("/home/a/.cache/canele/line.h.toml");
        let words = |origin| ProfileSource::BuiltInByLine(LineTime { ns: 230, origin }).to_string();
        let built_in = "built in, by a cache line that takes 230 ns, measured";
        assert_eq!(words(LineOrigin::Measured), format!("{built_in} now"));
        assert_eq!(
            words(LineOrigin::Written(path())),
            format!("{built_in} now and written to /home/a/.cache/canele/line.h.toml")
        );
        assert_eq!(
            words(LineOrigin::Read(path())),
            format!("{built_in} since this machine started (/home/a/.cache/canele/line.h.toml)")
        );
    }

    #[test]
    fn a_named_file_that_is_not_there_or_a_broken_one_is_an_error() {
        let folder = Folder::new("broken");
        let missing = folder.0.join("missing.toml");
        let error = folder.load(&[(VARIABLE, &missing)]).unwrap_err().to_string();
        assert!(error.contains("missing.toml: No such file"), "{error}");
        let path = folder.profile("config/canele/profile.toml", 1);
        fs::write(&path, "version = 1\nhost = 3\n").unwrap();
        let error = folder.load(&[("XDG_CONFIG_HOME", &folder.0.join("config"))]).unwrap_err().to_string();
        assert!(error.contains("profile.toml, line 2: host: "), "{error}");
    }

    #[test]
    fn differences_are_those_of_the_measured_machine() {
        let folder = Folder::new("differences");
        let path = folder.profile("p.toml", 1);
        let mut loaded = folder.load(&[(VARIABLE, &path)]).unwrap();
        assert!(loaded.differences().is_empty());
        loaded.here.processors = 2;
        assert_eq!(loaded.differences(), ["processors: measured on 16, this machine has 2"]);
        loaded.measured = None;
        assert!(loaded.differences().is_empty(), "a built-in profile describes no machine");
    }
}
