//! Attributes: values that the program caches on communicators, datatypes and windows (MPI 5.0, §7.7).
//!
//! [`Keyvals`] owns the keys and what the program wants called when a value is copied or deleted; [`Attributes`] owns the values
//! of one object. A key that was freed lives on until its last value is gone. The program's functions are never called with
//! a lock held, so they may use attributes themselves.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::{Result, fail};

/// A value, which languages see differently (MPI 5.0, §19.3.7).
#[derive(Clone, std::marker::Copy, PartialEq, Eq, Debug)]
pub enum Stored {
    /// What a program in C has set: an address. In Fortran it is the number of the address.
    Address(usize),
    /// What a program in Fortran has set: a number. In C it is the address of the number.
    Integer(isize),
}

/// Called with the number of the object that is duplicated, the key and its value: gives the value that the duplicate has, if
/// it is to have one.
pub type Copy = Arc<dyn Fn(usize, i32, Stored) -> Result<Option<Stored>> + Send + Sync>;
/// Called with the number of the object, the key and the value that goes.
pub type Delete = Arc<dyn Fn(usize, i32, Stored) -> Result<()> + Send + Sync>;

/// What attributes are cached on.
#[derive(Clone, std::marker::Copy, PartialEq, Eq, Debug)]
pub enum ObjectKind {
    /// Communicators.
    Communicator,
    /// Datatypes.
    Datatype,
    /// Windows.
    Window,
}

/// A key: its number, for what it is, and what is called.
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
    /// How many of these there are when the dead ones are next removed: twice those that lived the last time, so that freeing a key takes
    /// constant time however many there are.
    sweep_at: usize,
}

/// As many freed keys are kept at least before the dead ones are removed.
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
    /// Freed, but objects may have values yet.
    Freed(Weak<Keyval>),
}

impl Keyvals {
    /// Without keys; their numbers will be `first` and upwards, none of them twice.
    pub fn new(first: i32) -> Self {
        let table = Table { next: first, keyvals: HashMap::new(), freed: Vec::new(), sweep_at: LEAST_FREED };
        Self { table: Mutex::new(table) }
    }

    /// A new key for objects of a kind.
    ///
    /// # Errors
    /// All numbers have been used.
    pub fn create(&self, kind: ObjectKind, copy: Copy, delete: Delete) -> Result<i32> {
        let mut table = self.table();
        let id = table.next;
        let Some(next) = id.checked_add(1) else { fail!(Keyval, "all {id} keyvals have been used") };
        table.next = next;
        table.keyvals.insert(id, Entry::InUse(Arc::new(Keyval { id, kind, copy, delete })));
        Ok(id)
    }

    /// The key with this number; it may have been freed if an object still has a value of it.
    ///
    /// # Errors
    /// There is none, or it is for objects of another kind.
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

    /// Frees a key; the values that objects have of it stay until they are deleted.
    ///
    /// # Errors
    /// There is none, it is for objects of another kind, or it was freed before.
    pub fn free(&self, kind: ObjectKind, id: i32) -> Result<()> {
        // The key found is not kept: whether it dies must not depend on it.
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

/// Values by their keys, and the keys in the order in which the values were set.
#[derive(Clone, Default, Debug)]
struct Values {
    /// Each with its number in that order.
    by_key: BTreeMap<i32, (u64, Cached)>,
    order: BTreeMap<u64, i32>,
    next: u64,
}

impl Values {
    /// Puts a value behind all others, in the place of that which its key had.
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

    /// The one that was set last.
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
    /// Without values.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a key, if it was set.
    pub fn get(&self, keyval: i32) -> Option<Stored> {
        self.find(keyval).map(|found| found.value)
    }

    /// Sets the value of a key, after the one it had is deleted; `object` is what the program's function is told.
    ///
    /// # Errors
    /// The program's function did not agree to delete it; it stays.
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
    /// There is none, or the program's function did not agree; it stays.
    pub fn delete(&self, object: usize, keyval: i32) -> Result<()> {
        let Some(old) = self.find(keyval) else {
            fail!(Keyval, "keyval {keyval} has no value on this object")
        };
        old.delete(object)?;
        self.values().remove(keyval);
        Ok(())
    }

    /// Gives a duplicate of `object` what the program wants copied, in the order in which it was set.
    ///
    /// # Errors
    /// A function of the program failed; what was copied before is in the duplicate, which is to be freed as any object.
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

    /// Deletes all values, the last one set first, as the object is to be freed.
    ///
    /// # Errors
    /// The program's function did not agree to delete one; it and those set before stay.
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
