//! Tests of verbs: each is carried out once, in registered memory only, and gives its buffer back.

use std::collections::BTreeMap;
use std::sync::Arc;

use canele_mem::buffer::{MemoryAddress, Owned};
use canele_sys::ids::RegionId;

use super::{Harness, Sent, TO_1, bytes, link_to, pair, receive, send};
use crate::{Armed, Class, FetchOp, Rail, Region, Regions, Rma, Verb, VerbCompletion, VerbError, Verbs};

/// The region of rank 1 in most tests, in bytes.
const LEN: usize = 4096;

/// Makes two ranks, the second of which has registered a region.
fn registered<H: Harness>() -> (H, Arc<Region>) {
    let mut h = pair::<H>();
    let region = Regions::default().create(LEN).expect("memory");
    h.rail(1).register_region(&region).expect("room for a region");
    (h, region)
}

fn at(region: &Region, offset: usize) -> MemoryAddress {
    MemoryAddress { key: region.id().into(), offset: offset as u64 }
}

fn post<H: Harness>(h: &mut H, token: u64, verb: Verb) -> bool {
    let link = link_to(h, 0, 1);
    h.rail(0).post_verb(link, token, verb).is_ok()
}

/// Waits for `count` completions at rank 0.
fn complete<H: Harness>(h: &mut H, count: usize) -> Vec<VerbCompletion> {
    let mut completions = Vec::new();
    for _ in 0..1000 {
        h.deliver();
        while let Some(completion) = h.rail(0).take_completion() {
            completions.push(completion);
        }
        if completions.len() >= count {
            return completions;
        }
    }
    panic!("{} of {count} verbs have completed", completions.len())
}

/// Posts one verb and waits for its result.
fn result_of<H: Harness>(h: &mut H, verb: Verb) -> Result<u64, VerbError> {
    assert!(post(h, 7, verb), "room for one verb");
    let completions = complete(h, 1);
    let link = link_to(h, 0, 1);
    let [VerbCompletion { token: 7, link: on, result }] = completions[..] else { panic!("{completions:?}") };
    assert_eq!(on, link);
    result
}

fn put<H: Harness>(h: &mut H, to: MemoryAddress, data: &[u8]) -> Result<u64, VerbError> {
    let mut owned = Owned::new(data.to_vec());
    let mut buffer = owned.lend_out();
    let result = result_of(h, Verb::Put { data: buffer.share(0, data.len()), to });
    owned.take_back_out(buffer);
    result
}

fn get<H: Harness>(h: &mut H, from: MemoryAddress, len: usize) -> Result<Vec<u8>, VerbError> {
    let mut owned = Owned::new(vec![0u8; len]);
    let mut buffer = owned.lend_in();
    let result = result_of(h, Verb::Get { from, into: buffer.share(0, len) });
    owned.take_back_in(buffer);
    result.map(|_| owned.into_items())
}

/// A rail without verbs refuses each verb and returns it to the caller.
pub fn verbs_are_refused_without_any<H: Harness>() {
    let mut h = pair::<H>();
    let link = link_to(&mut h, 0, 1);
    if !h.rail(0).caps(link).verbs.is_empty() {
        return;
    }
    let place = MemoryAddress::start(RegionId { index: 0, generation: 1 });
    let verb = Verb::FetchOp { at: place, op: FetchOp::Add, operand: 1 };
    assert!(h.rail(0).post_verb(link, 1, verb).is_err());
    h.deliver();
    assert_eq!(h.rail(0).take_completion(), None);
}

/// A put or get moves exactly its range, of any length.
pub fn puts_and_gets_move_what_they_say<H: Harness>() {
    let (mut h, region) = registered::<H>();
    assert_eq!(h.rail(0).caps(TO_1).verbs, Verbs::all());
    let mut model = vec![0; LEN];
    for (n, (offset, len)) in
        [(0, LEN), (0, 0), (LEN, 0), (1, 1), (LEN - 1, 1), (7, 100), (1000, 3000)].into_iter().enumerate()
    {
        let data = bytes(n as u64, len);
        model[offset..offset + len].copy_from_slice(&data);
        assert_eq!(put(&mut h, at(&region, offset), &data), Ok(0), "{offset} {len}");
        let mut there = vec![0; LEN];
        region.window(0, LEN).unwrap().read(0, &mut there);
        assert!(there == model, "{offset} {len}");
        assert_eq!(get(&mut h, at(&region, offset), len), Ok(data));
    }
}

/// Each operation returns the previous value, and operations of two ranks on one word are all carried out.
pub fn words_change_in_one_step<H: Harness>() {
    let mut h = H::new(3);
    h.connect(0, 2);
    h.connect(1, 2);
    let region = Regions::default().create(64).expect("memory");
    h.rail(2).register_region(&region).expect("room for a region");
    let place = at(&region, 8);
    let apply = |h: &mut H, rank: usize, verb: Verb| {
        let link = link_to(h, rank, 2);
        assert!(h.rail(rank).post_verb(link, 1, verb).is_ok());
        for _ in 0..1000 {
            h.deliver();
            if let Some(completion) = h.rail(rank).take_completion() {
                return completion.result.expect("a registered word");
            }
        }
        panic!("a verb does not complete")
    };
    let mut expected = 0u64;
    let ops = [
        (FetchOp::Replace, 0xf0f0),
        (FetchOp::Add, u64::MAX),
        (FetchOp::And, 0xff00),
        (FetchOp::Or, 0x1),
        (FetchOp::Xor, 0x3),
        (FetchOp::Add, 5),
    ];
    for (n, (op, operand)) in ops.into_iter().enumerate() {
        let before = apply(&mut h, n % 2, Verb::FetchOp { at: place, op, operand });
        assert_eq!(before, expected, "{op:?}");
        expected = match op {
            FetchOp::Replace => operand,
            FetchOp::Add => expected.wrapping_add(operand),
            FetchOp::And => expected & operand,
            FetchOp::Or => expected | operand,
            FetchOp::Xor => expected ^ operand,
        };
    }
    let swap = |expected, desired| Verb::CompareSwap { at: place, expected, desired };
    assert_eq!(apply(&mut h, 0, swap(expected + 1, 9)), expected);
    assert_eq!(apply(&mut h, 1, swap(expected, 9)), expected);
    assert_eq!(apply(&mut h, 0, swap(9, 0)), 9);
    // Two ranks add at once: each previous value is returned once.
    let mut seen = Vec::new();
    for _ in 0..20 {
        for rank in 0..2 {
            let link = link_to(&mut h, rank, 2);
            let verb = Verb::FetchOp { at: place, op: FetchOp::Add, operand: 1 };
            assert!(h.rail(rank).post_verb(link, 1, verb).is_ok());
        }
    }
    for _ in 0..1000 {
        h.deliver();
        for rank in 0..2 {
            seen.extend(std::iter::from_fn(|| h.rail(rank).take_completion()).map(|c| c.result.unwrap()));
        }
        if seen.len() == 40 {
            break;
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..40).collect::<Vec<u64>>());
}

/// Verbs on invalid ranges, on missing, dropped or unregistered regions, and on unaligned words are refused
/// and touch nothing.
pub fn what_is_not_registered_is_refused<H: Harness>() {
    let (mut h, region) = registered::<H>();
    for (offset, len) in [(LEN, 1), (LEN - 1, 2), (usize::MAX, 1), (usize::MAX - 3, 8), (0, LEN + 1)] {
        assert_eq!(
            put(&mut h, at(&region, offset), &vec![1; len]),
            Err(VerbError::Refused),
            "{offset} {len}"
        );
        assert_eq!(get(&mut h, at(&region, offset), len), Err(VerbError::Refused), "{offset} {len}");
    }
    for offset in [1, 4, LEN - 4, LEN] {
        let place = at(&region, offset);
        let add = Verb::FetchOp { at: place, op: FetchOp::Add, operand: 1 };
        assert_eq!(result_of(&mut h, add), Err(VerbError::Refused), "{offset}");
        let swap = Verb::CompareSwap { at: place, expected: 0, desired: 1 };
        assert_eq!(result_of(&mut h, swap), Err(VerbError::Refused), "{offset}");
    }
    let RegionId { index, generation } = region.id();
    let others = [
        RegionId { index: index + 1, generation },
        RegionId { index, generation: generation.wrapping_add(1) },
        RegionId { index: u32::MAX, generation },
    ];
    for other in others {
        let place = MemoryAddress::start(other);
        assert_eq!(put(&mut h, place, &[1]), Err(VerbError::Refused), "{other:?}");
    }
    assert_eq!(get(&mut h, at(&region, 0), LEN), Ok(vec![0; LEN]));
    h.rail(1).deregister(MemoryAddress::start(region.id()));
    assert_eq!(put(&mut h, at(&region, 0), &[1]), Err(VerbError::Refused));
    let mut there = [0; 1];
    region.window(0, 1).unwrap().read(0, &mut there);
    assert_eq!(there, [0]);
}

/// Each posted verb completes once with its token, and then there is room again.
pub fn verbs_complete_once_and_make_room<H: Harness>() {
    let (mut h, region) = registered::<H>();
    let mut count = 0;
    for _ in 0..3 {
        let before = count;
        let add = || Verb::FetchOp { at: at(&region, 0), op: FetchOp::Add, operand: 1 };
        while count - before < 100_000 && post(&mut h, count, add()) {
            count += 1;
        }
        assert!((1..100_000).contains(&(count - before)), "{} verbs were posted at once", count - before);
        let completions = complete(&mut h, (count - before) as usize);
        let by_token: BTreeMap<u64, _> = completions.iter().map(|c| (c.token, c.result)).collect();
        assert!(completions.len() == by_token.len() && by_token.keys().copied().eq(before..count));
        let mut values: Vec<u64> = by_token.into_values().map(|value| value.expect("done")).collect();
        values.sort_unstable();
        assert!(values.into_iter().eq(before..count));
    }
    h.deliver();
    assert_eq!(h.rail(0).take_completion(), None);
}

/// A buffer is held until its verb has completed, and no longer.
pub fn buffers_come_back_with_completions<H: Harness>() {
    let (mut h, region) = registered::<H>();
    let mut owned = Owned::new(bytes(3, 512));
    let mut buffer = owned.lend_out();
    // Two parts of one buffer are written in the opposite order.
    for (part, to) in [(0, 256), (256, 0)] {
        assert!(post(
            &mut h,
            part,
            Verb::Put { data: buffer.share(part as usize, 256), to: at(&region, to) }
        ));
    }
    assert!(buffer.is_shared());
    assert!(complete(&mut h, 2).iter().all(|completion| completion.result == Ok(0)));
    assert!(!buffer.is_shared());
    owned.take_back_out(buffer);
    let sent = owned.into_items();
    assert_eq!(get(&mut h, at(&region, 0), 512), Ok([&sent[256..], &sent[..256]].concat()));
}

/// Closing a link completes its pending verbs as lost at once, and nothing is touched afterwards.
pub fn verbs_on_a_closed_link_end<H: Harness>() {
    let (mut h, region) = registered::<H>();
    let mut owned = Owned::new(vec![5u8; 64]);
    let mut buffer = owned.lend_in();
    let link = link_to(&mut h, 0, 1);
    for token in 0..2 {
        let into = buffer.share(32 * token as usize, 32);
        assert!(post(&mut h, token, Verb::Get { from: at(&region, 0), into }));
    }
    let add = Verb::FetchOp { at: at(&region, 8), op: FetchOp::Add, operand: 1 };
    assert!(post(&mut h, 2, add));
    h.rail(0).disconnect(link);
    let mut tokens = Vec::new();
    while let Some(completion) = h.rail(0).take_completion() {
        assert_eq!(completion.result, Err(VerbError::LinkLost));
        tokens.push(completion.token);
    }
    tokens.sort_unstable();
    assert_eq!(tokens, [0, 1, 2]);
    let word = || region.word(8).expect("an aligned word").load(std::sync::atomic::Ordering::Acquire);
    let then = word();
    assert!(!buffer.is_shared());
    owned.take_back_in(buffer);
    h.deliver();
    assert_eq!(h.rail(0).take_completion(), None);
    assert_eq!(owned.into_items(), [5; 64]);
    assert_eq!(word(), then);
    let verb = Verb::FetchOp { at: at(&region, 0), op: FetchOp::Add, operand: 1 };
    assert!(h.rail(0).post_verb(link, 1, verb).is_err(), "the link is closed");
}

/// Verbs to a rank that has died complete as lost, at the latest when the link is closed.
pub fn verbs_to_the_dead_end<H: Harness>() {
    let (mut h, region) = registered::<H>();
    assert!(post(&mut h, 1, Verb::FetchOp { at: at(&region, 0), op: FetchOp::Add, operand: 1 }));
    h.kill(1);
    h.deliver();
    let mut completions: Vec<_> = std::iter::from_fn(|| h.rail(0).take_completion()).collect();
    if let Some(link) = h.rail(0).link(canele_sys::ids::Rank(1)) {
        h.rail(0).disconnect(link);
    }
    completions.extend(std::iter::from_fn(|| h.rail(0).take_completion()));
    let [completion] = completions[..] else { panic!("{completions:?}") };
    assert_eq!(completion.result, Err(VerbError::LinkLost));
}

/// Packets keep their order and content while verbs are under way, in both directions.
pub fn packets_and_verbs_do_not_mix<H: Harness>() {
    let (mut h, region) = registered::<H>();
    let mut puts = 0;
    for n in 0..50 {
        let packet = Sent::new(n, n as usize % 40, n as usize);
        let mut owned = Owned::new(bytes(n, 64));
        let mut buffer = owned.lend_out();
        let data = buffer.share(0, 64);
        puts += u64::from(post(&mut h, n, Verb::Put { data, to: at(&region, 64 * n as usize) }));
        send(&mut h, 0, 1, &packet, Class::Message).expect("room for a packet");
        h.deliver();
        assert_eq!(receive(&mut h, 1, 0), Some(packet));
        complete(&mut h, 1);
        owned.take_back_out(buffer);
    }
    assert_eq!(puts, 50);
    let mut there = vec![0; 50 * 64];
    region.window(0, 50 * 64).unwrap().read(0, &mut there);
    assert!(there == (0..50).flat_map(|n| bytes(n, 64)).collect::<Vec<_>>());
}

/// A rank with untaken completions does not sleep.
pub fn arm_sees_a_completion<H: Harness>() {
    let (mut h, region) = registered::<H>();
    let _ = h.rail(0).arm();
    assert!(post(&mut h, 1, Verb::FetchOp { at: at(&region, 0), op: FetchOp::Add, operand: 1 }));
    h.deliver();
    assert!(matches!(h.rail(0).arm(), Armed::Work));
    assert!(h.rail(0).take_completion().is_some());
    h.deliver();
    assert!(matches!(h.rail(0).arm(), Armed::Ready));
}
