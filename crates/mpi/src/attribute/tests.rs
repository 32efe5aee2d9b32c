//! Arguments, order and failures of the program's callback functions.

use super::*;
use crate::{Class, Error};

type Calls = Arc<Mutex<Vec<(&'static str, usize, i32, usize)>>>;

/// Makes a key: copied values grow by one, odd values are not copied, and values from 90 on fail.
fn keyval(keyvals: &Keyvals, calls: &Calls) -> Arc<Keyval> {
    let (copies, deletes) = (calls.clone(), calls.clone());
    let fails =
        |value: usize| if value >= 90 { Err(Error::given(value as i32, "the function")) } else { Ok(()) };
    let copy = move |object, keyval, value: Stored| {
        let Stored::Address(value) = value else { panic!("{value:?}") };
        copies.lock().unwrap().push(("copy", object, keyval, value));
        fails(value)?;
        Ok((value % 2 == 0).then_some(address(value + 1)))
    };
    let delete = move |object, keyval, value: Stored| {
        let Stored::Address(value) = value else { panic!("{value:?}") };
        deletes.lock().unwrap().push(("delete", object, keyval, value));
        fails(value)
    };
    let id = keyvals.create(ObjectKind::Communicator, Arc::new(copy), Arc::new(delete)).unwrap();
    keyvals.find(ObjectKind::Communicator, id).unwrap()
}

/// Makes a value like that of a program in C.
fn address(value: usize) -> Stored {
    Stored::Address(value)
}

/// Returns the number stored as the value of a key.
fn got(attributes: &Attributes, keyval: i32) -> Option<usize> {
    attributes.get(keyval).map(|value| match value {
        Stored::Address(value) => value,
        Stored::Integer(value) => panic!("{value} was not set"),
    })
}

fn taken(calls: &Calls) -> Vec<(&'static str, usize, i32, usize)> {
    std::mem::take(&mut calls.lock().unwrap())
}

#[test]
fn values_are_deleted_when_replaced_and_in_reverse_order_at_last() {
    let (keyvals, calls) = (Keyvals::new(700), Calls::default());
    let keys: Vec<_> = (0..3).map(|_| keyval(&keyvals, &calls)).collect();
    let attributes = Attributes::new();
    for (key, value) in [(0, 10), (1, 11), (2, 12), (1, 13)] {
        attributes.set(5, &keys[key], address(value)).unwrap();
    }
    assert_eq!(taken(&calls), [("delete", 5, 701, 11)]);
    assert_eq!(
        (got(&attributes, 701), got(&attributes, 702), got(&attributes, 999)),
        (Some(13), Some(12), None)
    );
    attributes.delete(5, 702).unwrap();
    assert_eq!(attributes.delete(5, 702).unwrap_err().class, Class::Keyval);
    attributes.clear(5).unwrap();
    assert_eq!(taken(&calls), [("delete", 5, 702, 12), ("delete", 5, 701, 13), ("delete", 5, 700, 10)]);
    assert_eq!(got(&attributes, 700), None);
}

#[test]
fn duplicates_have_what_the_program_copies() {
    let (keyvals, calls) = (Keyvals::new(1), Calls::default());
    let keys: Vec<_> = (0..4).map(|_| keyval(&keyvals, &calls)).collect();
    let (original, duplicate) = (Attributes::new(), Attributes::new());
    for (key, value) in [(2, 20), (0, 21), (1, 22)] {
        original.set(5, &keys[key], address(value)).unwrap();
    }
    original.copy_into(5, &duplicate).unwrap();
    assert_eq!(taken(&calls), [("copy", 5, 3, 20), ("copy", 5, 1, 21), ("copy", 5, 2, 22)]);
    assert_eq!([3, 1, 2].map(|id| got(&duplicate, id)), [Some(21), None, Some(23)]);

    // One copy fails: the values copied before it can be deleted.
    let part = Attributes::new();
    original.set(5, &keys[3], address(95)).unwrap();
    assert_eq!(original.copy_into(5, &part).unwrap_err().given, Some(95));
    assert_eq!([3, 1, 2, 4].map(|id| got(&part, id)), [Some(21), None, Some(23), None]);
}

#[test]
fn what_the_program_does_not_agree_to_delete_stays() {
    let (keyvals, calls) = (Keyvals::new(1), Calls::default());
    let keys: Vec<_> = (0..3).map(|_| keyval(&keyvals, &calls)).collect();
    let attributes = Attributes::new();
    for (key, value) in [(0, 1), (1, 90), (2, 3)] {
        attributes.set(5, &keys[key], address(value)).unwrap();
    }
    assert_eq!(attributes.set(5, &keys[1], address(4)).unwrap_err().given, Some(90));
    assert_eq!(attributes.delete(5, 2).unwrap_err().given, Some(90));
    assert_eq!(attributes.clear(5).unwrap_err().given, Some(90));
    assert_eq!([1, 2, 3].map(|id| got(&attributes, id)), [Some(1), Some(90), None]);
}

#[test]
fn a_freed_key_lives_until_its_last_value_is_gone() {
    let (keyvals, calls) = (Keyvals::new(1), Calls::default());
    let key = keyval(&keyvals, &calls);
    let attributes = Attributes::new();
    attributes.set(5, &key, address(2)).unwrap();
    drop(key);
    keyvals.free(ObjectKind::Communicator, 1).unwrap();
    assert_eq!(keyvals.free(ObjectKind::Communicator, 1).unwrap_err().class, Class::Keyval);
    assert!(keyvals.find(ObjectKind::Communicator, 1).is_ok());
    let duplicate = Attributes::new();
    attributes.copy_into(5, &duplicate).unwrap();
    attributes.delete(5, 1).unwrap();
    assert!(keyvals.find(ObjectKind::Communicator, 1).is_ok());
    duplicate.clear(6).unwrap();
    assert_eq!(keyvals.find(ObjectKind::Communicator, 1).unwrap_err().class, Class::Keyval);
    assert_eq!(taken(&calls).len(), 3);
    assert_eq!(keyval(&keyvals, &calls).id, 2, "numbers are not used twice");
}

#[test]
fn keys_are_for_objects_of_their_kind() {
    let (keyvals, calls) = (Keyvals::new(1), Calls::default());
    keyval(&keyvals, &calls);
    for kind in [ObjectKind::Datatype, ObjectKind::Window] {
        assert_eq!(keyvals.find(kind, 1).unwrap_err().class, Class::Keyval);
        assert_eq!(keyvals.free(kind, 1).unwrap_err().class, Class::Keyval);
    }
    let full = Keyvals::new(i32::MAX);
    let create = || full.create(ObjectKind::Window, Arc::new(|_, _, _| Ok(None)), Arc::new(|_, _, _| Ok(())));
    assert_eq!(create().unwrap_err().class, Class::Keyval);
}

#[test]
fn functions_of_the_program_may_use_the_attributes() {
    let keyvals = Keyvals::new(1);
    let attributes = Arc::new(Attributes::new());
    let seen = attributes.clone();
    let delete = move |_, keyval, value| {
        assert_eq!(seen.get(keyval), Some(value), "a value is there until the program has agreed");
        Ok(())
    };
    let id = keyvals.create(ObjectKind::Window, Arc::new(|_, _, _| Ok(None)), Arc::new(delete)).unwrap();
    attributes.set(5, &keyvals.find(ObjectKind::Window, id).unwrap(), address(9)).unwrap();
    attributes.clear(5).unwrap();
    assert_eq!(got(&attributes, id), None);
}

#[test]
fn freed_keys_do_not_pile_up_and_are_not_looked_at_each_time() {
    let (keyvals, calls) = (Keyvals::new(0), Calls::default());
    let attributes = Attributes::new();
    let keys: Vec<_> = (0..1000).map(|_| keyval(&keyvals, &calls)).collect();
    for key in &keys {
        attributes.set(1, key, address(2)).unwrap();
    }
    let ids: Vec<i32> = keys.iter().map(|key| key.id).collect();
    drop(keys);
    for id in &ids {
        keyvals.free(ObjectKind::Communicator, *id).unwrap();
        assert!(keyvals.free(ObjectKind::Communicator, *id).is_err(), "it was freed before");
    }
    // All are alive, so the table checked them each time their number had doubled.
    let table = keyvals.table();
    assert_eq!((table.freed.len(), table.sweep_at), (1000, 1024));
    drop(table);
    attributes.clear(1).unwrap();
    for _ in 0..40 {
        let key = keyval(&keyvals, &calls);
        attributes.set(1, &key, address(2)).unwrap();
        keyvals.free(ObjectKind::Communicator, key.id).unwrap();
    }
    assert!(keyvals.table().freed.len() <= 40, "the dead ones are gone");
    // A key without a value at any object is removed at once.
    let id = keyval(&keyvals, &calls).id;
    keyvals.free(ObjectKind::Communicator, id).unwrap();
    assert!(!keyvals.table().keyvals.contains_key(&id));
}
