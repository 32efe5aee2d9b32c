//! The key that a user may put on all hosts, for remote shells that do not protect their data. Owns its path
//! and the check of its readers.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use canele_secure::{KeyPurpose, Secret};
use canele_sys::bounded_read::open_plain;

/// The least and the greatest length of the file, in bytes.
const LENGTHS: std::ops::RangeInclusive<usize> = 32..=4096;

/// Returns the path of the key: `canele/hosts.key` below `$XDG_CONFIG_HOME`, or `~/.config`.
pub fn path() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = folder("XDG_CONFIG_HOME").or_else(|| folder("HOME").map(|home| home.join(".config")))?;
    Some(config.join("canele/hosts.key"))
}

/// Returns the secret that launcher and agents have in common. Without the file it is empty: then only the
/// remote shell authenticates its other end.
///
/// # Errors
/// Fails if others can read the file, or it is no key.
pub fn secret() -> Result<Secret, String> {
    match path() {
        Some(path) => read(&path).map_err(|error| format!("{}: {error}", path.display())),
        None => Ok(Secret::none()),
    }
}

fn read(path: &Path) -> io::Result<Secret> {
    let file = match open_plain(path) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Secret::none());
        }
        file => file?,
    };
    let found = file.metadata()?;
    if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o077 != 0 {
        return Err(io::Error::other(
            "the key of hosts has to be a file of this user that others cannot read (chmod 600)",
        ));
    }
    let mut bytes = Vec::new();
    file.take(*LENGTHS.end() as u64 + 1).read_to_end(&mut bytes)?;
    if !LENGTHS.contains(&bytes.len()) {
        let (least, most) = LENGTHS.into_inner();
        let text = format!(
            "the key of hosts has to be of {least} to {most} bytes, as `head -c 32 /dev/urandom` writes"
        );
        return Err(io::Error::other(text));
    }
    Ok(Secret::derive(KeyPurpose::ShellAgents, &bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_a_file_of_the_user_alone() {
        let path = std::env::temp_dir().join(format!("canele-hosts-key-{}", std::process::id()));
        let write = |bytes: &[u8], mode| {
            std::fs::write(&path, bytes).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            read(&path)
        };
        assert_eq!(read(&path).unwrap(), Secret::none());
        let key = write(&[7; 32], 0o600).unwrap();
        assert_ne!(key, Secret::none());
        assert_eq!(write(&[7; 32], 0o400).unwrap(), key);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_ne!(write(&[8; 32], 0o600).unwrap(), key);
        for (bytes, mode) in [(&[7; 32][..], 0o640), (&[7; 31], 0o600), (&[7; 5000], 0o600), (&[], 0o600)] {
            assert!(write(bytes, mode).is_err(), "{} {mode:o}", bytes.len());
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        std::fs::remove_file(&path).unwrap();
    }
}
