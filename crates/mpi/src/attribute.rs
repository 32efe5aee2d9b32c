//! Attributes: values that the program caches on communicators, datatypes and windows (MPI 5.0, §7.7).
//!
//! [`Keyvals`] owns the keys with the program's copy and delete functions; [`Attributes`] owns the values of
//! one object. A freed key lives until its last value is deleted. No lock is held while a function of the
//! program runs, so it may use attributes itself.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::{Result, fail};

/// A value, which languages see differently (MPI 5.0, §19.3.7).
#[derive(Clone, std::marker::Copy, PartialEq, Eq, Debug)]
pub enum Stored {
    /// An address set by a program in C. Fortran sees the address as a number.
    Address(usize),
    /// A number set by a program in Fortran. C sees the address of the number.
    Integer(isize),
}

/// Copies a value; called with the number of the duplicated object, the key and the value. Returns the value
/// of the duplicate, if it gets one.
pub type Copy = Arc<dyn Fn(usize, i32, Stored) -> Result<Option<Stored>> + Send + Sync>;
/// A function of the program that is called before a value is deleted, with the number of the object, the key
/// and the value.
pub type Delete = Arc<dyn Fn(usize, i32, Stored) -> Result<()> + Send + Sync>;

/// The kind of an object with attributes.
#[derive(Clone, std::marker::Copy, PartialEq, Eq, Debug)]
pub enum ObjectKind {
    /// Communicators.
    Communicator,
    /// Datatypes.
    Datatype,
    /// Windows.
    Window,
}

/// A key: its number, the kind of its objects, and its functions.
pub struct Keyval {
    id: i32,
    kind: ObjectKind,
    copy: Copy,
    delete: Delete,
}

impl fmt::Debug for Keyval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keyval {} of a {:?}", self.id, self.kind)
    }
}

/// The keys of a process.
#[derive(Debug)]
pub struct Keyvals {
    table: Mutex<Table>,
}

#[derive(Debug)]
struct Table {
    next: i32,
    keyvals: HashMap<i32, Entry>,
    /// Keys that were freed while objects had values of them.
    freed: Vec<i32>,
    /// Length of `freed` at which dead keys are removed next. It is twice the number of keys that were alive
    /// at the last removal, so freeing a key takes constant time on average.
    sweep_at: usize,
}

/// Smallest length of `freed` at which dead keys are removed.
const LEAST_FREED: usize = 16;

impl Table {
    fn note_freed(&mut self, id: i32, keyval: Arc<Keyval>) {
        let alive = Arc::downgrade(&keyval);
        drop(keyval);
        if alive.strong_count() == 0 {
            return;
        }
        self.keyvals.insert(id, Entry::Freed(alive));
        self.freed.push(id);
        if self.freed.len() < self.sweep_at {
            return;
        }
        let keyvals = &mut self.keyvals;
        self.freed.retain(|id| {
            let is_alive = matches!(keyvals.get(id), Some(Entry::Freed(keyval)) if keyval.strong_count() > 0);
            if !is_alive {
                keyvals.remove(id);
            }
            is_alive
        });
        self.sweep_at = LEAST_FREED.max(2 * self.freed.len());
    }
}

#[derive(Debug)]
enum Entry {
    InUse(Arc<Keyval>),
    /// Freed; objects may still have values.
    Freed(Weak<Keyval>),
}

impl Keyvals {
    /// Makes a table without keys; their numbers are `first` and upwards, each used once.
    pub fn new(first: i32) -> Self {
        let table = Table { next: first, keyvals: HashMap::new(), freed: Vec::new(), sweep_at: LEAST_FREED };
        Self { table: Mutex::new(table) }
    }

    /// Makes a key for objects of a kind.
    ///
    /// # Errors
    /// Fails if all numbers have been used.
    pub fn create(&self, kind: ObjectKind, copy: Copy, delete: Delete) -> Result<i32> {
        let mut table = self.table();
        let id = table.next;
        let Some(next) = id.checked_add(1) else { fail!(Keyval, "all {id} keyvals have been used") };
        table.next = next;
        table.keyvals.insert(id, Entry::InUse(Arc::new(Keyval { id, kind, copy, delete })));
        Ok(id)
    }

    /// Returns the key with this number, which may be freed if an object still has a value of it.
    ///
    /// # Errors
    /// Fails if there is no such key, or if it is for objects of another kind.
    pub fn find(&self, kind: ObjectKind, id: i32) -> Result<Arc<Keyval>> {
        let found = self.table().keyvals.get(&id).and_then(|entry| match entry {
            Entry::InUse(keyval) => Some(keyval.clone()),
            Entry::Freed(keyval) => keyval.upgrade(),
        });
        match found {
            Some(keyval) if keyval.kind == kind => Ok(keyval),
            Some(keyval) => fail!(Keyval, "keyval {id} is for a {:?}, not for a {kind:?}", keyval.kind),
            None => fail!(Keyval, "keyval {id} does not exist"),
        }
    }

    /// Frees a key; values of objects stay until they are deleted.
    ///
    /// # Errors
    /// Fails if there is no such key, it is for objects of another kind, or it was freed before.
    pub fn free(&self, kind: ObjectKind, id: i32) -> Result<()> {
        // The reference is dropped here, since it would keep the key alive.
        drop(self.find(kind, id)?);
        let mut table = self.table();
        match table.keyvals.remove(&id) {
            Some(Entry::InUse(keyval)) => {
                table.note_freed(id, keyval);
                Ok(())
            }
            other => {
                other.and_then(|entry| table.keyvals.insert(id, entry));
                fail!(Keyval, "keyval {id} was freed before")
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The values of one object.
#[derive(Default, Debug)]
pub struct Attributes {
    values: Mutex<Values>,
}

/// Values by key, and the keys in the order of setting.
#[derive(Clone, Default, Debug)]
struct Values {
    /// Each value, with its number in the order of setting.
    by_key: BTreeMap<i32, (u64, Cached)>,
    order: BTreeMap<u64, i32>,
    next: u64,
}

impl Values {
    /// Adds a value as the last one; it replaces the value of its key.
    fn insert(&mut self, cached: Cached) {
        let key = cached.keyval.id;
        self.remove(key);
        self.order.insert(self.next, key);
        self.by_key.insert(key, (self.next, cached));
        self.next += 1;
    }

    fn remove(&mut self, key: i32) {
        if let Some((number, _)) = self.by_key.remove(&key) {
            self.order.remove(&number);
        }
    }

    fn get(&self, key: i32) -> Option<&Cached> {
        self.by_key.get(&key).map(|(_, cached)| cached)
    }

    fn in_order(&self) -> impl Iterator<Item = &Cached> {
        self.order.values().filter_map(|key| self.get(*key))
    }

    /// Returns the value that was set last.
    fn last(&self) -> Option<&Cached> {
        self.order.values().next_back().and_then(|key| self.get(*key))
    }
}

#[derive(Clone, Debug)]
struct Cached {
    keyval: Arc<Keyval>,
    value: Stored,
}

impl Cached {
    fn delete(&self, object: usize) -> Result<()> {
        (self.keyval.delete)(object, self.keyval.id, self.value)
    }
}

impl Attributes {
    /// Makes an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the value of a key, if it is set.
    pub fn get(&self, keyval: i32) -> Option<Stored> {
        self.find(keyval).map(|found| found.value)
    }

    /// Sets the value of a key, after deleting its old value; the program's function gets `object`.
    ///
    /// # Errors
    /// Fails if the program's function refuses the deletion; the old value stays.
    pub fn set(&self, object: usize, keyval: &Arc<Keyval>, value: Stored) -> Result<()> {
        if let Some(old) = self.find(keyval.id) {
            old.delete(object)?;
        }
        self.values().insert(Cached { keyval: keyval.clone(), value });
        Ok(())
    }

    /// Deletes the value of a key.
    ///
    /// # Errors
    /// Fails if there is no value, or if the program's function refuses; then the value stays.
    pub fn delete(&self, object: usize, keyval: i32) -> Result<()> {
        let Some(old) = self.find(keyval) else {
            fail!(Keyval, "keyval {keyval} has no value on this object")
        };
        old.delete(object)?;
        self.values().remove(keyval);
        Ok(())
    }

    /// Copies values of `object` to a duplicate, in the order of setting, as the program's functions decide.
    ///
    /// # Errors
    /// Fails if a function of the program fails. Values copied before stay in the duplicate, which must be
    /// freed like any object.
    pub fn copy_into(&self, object: usize, duplicate: &Attributes) -> Result<()> {
        let values: Vec<Cached> = self.values().in_order().cloned().collect();
        for Cached { keyval, value } in values {
            if let Some(value) = (keyval.copy)(object, keyval.id, value)? {
                duplicate.values().insert(Cached { keyval, value });
            }
        }
        Ok(())
    }

    /// Moves all values to another object, which has none.
    pub fn move_into(self, other: &Attributes) {
        *other.values() = self.values.into_inner().unwrap_or_else(PoisonError::into_inner);
    }

    /// Deletes all values before the object is freed, the last one set first.
    ///
    /// # Errors
    /// Fails if the program's function refuses a deletion; that value and those set before it stay.
    pub fn clear(&self, object: usize) -> Result<()> {
        loop {
            let Some(last) = self.values().last().cloned() else { return Ok(()) };
            last.delete(object)?;
            self.values().remove(last.keyval.id);
        }
    }

    fn find(&self, keyval: i32) -> Option<Cached> {
        self.values().get(keyval).cloned()
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
