use std::sync::OnceLock;

use super::*;
use crate::Plain;

/// Returns the pool that all tests share, like the one of a process.
fn pool() -> Arc<Pool> {
    static POOL: OnceLock<Arc<Pool>> = OnceLock::new();
    let start = || Pool::start(Arc::new(canele_engine::Engine::start().unwrap())).unwrap();
    let pool = POOL.get_or_init(start).clone();
    assert_eq!(pool.limit(), 16 << 10);
    pool
}

fn travel(message: Message, pool: &Arc<Pool>) -> (usize, Message) {
    let sealed = message.seal(pool).unwrap();
    let mut store = Store::new();
    let sent = sealed.bytes().or(sealed.description()).unwrap();
    store.push(sent);
    let bytes = sent.len();
    let Data::Leased(lease, _) = &sealed.message.data else {
        if bytes == CELL {
            return (bytes, Message::of_cell(Rank(3), store));
        }
        let Some(Arrived::Whole(message)) = Arrived::read(Rank(3), store) else { panic!("no message") };
        return (bytes, message);
    };
    let far = lease.region().far();
    let Some(Arrived::Described(region, described)) = Arrived::read(Rank(3), store) else {
        panic!("no region")
    };
    assert_eq!(region, lease.region().id());
    let engine = canele_engine::Engine::start().unwrap();
    sealed.posted(&engine, Rank(0)).unwrap();
    (bytes, described.open(far).unwrap())
}

fn packed<T: Plain>(items: &[T]) -> Message {
    let mut message = Message::new();
    message.pack(items);
    message
}

#[test]
fn every_length_of_bytes_travels_and_48_fill_a_cell() {
    let pool = pool();
    for len in (0..600).chain([16_000, 16_378, 16_379, 16_380, 16_383, 16_384, 16_385, 100_000]) {
        let bytes: Vec<u8> = (0..len).map(|n| (n * 7) as u8).collect();
        let (travelled, message) = travel(packed(&bytes), &pool);
        assert_eq!(message.bytes(), bytes, "{len}");
        assert_eq!(message.sender(), Some(Rank(3)));
        match len {
            48 => assert_eq!(travelled, 48),
            47 => assert_eq!(travelled, 49, "only bare messages have the length of a cell"),
            0..=16_378 => assert_eq!(travelled, len as usize + 1),
            _ => assert_eq!(travelled, DESCRIPTION),
        }
    }
}

#[test]
fn types_travel_too() {
    let pool = pool();
    for count in [1, 5, 6, 7, 100, 4000] {
        let numbers: Vec<f64> = (0..count).map(f64::from).collect();
        let mut message = packed(&numbers);
        message.pack_one(7u16);
        let (_, mut message) = travel(message, &pool);
        assert!(message.unpack_one::<u64>().is_err());
        let mut back = vec![0f64; numbers.len()];
        message.unpack(&mut back).unwrap();
        assert_eq!(back, numbers);
        assert!(message.unpack_one::<i16>().is_err());
        assert_eq!(message.unpack_one::<u16>().unwrap(), 7);
        assert!(
            matches!(message.unpack_one::<u16>(), Err(Error::Unpack { there, .. }) if there == "0 bytes more")
        );
    }
    let mut six = travel(packed(&[1.0f64; 6]), &pool).1;
    assert_eq!(six.unpack_one::<u64>().unwrap(), 1.0f64.to_bits(), "a bare message has no types");
}

#[test]
fn a_message_of_very_many_runs_travels() {
    let pool = pool();
    let mut message = Message::new();
    for n in 0..1000u32 {
        message.pack_one(n);
        message.pack_one(n as u8);
    }
    let (_, mut message) = travel(message, &pool);
    for n in 0..1000u32 {
        assert_eq!(message.unpack_one::<u32>().unwrap(), n);
        assert_eq!(message.unpack_one::<u8>().unwrap(), n as u8);
    }
}

#[test]
fn a_message_that_could_not_be_posted_is_as_before() {
    let pool = pool();
    for len in [3, 47, 48, 100, 20_000] {
        let items: Vec<u32> = (0..len).collect();
        let sealed = packed(&items).seal(&pool).unwrap();
        let mut message = sealed.open();
        message.pack_one(1u32);
        let mut back = vec![0u32; items.len()];
        message.unpack(&mut back).unwrap();
        assert_eq!((back, message.unpack_one::<u32>().unwrap()), (items, 1));
    }
}

#[test]
fn what_cannot_be_a_message_is_refused() {
    for bytes in [&[][..], &[1], &[9, 9, 5], &[0, 0, LONG], &[IN_REGION], &[0; 49][..48]] {
        let mut store = Store::new();
        store.push(bytes);
        let message = Arrived::read(Rank(0), store);
        assert_eq!(message.is_some(), bytes.len() == 48, "{bytes:?}");
    }
    let far = canele_engine::Engine::start().unwrap().create_region(4096).unwrap().far();
    for (len, types) in [(4033, 0), (4000, 33), (usize::MAX, 1), (0, usize::MAX)] {
        assert!(Described { sender: Rank(0), len, types }.open(far.clone()).is_none());
    }
}
