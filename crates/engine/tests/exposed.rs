//! Exposed memory: ranks of one host, and ranks joined by sockets, access it, lock it and signal its owner.

use std::sync::Arc;
use std::thread;

use canele_engine::{
    Access, Applied, Buffer, ElementOperation, ElementsOrigin, Engine, Error, Exposed, ExposedElements,
    ExposureKey, Failure, Rank, Refusal, RmaLockKind, RmaOperations, RmaPlace, Tracked,
};
use canele_mem::buffer::{InBuffer, OutBuffer, Owned, RawMut};
use canele_mem::layout::Layout;
use canele_sys::atomic::Ordering::SeqCst;
use canele_sys::counters::Counter;
use canele_sys::tunables::Tunables;
use canele_testing::LocalRank;

/// The length of an area. Each rank exposes a word that all count in, one that is locked, and an area of each
/// rank.
const AREA: usize = 400_000;
const WORDS: ElementOperation = ElementOperation { op: 1, element: 8, element_bytes: 8, fetch_op: None };

/// Adds words of 64 bits, and exchanges them.
struct Words;

fn word(bytes: &[u8]) -> u64 {
    u64::from_ne_bytes(bytes.try_into().unwrap())
}

impl RmaOperations for Words {
    fn accumulate(
        &self,
        _: &ElementsOrigin<'_>,
        operation: (u16, u16),
        target: &ExposedElements<'_>,
        data: &[u8],
        mut old: Option<&mut [u8]>,
    ) -> Applied {
        if operation != (1, 8) || !target.len().is_multiple_of(8) {
            return Applied::Refused;
        }
        target.each(|memory, at, done, len| {
            for k in (0..len).step_by(8) {
                let n = data.get(done + k..done + k + 8).map_or(0, word);
                let before = memory.word64(at + k).unwrap().fetch_add(n, SeqCst);
                if let Some(old) = &mut old {
                    old[done + k..done + k + 8].copy_from_slice(&before.to_ne_bytes());
                }
            }
        });
        Applied::Done
    }

    fn compare_and_swap(
        &self,
        _: &ElementsOrigin<'_>,
        _: (u16, u16),
        target: &ExposedElements<'_>,
        operands: [&[u8]; 2],
        old: &mut [u8],
    ) -> Applied {
        let [compare, new] = operands.map(word);
        target.each(|memory, at, _, _| {
            let found = memory.word64(at).unwrap().compare_exchange(compare, new, SeqCst, SeqCst);
            old.copy_from_slice(&found.unwrap_or_else(|other| other).to_ne_bytes());
        });
        Applied::Done
    }
}

fn out(bytes: &[u8]) -> OutBuffer {
    RawMut::of(bytes.to_vec().leak(), 0).into_raw().lend(0, bytes.len())
}

fn at(owner: u32, window: ExposureKey, offset: usize) -> RmaPlace {
    RmaPlace { owner: Rank(owner), window, offset: offset as u64, elements: None }
}

fn count(me: &Engine, place: RmaPlace, access: Access) {
    assert!(me.access(place, access, Tracked::Counted).is_ok_and(|pending| pending.is_none()));
}

/// Submits an access that reads `bytes` bytes, and waits for them.
fn read(me: &Engine, place: RmaPlace, bytes: usize, access: impl FnOnce(InBuffer) -> Access) -> Vec<u8> {
    let mut into = Owned::new(vec![0; bytes]);
    let pending =
        me.access(place, access(into.lend_in()), Tracked::Request).ok().flatten().expect("a request");
    let completion = me.wait(pending, None).unwrap();
    let Buffer::In(buffer) = completion.buffer else { panic!("the memory comes back") };
    into.take_back_in(buffer);
    assert_eq!(completion.result.unwrap().bytes, bytes);
    into.into_items()
}

fn get(into: InBuffer) -> Access {
    Access::Get { into }
}

/// Starts ranks that each expose some memory; returns them and the keys.
fn start(hosts: &[u32], bytes: usize) -> (Vec<LocalRank>, Vec<Exposed>, Vec<ExposureKey>) {
    let ranks = canele_testing::start_on_hosts(hosts, &Tunables::default()).unwrap();
    let memory: Vec<_> = ranks.iter().map(|_| Exposed::of(vec![0; bytes])).collect();
    let keys = ranks.iter().zip(&memory).map(|(rank, memory)| {
        rank.set_rma_operations(|_| Arc::new(Words)).unwrap();
        rank.expose(memory.clone()).unwrap()
    });
    let keys = keys.collect();
    (ranks, memory, keys)
}

/// Signals to all that this rank has done its part, and waits until all have.
fn all_are_done(me: &Engine, keys: &[ExposureKey], round: u64) {
    for (rank, key) in keys.iter().enumerate() {
        me.signal((Rank(rank as u32), *key), 0).unwrap();
    }
    for rank in 0..keys.len() as u32 {
        me.await_signals(keys[me.rank().0 as usize], Rank(rank), 0, round, None).unwrap();
    }
}

/// Accesses the memory of each owner, this rank among them.
fn play(me: &Engine, keys: &[ExposureKey]) {
    let rank = me.rank().0 as usize;
    let all: Vec<_> = keys.iter().enumerate().map(|(owner, key)| (Rank(owner as u32), *key)).collect();
    for (owner, key) in &all {
        let area = 16 + rank * AREA;
        for (n, bytes) in [8usize, 100, 5000, 70_000, 200_000].into_iter().enumerate() {
            count(
                me,
                at(owner.0, *key, area + n * 256),
                Access::Put { data: out(&vec![n as u8 + 1; bytes.min(256)]) },
            );
            let data = Access::Put { data: out(&vec![rank as u8 + 40; bytes]) };
            count(me, at(owner.0, *key, area + 2048), data);
            let back = read(me, at(owner.0, *key, area + 2048), bytes, get);
            assert!(back.iter().all(|byte| *byte == rank as u8 + 40), "a read sees the puts before it");
        }
        let layout = Arc::new(Layout::block(8).repeated(9000, 24).unwrap());
        let place = RmaPlace { elements: Some((layout, 1)), ..at(owner.0, *key, area + 2048) };
        count(me, place.clone(), Access::Accumulate { operation: WORDS, data: out(&[1; 72_000]) });
        let before = read(me, place.clone(), 72_000, |into| Access::GetAccumulate {
            operation: WORDS,
            data: out(&[]),
            into,
        });
        // The last elements lie behind the data of the put.
        assert_eq!((before[0], before[71_999]), (rank as u8 + 41, 1), "{owner}");
        for _ in 0..50 {
            count(
                me,
                at(owner.0, *key, 0),
                Access::Accumulate { operation: WORDS, data: out(&1u64.to_ne_bytes()) },
            );
        }
        for _ in 0..10 {
            me.lock_window((*owner, *key), RmaLockKind::Exclusive).unwrap();
            let n = word(&read(me, at(owner.0, *key, 8), 8, get));
            count(me, at(owner.0, *key, 8), Access::Put { data: out(&(n + 1).to_ne_bytes()) });
            let unlock = me.iunlock((*owner, *key)).unwrap();
            me.wait(unlock, None).unwrap().result.unwrap();
        }
    }
    me.flush_local(&all, None).unwrap();
    me.flush(&all, None).unwrap();
    all_are_done(me, keys, 1);
    for (owner, key) in &all {
        let both = read(me, at(owner.0, *key, 0), 16, get);
        let expected = (50 * keys.len() as u64, 10 * keys.len() as u64);
        assert_eq!((word(&both[..8]), word(&both[8..])), expected);
    }
    let old = read(me, at(0, keys[0], 0), 8, |into| Access::CompareAndSwap {
        operation: WORDS,
        operands: out(&[[0u8; 8], [9; 8]].concat()),
        into,
    });
    assert_eq!(word(&old), 50 * keys.len() as u64);
    all_are_done(me, keys, 2);
}

fn together(hosts: &[u32]) {
    let size: u32 = hosts.iter().sum();
    let (ranks, _memory, keys) = start(hosts, 16 + size as usize * AREA);
    let threads = ranks.into_iter().map(|rank| {
        let keys = keys.clone();
        thread::spawn(move || {
            play(&rank, &keys);
            rank.unexpose(keys[rank.rank().0 as usize]).unwrap();
            rank.finish().unwrap();
            rank
        })
    });
    let threads: Vec<_> = threads.collect();
    threads.into_iter().for_each(|thread| drop(thread.join().unwrap()));
}

#[test]
fn ranks_of_one_host_access_lock_and_signal() {
    together(&[3]);
}

#[test]
fn ranks_of_two_hosts_access_lock_and_signal() {
    together(&[2, 1]);
}

#[test]
fn a_rank_alone_accesses_its_own_memory() {
    together(&[1]);
}

#[test]
fn what_is_not_exposed_is_refused_and_a_flush_says_so() {
    let (ranks, _memory, keys) = start(&[1], 64);
    let me = &ranks[0];
    let window = (Rank(0), keys[0]);
    count(me, at(0, keys[0], 60), Access::Put { data: out(&[1; 8]) });
    let refused = me.flush(&[window], None);
    assert!(
        matches!(refused, Err(Error::Refused { owner: Rank(0), why: Refusal::Outside(64), .. })),
        "{refused:?}"
    );
    me.flush(&[window], None).expect("it is told once");
    let add = Access::Accumulate { operation: ElementOperation { op: 7, ..WORDS }, data: out(&[0; 8]) };
    count(me, at(0, keys[0], 0), add);
    let refused = me.flush(&[window], None);
    assert!(matches!(refused, Err(Error::Refused { why: Refusal::NotAccumulated, .. })), "{refused:?}");
    let unlock = me.iunlock(window).unwrap();
    let refused = me.wait(unlock, None).unwrap().result;
    assert!(matches!(refused, Err(Error::Refused { why: Refusal::NotLocked, .. })), "{refused:?}");
    me.unexpose(keys[0]).unwrap();
    count(me, at(0, keys[0], 0), Access::Put { data: out(&[1; 8]) });
    let refused = me.flush(&[window], None);
    assert!(matches!(refused, Err(Error::Refused { why: Refusal::NoRegion, .. })), "{refused:?}");
    let lengths = me.access(
        at(0, keys[0], 0),
        Access::Accumulate { operation: WORDS, data: out(&[0; 9]) },
        Tracked::Counted,
    );
    assert!(lengths.is_err_and(|refused| matches!(refused.0, Error::Lengths { given: 9, needed: 8, .. })));
}

#[test]
fn attached_memory_is_accessed_by_address_until_it_is_detached() {
    let (ranks, _memory, _) = start(&[1], 0);
    let me = &ranks[0];
    let window = me.expose_dynamic().unwrap();
    let memory = Exposed::of(vec![0; 32]);
    me.attach(window, memory.clone()).unwrap();
    count(me, at(0, window, memory.address() + 8), Access::Put { data: out(&[3; 8]) });
    me.flush(&[(Rank(0), window)], None).unwrap();
    let mut there = [0; 24];
    assert!(memory.load(0, &mut there) && there == [[0; 8], [3; 8], [0; 8]].concat()[..]);
    me.detach(window, memory.address()).unwrap();
    count(me, at(0, window, memory.address()), Access::Put { data: out(&[3; 8]) });
    assert!(me.flush(&[(Rank(0), window)], None).is_err());
}

#[test]
fn a_dead_owner_fails_every_wait_and_a_dead_holder_gives_its_lock_back() {
    for hosts in [&[3u32][..], &[1, 1, 1]] {
        let (mut ranks, _memory, keys) = start(hosts, 64);
        let (window, dead) = ((Rank(0), keys[0]), (Rank(2), keys[2]));
        let (third, second, first) = (ranks.pop().unwrap(), ranks.pop().unwrap(), ranks.pop().unwrap());
        let holder = thread::spawn(move || {
            third.lock_window(window, RmaLockKind::Exclusive).unwrap();
            third.flush(&[window], None).unwrap();
            // It is inside the library no more.
            third
        });
        let mut third = None;
        while third.is_none() {
            first.poll().unwrap();
            if holder.is_finished() {
                break;
            }
        }
        third.get_or_insert(holder.join().unwrap());
        let waiting = thread::spawn(move || {
            second.lock_window(window, RmaLockKind::Shared).unwrap();
            second.flush(&[window], None).unwrap();
            second.signal(window, 1).unwrap();
            second.finish().unwrap();
            second
        });
        first.lock_window(dead, RmaLockKind::Exclusive).unwrap();
        let lost = first.iflush(dead).unwrap();
        count(&first, at(2, keys[2], 0), Access::Put { data: out(&[1; 8]) });
        for _ in 0..100 {
            first.poll().unwrap();
        }
        first.report_death(Rank(2));
        let failed = |result: Result<(), Error>| {
            assert!(matches!(result, Err(Error::Failed(Failure::PeerFailed(Rank(2))))), "{result:?}");
        };
        failed(first.wait(lost, None).unwrap().result.map(drop));
        failed(first.flush(&[dead], None));
        failed(first.lock_window(dead, RmaLockKind::Exclusive));
        failed(first.await_signals(keys[0], Rank(2), 1, 1, None));
        first.await_signals(keys[0], Rank(1), 1, 1, None).unwrap();
        first.finish().unwrap();
        drop(waiting.join().unwrap());
    }
}

#[test]
fn many_small_puts_to_another_host_leave_as_few_packets() {
    let (mut ranks, _memory, keys) = start(&[1, 1], 4096);
    let (second, first) = (ranks.pop().unwrap(), ranks.pop().unwrap());
    let owner = (Rank(1), keys[1]);
    let serving = thread::spawn(move || {
        second.await_signals(owner.1, Rank(0), 0, 1, None).unwrap();
        second.finish().unwrap();
        second
    });
    // The link is open, and credit is there.
    count(&first, at(1, keys[1], 0), Access::Put { data: out(&[1; 8]) });
    first.flush(&[owner], None).unwrap();
    let packets = || {
        let counters = first.counters().unwrap();
        (counters[Counter::Packets], counters[Counter::Parts])
    };
    let before = packets();
    for n in 0..64 {
        count(&first, at(1, keys[1], 8 * n), Access::Put { data: out(&[2; 8]) });
    }
    first.flush(&[owner], None).unwrap();
    let after = packets();
    let (packets, parts) = (after.0 - before.0, after.1 - before.1);
    assert!(packets <= 4 && parts >= 60, "{parts} messages in {packets} packets");
    first.signal(owner, 0).unwrap();
    first.finish().unwrap();
    drop(serving.join().unwrap());
}
