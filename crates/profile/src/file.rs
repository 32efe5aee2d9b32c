//! The file of a profile: TOML, with a version and the machine that was measured.
//!
//! Owns the file's form and the text of errors in it. Never decides which file is read.

use std::ops::Range;
use std::path::Path;

use canele_sys::bounded_read;
use serde::{Deserialize, Serialize};

use crate::ranges::{self, WrongFigure};
use crate::{HostProfile, MachineIdentity, NetworkProfile, Profile, ProfileError};

/// The version of the file's form. A reader refuses every other one.
pub const FILE_VERSION: u32 = 1;

/// The most bytes of a file.
const MOST_BYTES: u64 = 64 << 10;

/// The first lines of each file.
const HEAD: &str = "\
# What this machine costs. Written by `canele tune`; docs/profile.md says what each figure means.
# Times in nanoseconds, rates in bytes per microsecond (1000 are 1 GB/s), lengths in bytes.
";

/// A measured profile, with the machine that it describes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredProfile {
    version: u32,
    /// Keys whose figures are those of the built-in profile, because they could not be measured.
    #[serde(default)]
    pub not_measured: Vec<String>,
    /// The machine.
    pub machine: MachineIdentity,
    /// The costs of its processors and its memory.
    pub host: HostProfile,
    /// The costs of each network.
    #[serde(default)]
    pub networks: Vec<NetworkProfile>,
}

/// The part of the file that all versions have.
#[derive(Deserialize)]
struct VersionOnly {
    version: i64,
}

impl MeasuredProfile {
    /// Returns a profile of a machine, in which the keys `not_measured` have built-in figures.
    pub fn new(machine: MachineIdentity, profile: Profile, not_measured: Vec<String>) -> Self {
        let Profile { host, networks } = profile;
        Self { version: FILE_VERSION, not_measured, machine, host, networks }
    }

    /// Returns the figures alone.
    pub fn profile(&self) -> Profile {
        Profile { host: self.host, networks: self.networks.clone() }
    }

    /// Returns the text of the file.
    pub fn to_text(&self) -> String {
        let text = toml::to_string(self).expect("a profile has no part that TOML cannot express");
        format!("{HEAD}\n{text}")
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, has another version, or a line of it is wrong.
    pub fn read(path: &Path) -> Result<Self, ProfileError> {
        let text = bounded_read::open_plain(path)
            .and_then(|file| bounded_read::read_all(file, MOST_BYTES))
            .and_then(bounded_read::text);
        let text = text.map_err(|error| ProfileError::Unreadable {
            path: path.into(),
            why: error.to_string(),
            remedy: "name another one with CANELE_PROFILE, or write one with `canele tune`",
        })?;
        Self::parse(path, &text)
    }

    /// Reads the text of the file `path`.
    ///
    /// # Errors
    /// Fails as [`read`](Self::read) does.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ProfileError> {
        let wrong = |error: toml::de::Error| wrong_line(path, text, &error);
        let VersionOnly { version } = toml::from_str(text).map_err(wrong)?;
        if version != i64::from(FILE_VERSION) {
            return Err(ProfileError::Version { path: path.into(), found: version });
        }
        let measured: Self = toml::from_str(text).map_err(wrong)?;
        match ranges::first_wrong(&measured.profile()) {
            None => Ok(measured),
            Some(WrongFigure { key, what }) => {
                let line = line_of_key(text, &key).unwrap_or(1);
                Err(ProfileError::Wrong { path: path.into(), line, what: format!("{key}: {what}") })
            }
        }
    }
}

/// Converts an error of the parser into one that names the line and the key.
fn wrong_line(path: &Path, text: &str, error: &toml::de::Error) -> ProfileError {
    let Range { start, .. } = error.span().unwrap_or(0..0);
    let before = text.get(..start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let words = text.lines().nth(line - 1).unwrap_or_default();
    let key = words
        .split_once('=')
        .map(|(key, _)| key.trim())
        .filter(|key| !key.is_empty() && !key.starts_with('#'));
    let message = error.message().lines().collect::<Vec<_>>().join(" ");
    let what = key.map_or_else(|| message.clone(), |key| format!("{key}: {message}"));
    ProfileError::Wrong { path: path.into(), line, what }
}

/// Finds the line, from 1, of a key such as `host.ring.near` in a file of tables.
fn line_of_key(text: &str, key: &str) -> Option<usize> {
    let mut table = "";
    for (line, words) in (1..).zip(text.lines()) {
        let words = words.trim();
        if let Some(name) = words.strip_prefix('[') {
            table = name.trim_matches(['[', ']']);
        }
        let Some((name, _)) = words.split_once('=') else { continue };
        let name = name.trim();
        if key.strip_suffix(name).and_then(|rest| rest.strip_suffix('.')) == Some(table) {
            return Some(line);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::tests::server;

    fn measured() -> MeasuredProfile {
        let network = |name: &str| NetworkProfile {
            name: name.into(),
            latency_ns: 4600,
            packet_ns: 540,
            bytes_per_us: 4300,
        };
        let profile = Profile {
            host: HostProfile::OWN_CACHES,
            networks: vec![network("tcp eth0"), network("ofi \"x\"")],
        };
        MeasuredProfile::new(server(), profile, vec!["host.line_ns.socket".into()])
    }

    fn parse(text: &str) -> Result<MeasuredProfile, ProfileError> {
        MeasuredProfile::parse(Path::new("p.toml"), text)
    }

    /// Returns the error of the file in which `from` is replaced by `to`.
    fn refused(from: &str, to: &str) -> String {
        let text = measured().to_text();
        assert!(text.contains(from), "{from}: {text}");
        parse(&text.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn what_is_written_is_read_again() {
        assert_eq!(parse(&measured().to_text()), Ok(measured()));
        let host = HostProfile { single_copy: None, ..HostProfile::SHARED_CACHES };
        let refused = Profile { host, networks: Vec::new() };
        let refused = MeasuredProfile::new(server(), refused, Vec::new());
        assert_eq!(parse(&refused.to_text()), Ok(refused));
    }

    #[test]
    fn another_version_is_refused_in_words_whatever_else_it_has() {
        let text = "version = 7\nfuture = [1]\n";
        let error = parse(text).unwrap_err().to_string();
        assert_eq!(
            error,
            "the profile p.toml has version 7, and this canele reads version 1: measure again with `canele tune`"
        );
        assert!(parse("").unwrap_err().to_string().contains("missing field `version`"));
    }

    #[test]
    fn errors_name_file_line_key_and_remedy() {
        let text = measured().to_text();
        let line = |words: &str| text.lines().position(|line| line.starts_with(words)).unwrap() + 1;
        for (from, to, at, parts) in [
            ("wakeup_ns = 5000", "wakeup_ns = \"5 ms\"", line("wakeup_ns"), &["wakeup_ns: ", "string"][..]),
            ("wakeup_ns = 5000", "wakeup = 5000", line("wakeup_ns"), &["unknown field `wakeup`"]),
            ("far = 12800", "far = 0", line("far = 12800"), &["host.ring.far: 0 is not a number from 1 to"]),
            ("far = 12800", "far = -1", line("far = 12800"), &["far: "]),
            ("far = 12800", "far = ", line("far = 12800"), &["far"]),
            ("latency_ns = 4600", "latency_ns = 0", line("latency_ns"), &["networks.latency_ns: 0 is not"]),
        ] {
            let error = refused(from, to);
            assert!(error.starts_with(&format!("the profile p.toml, line {at}: ")), "{to}: {error}");
            assert!(error.ends_with(": correct it, or measure again with `canele tune`"), "{to}: {error}");
            assert!(parts.iter().all(|part| error.contains(part)), "{to}: {error}");
            assert!(!error.contains('\n'), "{to}: {error}");
        }
        assert!(refused("system_call_ns = 100\n", "").contains("missing field `system_call_ns`"));
    }

    #[test]
    fn files_that_are_none_or_too_long_are_refused() {
        let error = |path: &str| MeasuredProfile::read(Path::new(path)).unwrap_err().to_string();
        assert!(
            error("/dev/zero").contains("/dev/zero: it is no plain file: name another one"),
            "{}",
            error("/dev/zero")
        );
        assert!(error("/no/such").contains("/no/such: No such file"), "{}", error("/no/such"));
        let path = std::env::temp_dir().join(format!("canele-profile-long-{}", std::process::id()));
        std::fs::write(&path, vec![b'#'; 65 << 10]).unwrap();
        let long = error(path.to_str().unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(long.contains("longer than the limit of 64 KiB"), "{long}");
    }
}
