//! Commands to spawn, and the info keys for them (MPI 5.0, §11.8.4).

use canele_sys::bounded_read::{self, MOST_SETTINGS};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use canele_engine::SpawnProgram;

use crate::errhandler::INITIAL;
use crate::info::Info;
use crate::{Result, fail};

/// A command and the processes to start.
pub struct Command {
    /// The program's name.
    pub name: Vec<u8>,
    /// The arguments of the command, without its name.
    pub arguments: Vec<Vec<u8>>,
    /// Largest number of processes.
    pub most: i32,
    /// The info with further options.
    pub info: Info,
}

impl Command {
    /// Returns the request for the launcher. Unknown keys are ignored.
    ///
    /// # Errors
    /// Fails on an invalid number of processes, name or value. Fails if a file of keys cannot be read, or for
    /// another architecture.
    pub fn program(&self) -> Result<SpawnProgram> {
        if self.name.is_empty() {
            fail!(Argument, "command is an empty string: a program has a name");
        }
        let in_info =
            |key: &str| -> Result<Vec<u8>> { Ok(self.info.get(key)?.map(Vec::from).unwrap_or_default()) };
        let in_file = keys_of_file(&in_info("file")?)?;
        let text = |key: &str| -> Result<Vec<u8>> {
            let told = in_info(key)?;
            let further =
                || in_file.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.clone());
            Ok(if told.is_empty() { further().unwrap_or_default().into_bytes() } else { told })
        };
        check_architecture(&String::from_utf8_lossy(&text("arch")?))?;
        let hosts = String::from_utf8_lossy(&text("host")?).into_owned();
        let command = std::iter::once(&self.name).chain(&self.arguments).cloned().collect();
        Ok(SpawnProgram {
            ranks: self.processes(&String::from_utf8_lossy(&text("soft")?))?,
            command,
            hosts: hosts
                .split(',')
                .map(str::trim)
                .filter(|host| !host.is_empty())
                .map(str::to_owned)
                .collect(),
            directory: text("wdir")?,
            path: text("path")?,
            environment: errhandler(&text("mpi_initial_errhandler")?)?,
        })
    }

    /// Returns the number of processes: the maximum, or the largest number that `soft` allows.
    fn processes(&self, soft: &str) -> Result<u32> {
        let most = match u32::try_from(self.most) {
            Ok(most) if most > 0 => most,
            _ => fail!(Argument, "maxprocs is {}: at least one process is started", self.most),
        };
        if soft.trim().is_empty() {
            return Ok(most);
        }
        match largest(soft, i64::from(most)) {
            Some(Some(number)) => Ok(number as u32),
            Some(None) => fail!(Spawn, "soft is {soft:?}, which allows no number from 1 to {most}"),
            None => {
                fail!(InfoValue, "soft is {soft:?}: it is a list of a, a:b and a:b:step, with commas between")
            }
        }
    }
}

/// Returns the keys of a file with lines `key = value`; lines that begin with `#` are ignored.
fn keys_of_file(name: &[u8]) -> Result<Vec<(String, String)>> {
    if name.is_empty() {
        return Ok(Vec::new());
    }
    let path = Path::new(OsStr::from_bytes(name));
    let read = |file| bounded_read::read_all(file, MOST_SETTINGS);
    let text = match bounded_read::open_plain(path).and_then(read).and_then(bounded_read::text) {
        Ok(text) => text,
        Err(error) => fail!(InfoValue, "file is {}, which cannot be read: {error}", path.display()),
    };
    let mut keys = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let Some((key, value)) = line.split_once('=') else {
            fail!(
                InfoValue,
                "file is {}, whose line {line:?} is not of the form key = value",
                path.display()
            );
        };
        keys.push((key.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(keys)
}

/// Fails for another architecture, since all hosts of a job have the same one.
fn check_architecture(wanted: &str) -> Result<()> {
    let here = std::env::consts::ARCH;
    if !wanted.is_empty() && !wanted.eq_ignore_ascii_case(here) {
        fail!(Spawn, "arch is {wanted:?}: the hosts of this job are {here}");
    }
    Ok(())
}

/// Returns the largest number from 1 to `most` in a list of triplets `first:last:step` (MPI 5.0, §11.8.1).
/// Returns none if the text is no such list.
fn largest(soft: &str, most: i64) -> Option<Option<i64>> {
    let mut found = None;
    for triplet in soft.split(',') {
        let numbers: Option<Vec<i64>> = triplet.split(':').map(|word| word.trim().parse().ok()).collect();
        let (first, last, step) = match numbers?[..] {
            [only] => (only, only, 1),
            [first, last] => (first, last, 1),
            [first, last, step] if step != 0 => (first, last, step),
            _ => return None,
        };
        found = found.max(largest_of(first, last, step, most));
    }
    Some(found)
}

/// Returns the largest number from 1 to `most` among `first`, `first + step`, … up to `last`.
fn largest_of(first: i64, last: i64, step: i64, most: i64) -> Option<i64> {
    let (first, last, step) = (i128::from(first), i128::from(last), i128::from(step));
    let steps = (last - first) / step;
    if (last - first) * step.signum() < 0 {
        return None;
    }
    // The sequence in ascending order.
    let (low, high, step) = match step > 0 {
        true => (first, first + steps * step, step),
        false => (first + steps * step, first, -step),
    };
    let best =
        if high <= i128::from(most) { high } else { low + (i128::from(most) - low).div_euclid(step) * step };
    (low <= i128::from(most) && best >= 1).then_some(best as i64)
}

/// Returns the environment variables for the initial error handler of processes (MPI 5.0, §11.8.4).
fn errhandler(name: &[u8]) -> Result<Vec<(String, String)>> {
    if name.is_empty() {
        return Ok(Vec::new());
    }
    let Some((_, value)) = INITIAL.iter().find(|(known, _)| known.as_bytes() == name) else {
        let name = name.escape_ascii();
        fail!(
            InfoValue,
            "mpi_initial_errhandler is {name}: it is mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return"
        )
    };
    Ok(vec![("CANELE_MPI_ERRHANDLER".to_owned(), (*value).to_owned())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(most: i32, keys: &[(&str, &str)]) -> Command {
        let info = Info::new();
        keys.iter().for_each(|(key, value)| info.set(key, value).unwrap());
        Command { name: b"child".to_vec(), arguments: vec![b"-x".to_vec()], most, info }
    }

    #[test]
    fn keys_of_the_standard_say_where_and_how() {
        let keys = [
            ("host", "a, b"),
            ("wdir", "/w"),
            ("path", "/p:/q"),
            ("arch", std::env::consts::ARCH),
            ("mpi_initial_errhandler", "mpi_errors_return"),
        ];
        let program = command(3, &keys).program().unwrap();
        assert_eq!((program.ranks, program.hosts), (3, vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!((&program.directory[..], &program.path[..]), (&b"/w"[..], &b"/p:/q"[..]));
        assert_eq!(program.command, [b"child".to_vec(), b"-x".to_vec()]);
        assert_eq!(program.environment, [("CANELE_MPI_ERRHANDLER".to_owned(), "return".to_owned())]);
    }

    #[test]
    fn a_file_gives_the_keys_that_the_info_does_not() {
        let file = std::env::temp_dir().join(format!("canele-keys-{}", std::process::id()));
        let name = file.to_str().unwrap();
        let program = || command(3, &[("file", name), ("wdir", "/w")]).program();
        let refused = |class| program().is_err_and(|error| error.class == class);
        assert!(refused(crate::Class::InfoValue));
        std::fs::write(&file, "# where\nhost = a,b\n\nwdir = /x\nsoft=2\n").unwrap();
        let given = program().unwrap();
        assert_eq!((given.ranks, &given.directory[..]), (2, &b"/w"[..]));
        assert_eq!(given.hosts, ["a", "b"]);
        std::fs::write(&file, "host").unwrap();
        assert!(refused(crate::Class::InfoValue));
        let endless = command(3, &[("file", "/dev/zero")]).program().err().unwrap();
        assert!(endless.to_string().contains("/dev/zero"), "{endless}");
        assert!(endless.to_string().contains("no plain file"), "{endless}");
        std::fs::write(&file, "arch = pdp11").unwrap();
        assert!(refused(crate::Class::Spawn));
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn soft_allows_numbers() {
        let number = |most, soft| command(most, &[("soft", soft)]).program().map(|program| program.ranks);
        for (most, soft, ranks) in [
            (10, "2,4", 4),
            (10, "1:9:3", 7),
            (5, "1:9:3", 4),
            (10, "20:2:-4", 8),
            (3, "0:1000000000:1", 3),
            (9, "-3,1", 1),
        ] {
            assert_eq!(number(most, soft).unwrap(), ranks, "{soft}");
        }
        for (most, soft) in [(3, "4:8"), (3, "8:4"), (3, "0"), (3, "x"), (3, "1:2:0"), (3, "1:2:3:4")] {
            assert!(number(most, soft).is_err(), "{soft}");
        }
        assert!(command(0, &[]).program().is_err());
        assert!(command(1, &[("mpi_initial_errhandler", "x")]).program().is_err());
    }
}
