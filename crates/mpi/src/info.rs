//! Info objects: ordered pairs of a key and a value, both bytes of the program.
//!
//! An info owns its pairs and enforces the limits of the standard. It does not interpret keys: each call
//! looks for the keys that it knows.

mod pairs;

use std::sync::{Mutex, MutexGuard, PoisonError};

use pairs::InfoPairs;

use crate::{Result, fail};

/// Length limits of keys and values, including the terminating zero in C (MPI_MAX_INFO_KEY,
/// MPI_MAX_INFO_VAL).
const MAX_KEY: usize = 256;
const MAX_VALUE: usize = 1024;

/// The key for the alignment in bytes of memory that the library allocates.
pub(crate) const ALIGNMENT: &str = "mpi_minimum_memory_alignment";

/// Pairs of a key and a value, in the order in which the keys were set.
#[derive(Default, Debug)]
pub struct Info {
    pairs: Mutex<InfoPairs>,
}

impl Info {
    /// Makes an info without pairs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// Fails if the key is empty or too long, or the value is too long.
    pub fn set(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        let (key, value) = (checked(key.as_ref())?, value.as_ref());
        if value.len() >= MAX_VALUE {
            let (key, most) = (key.escape_ascii(), MAX_VALUE - 1);
            fail!(InfoValue, "the value of key {key} has {} bytes; at most {most} are allowed", value.len());
        }
        self.pairs().set(key, value);
        Ok(())
    }

    /// Returns the value of a key, if it is set.
    ///
    /// # Errors
    /// Fails if the key is empty or too long.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Box<[u8]>>> {
        let key = checked(key.as_ref())?;
        Ok(self.pairs().get(key).map(Box::from))
    }

    /// Removes a key.
    ///
    /// # Errors
    /// Fails if the key is not set, is empty or is too long.
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        let key = checked(key.as_ref())?;
        if !self.pairs().remove(key) {
            fail!(InfoNoKey, "key {} is not in the info", key.escape_ascii());
        }
        Ok(())
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.pairs().len()
    }

    /// Returns true if the info has no pairs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the key at a position.
    ///
    /// # Errors
    /// Fails if there are not that many keys.
    pub fn nth_key(&self, n: i32) -> Result<Box<[u8]>> {
        let mut pairs = self.pairs();
        let key = usize::try_from(n).ok().and_then(|n| pairs.nth_key(n).map(Box::from));
        let Some(key) = key else {
            fail!(Argument, "n is {n}, but the info has {} keys, counted from 0", pairs.len());
        };
        Ok(key)
    }

    /// Sets all pairs of another info; other keys keep their values.
    pub fn update(&self, other: &Info) {
        let new = other.pairs().clone();
        let mut pairs = self.pairs();
        for (key, value) in new.iter() {
            pairs.set(key, value);
        }
    }

    /// Returns a copy with the same pairs in the same order.
    pub fn duplicate(&self) -> Self {
        Self { pairs: Mutex::new(self.pairs().clone()) }
    }

    /// Returns the alignment in bytes of memory that the library allocates; 0 if there is none.
    pub fn alignment(&self) -> usize {
        let value = self.get(ALIGNMENT).ok().flatten();
        let number = value.and_then(|value| std::str::from_utf8(&value).ok()?.parse().ok());
        number.filter(|number: &usize| number.is_power_of_two()).unwrap_or(0)
    }

    fn pairs(&self) -> MutexGuard<'_, InfoPairs> {
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn checked(key: &[u8]) -> Result<&[u8]> {
    match key.len() {
        0 => fail!(InfoKey, "the key is empty"),
        MAX_KEY.. => fail!(InfoKey, "the key has {} bytes; at most {} are allowed", key.len(), MAX_KEY - 1),
        _ => Ok(key),
    }
}

/// The start parameters of the program, for MPI_INFO_ENV; unknown ones are left out. It has no thread
/// level, since no level is requested before MPI is initialised.
#[derive(Clone, Default, Debug)]
pub struct Environment<'a> {
    /// The program's name.
    pub command: Option<&'a [u8]>,
    /// The program's arguments.
    pub arguments: &'a [&'a [u8]],
    /// The requested number of processes.
    pub max_procs: Option<usize>,
    /// The name of the host.
    pub host: Option<&'a [u8]>,
    /// The name of the architecture.
    pub arch: Option<&'a [u8]>,
    /// The working directory.
    pub wdir: Option<&'a [u8]>,
    /// The requested kinds of memory.
    pub memory_alloc_kinds: Option<&'a [u8]>,
    /// The name of the initial error handler of communicators.
    pub initial_errhandler: Option<&'a [u8]>,
}

impl Environment<'_> {
    /// Returns the parameters as an info. A value that is too long is omitted, since a part of it would be
    /// another value.
    pub fn info(&self) -> Info {
        let info = Info::new();
        let number = self.max_procs.map(|n| n.to_string());
        let number = number.as_deref().map(str::as_bytes);
        let arguments = (!self.arguments.is_empty()).then(|| self.arguments.join(&b' '));
        let pairs = [
            ("command", self.command),
            ("argv", arguments.as_deref()),
            ("maxprocs", number),
            ("soft", number),
            ("host", self.host),
            ("arch", self.arch),
            ("wdir", self.wdir),
            ("mpi_memory_alloc_kinds", self.memory_alloc_kinds),
            ("mpi_initial_errhandler", self.initial_errhandler),
        ];
        for (key, value) in pairs {
            // The keys are short, so only a value can be too long.
            let _ = value.map(|value| info.set(key, value));
        }
        info
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Class;

    #[test]
    fn keys_keep_their_order_and_their_last_value() {
        let info = Info::new();
        for (key, value) in [("b", "1"), ("a", "2"), ("c", ""), ("b", "4")] {
            info.set(key, value).unwrap();
        }
        let copy = info.duplicate();
        info.delete("a").unwrap();
        assert_eq!(info.delete("a").unwrap_err().class, Class::InfoNoKey);
        let keys = |info: &Info| (0..info.len() as i32).map(|n| info.nth_key(n).unwrap()).collect::<Vec<_>>();
        assert_eq!(keys(&info), [b"b".as_slice().into(), b"c".as_slice().into()]);
        assert_eq!(keys(&copy), [b"b", b"a", b"c"].map(|key| Box::from(key.as_slice())));
        assert_eq!(info.get("b").unwrap().as_deref(), Some(b"4".as_slice()));
        assert_eq!(info.get("c").unwrap().as_deref(), Some(b"".as_slice()));
        assert_eq!((info.get("a").unwrap(), copy.len()), (None, 3));
        for n in [-1, 2] {
            assert_eq!(info.nth_key(n).unwrap_err().class, Class::Argument);
        }
    }

    #[test]
    fn lengths_are_those_of_the_standard() {
        let info = Info::new();
        info.set([b'k'; 255], [b'v'; 1023]).unwrap();
        assert_eq!(info.set([b'k'; 256], "").unwrap_err().class, Class::InfoKey);
        assert_eq!(info.set("", "").unwrap_err().class, Class::InfoKey);
        assert_eq!(info.get([b'k'; 256]).unwrap_err().class, Class::InfoKey);
        assert_eq!(info.set("k", [b'v'; 1024]).unwrap_err().class, Class::InfoValue);
        assert_eq!(info.len(), 1);
    }

    #[test]
    fn the_environment_says_what_is_known() {
        let arguments: [&[u8]; 2] = [b"-n", b"3"];
        let (wdir, command): (&[u8], &[u8]) = (&[b'/'; 2000], b"laplace");
        let env = Environment {
            command: Some(command),
            arguments: &arguments,
            wdir: Some(wdir),
            ..Default::default()
        };
        let info = Environment { max_procs: Some(4), ..env }.info();
        let text = |key| info.get(key).unwrap().map(|value| String::from_utf8(value.into_vec()).unwrap());
        assert_eq!(text("command").as_deref(), Some("laplace"));
        assert_eq!(text("argv").as_deref(), Some("-n 3"));
        assert_eq!(text("maxprocs").as_deref(), Some("4"));
        assert_eq!((text("wdir"), text("host")), (None, None));
    }
}
