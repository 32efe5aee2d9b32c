//! Puts of a rank into its own region, which take the same counters and notices as any other.

use canele_engine::{Engine, Rank};
use canele_sys::counters::Counter;
use canele_sys::tunables::Tunables;

#[test]
fn every_put_is_counted_once_whatever_its_length() {
    let engine = Engine::join(&Tunables::default(), None).unwrap();
    let region = engine.create_region(4096).unwrap();
    for (notice, bytes) in [8usize, 24, 25, 1000].into_iter().enumerate() {
        let data = vec![notice as u8 + 1; bytes];
        engine.put_notify(Rank(0), &region.far(), region.id(), 64, &data, notice as u64).unwrap();
        assert_eq!(engine.try_notice().unwrap().map(|n| n.id), Some(notice as u64));
        let mut back = vec![0; bytes];
        region.window(64, bytes).unwrap().read(0, &mut back);
        assert_eq!(back, data);
    }
    let counters = engine.counters().unwrap();
    assert_eq!((counters[Counter::PutSent], counters[Counter::PutSentBytes]), (4, 1057));
}

#[test]
fn puts_without_a_notice_are_counted_too() {
    let engine = Engine::join(&Tunables::default(), None).unwrap();
    let region = engine.create_region(4096).unwrap();
    for bytes in [8usize, 1000] {
        engine.put(&region.far(), 64, &vec![7; bytes]).unwrap();
    }
    assert!(engine.put(&region.far(), 4000, &[7; 97]).is_err());
    let counters = engine.counters().unwrap();
    assert_eq!((counters[Counter::PutSent], counters[Counter::PutSentBytes]), (2, 1008));
}
