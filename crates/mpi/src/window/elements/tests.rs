use std::sync::Arc;

use canele_engine::{Rank, RegionMemory};
use canele_mem::element_lock::ElementWait;
use canele_sys::atomic::Ordering;

use super::super::control::Control;
use super::super::exclusion::Excluding;
use super::*;
use crate::op::Element;

const ME: Rank = Rank(3);

fn never(_: Rank) -> bool {
    false
}

fn memory() -> RegionMemory {
    RegionMemory::private(4096).expect("a page")
}

/// Makes the control region of a window of 8 members.
fn control() -> Control {
    let memory = RegionMemory::private(Control::bytes(8)).expect("some pages");
    Control::new(Arc::new(memory), 8, 0).expect("long enough")
}

/// Returns the exclusion of member 3 at part 1.
fn exclusion<'a>(control: &'a Control, is_gone: &'a dyn Fn(Rank) -> bool) -> Exclusion<'a> {
    let excluding = Excluding::new(3, ME);
    Exclusion::new(control, 1, excluding, ElementWait { is_gone, relax: None })
}

fn how(op: BuiltIn, element: Element) -> Accumulation {
    Accumulation { op, element: Some(element), bytes: element.size() }
}

/// Accumulates into one stretch of memory, and returns its former content.
fn accumulate(memory: &RegionMemory, at: usize, how: Accumulation, data: &[u8]) -> Vec<u8> {
    let control = control();
    let exclusion = exclusion(&control, &never);
    let stretches = |each: &mut dyn FnMut(Window<'_>, usize)| {
        each(memory.window(at, data.len()).expect("inside"), 0);
    };
    let mut old = vec![0; data.len()];
    assert!(try_accumulate(&stretches, how, &exclusion, data, Some(&mut old)).expect("defined"));
    assert!(exclusion.hold().is_some(), "the lock is given back");
    old
}

fn bytes_at(memory: &RegionMemory, at: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    memory.window(at, len).expect("inside").read(0, &mut bytes);
    bytes
}

#[test]
fn every_operation_does_to_each_element_what_its_loop_does_wherever_it_lies() {
    let mut tried = 0;
    for element in Element::ALL {
        for op in BuiltIn::ALL {
            let Ok(combine) = op.accumulation(element) else { continue };
            let len = 3 * element.size();
            for at in [64, 67] {
                let memory = memory();
                let first: Vec<u8> = (0..len).map(|n| (n * 7 + 1) as u8 & 0x3f).collect();
                let second: Vec<u8> = (0..len).map(|n| (n * 5 + 2) as u8 & 0x3f).collect();
                memory.window(at, len).expect("inside").write(0, &first);
                let old = accumulate(&memory, at, how(op, element), &second);
                let mut expected = first.clone();
                combine(&mut expected, &second, false);
                assert_eq!(old, first, "{op:?} of {element:?} at {at}");
                assert_eq!(bytes_at(&memory, at, len), expected, "{op:?} of {element:?} at {at}");
                assert_eq!(bytes_at(&memory, at - 1, 1), [0], "before the elements");
                assert_eq!(bytes_at(&memory, at + len, 1), [0], "behind the elements");
                tried += 1;
            }
        }
    }
    assert!(tried > 400, "{tried}");
}

#[test]
fn one_element_is_fetched_and_changed_as_many_are() {
    let memory = memory();
    let window = memory.window(8, 8).expect("inside");
    window.write(0, &2.5f64.to_ne_bytes());
    let change = |op, operand: f64| {
        let change = how(op, Element::F64).change().expect("defined");
        fetch_and_change(window.element(0, 8).expect("aligned"), change, operand.to_bits())
    };
    assert_eq!(change(BuiltIn::Sum, 0.5), 2.5f64.to_bits());
    assert_eq!(change(BuiltIn::Max, 1.0), 3f64.to_bits());
    assert_eq!(window.read_words::<1>(0), [3f64.to_bits()]);
    assert!(memory.window(9, 8).expect("inside").element(0, 8).is_none(), "it is not aligned");
}

#[test]
fn an_element_whose_parts_have_a_gap_is_changed_as_a_whole() {
    let memory = memory();
    // A short and an int: the short at 0, the int at 4.
    let stretches = |each: &mut dyn FnMut(Window<'_>, usize)| {
        each(memory.window(0, 2).expect("inside"), 0);
        each(memory.window(4, 4).expect("inside"), 2);
    };
    let control = control();
    let exclusion = exclusion(&control, &never);
    let pair = |value: i16, index: i32| [&value.to_ne_bytes()[..], &index.to_ne_bytes()].concat();
    let change = |data: &[u8]| {
        let max = how(BuiltIn::MaxLoc, Element::ShortInt);
        assert!(try_accumulate(&stretches, max, &exclusion, data, None).expect("defined"));
        [bytes_at(&memory, 0, 2), bytes_at(&memory, 4, 4)].concat()
    };
    assert_eq!(change(&pair(5, 70_000)), pair(5, 70_000));
    assert_eq!(change(&pair(4, 1)), pair(5, 70_000));
    assert_eq!(change(&pair(6, 2)), pair(6, 2));
    assert_eq!(bytes_at(&memory, 2, 2), [0, 0], "the gap is left alone");
}

#[test]
fn a_held_word_refuses_those_that_need_it_until_its_holder_is_gone() {
    let memory = memory();
    let control = control();
    control.words(1).elements().store(8, Ordering::Relaxed);
    let wide = how(BuiltIn::Sum, Element::ComplexF64);
    let data = [1f64.to_ne_bytes(), 2f64.to_ne_bytes()].concat();
    let stretches = |each: &mut dyn FnMut(Window<'_>, usize)| each(memory.window(0, 16).expect("inside"), 0);
    let attempt = |how, is_gone: &dyn Fn(Rank) -> bool| {
        try_accumulate(&stretches, how, &exclusion(&control, is_gone), &data, None).expect("defined")
    };
    assert!(!attempt(wide, &never));
    assert_eq!(bytes_at(&memory, 0, 16), [0; 16]);
    assert!(attempt(how(BuiltIn::Sum, Element::I64), &never), "which does not need it");
    assert!(attempt(wide, &|rank| rank == Rank(7)), "it is taken over");
    assert_eq!(control.words(1).elements().load(Ordering::Relaxed), 0);
}

#[test]
fn threads_that_change_the_same_elements_lose_nothing() {
    let memory = memory();
    let control = control();
    std::thread::scope(|threads| {
        for thread in 0..4 {
            let (memory, control) = (&memory, &control);
            threads.spawn(move || {
                let excluding = Excluding::new(thread as usize, Rank(thread));
                let waiting = ElementWait { is_gone: &never, relax: None };
                let exclusion = Exclusion::new(control, 1, excluding, waiting);
                for (element, at, one) in [
                    (Element::F64, 0, &1f64.to_ne_bytes()[..]),
                    (Element::I16, 64, &1i16.to_ne_bytes()[..]),
                    (Element::I32, 129, &1i32.to_ne_bytes()[..]),
                    (Element::ComplexF64, 256, &[1f64.to_ne_bytes(), 1f64.to_ne_bytes()].concat()[..]),
                ] {
                    let stretches = |each: &mut dyn FnMut(Window<'_>, usize)| {
                        each(memory.window(at, one.len()).expect("inside"), 0);
                    };
                    for _ in 0..1000 {
                        let sum = how(BuiltIn::Sum, element);
                        while !try_accumulate(&stretches, sum, &exclusion, one, None).expect("defined") {
                            std::thread::yield_now();
                        }
                    }
                }
            });
        }
    });
    assert_eq!(bytes_at(&memory, 0, 8), 4000f64.to_ne_bytes());
    assert_eq!(bytes_at(&memory, 64, 2), 4000i16.to_ne_bytes());
    assert_eq!(bytes_at(&memory, 129, 4), 4000i32.to_ne_bytes());
    assert_eq!(bytes_at(&memory, 256, 16), [4000f64.to_ne_bytes(); 2].concat());
}

#[test]
fn an_element_is_swapped_if_it_is_what_it_is_compared_with() {
    let memory = memory();
    let control = control();
    let exclusion = exclusion(&control, &never);
    for (at, len) in [(0, 8), (17, 4), (32, 16)] {
        let window = memory.window(at, len).expect("inside");
        let (zero, one, two) = (vec![0; len], vec![1; len], vec![2; len]);
        let swap = |compare: &[u8], new: &[u8]| try_compare_and_swap(&window, &exclusion, [compare, new]);
        assert_eq!(swap(&one, &two), Some(zero.clone()));
        assert_eq!(swap(&zero, &one), Some(zero));
        assert_eq!(swap(&one, &two), Some(one));
        assert_eq!(bytes_at(&memory, at, len), two);
    }
}

#[test]
fn long_runs_and_scattered_elements_are_changed_as_elements_one_by_one() {
    const BYTES: usize = 20_000;
    let control = control();
    for element in Element::ALL.into_iter().filter(|element| matches!(element.size(), 1 | 2 | 4 | 8)) {
        for op in BuiltIn::ALL {
            if op.accumulation(element).is_err() {
                continue;
            }
            let data: Vec<u8> = (0..BYTES).map(|n| (n * 5 + 2) as u8 & 0x3f).collect();
            let change = |at_once: usize, keeps: bool| {
                let memory = RegionMemory::private(BYTES + 64).expect("some pages");
                let first: Vec<u8> = (0..BYTES).map(|n| (n * 7 + 1) as u8 & 0x3f).collect();
                memory.window(8, BYTES).expect("inside").write(0, &first);
                let exclusion = Exclusion::new(
                    &control,
                    1,
                    Excluding::new(3, ME),
                    ElementWait { is_gone: &never, relax: None },
                );
                let mut old = vec![0; BYTES];
                for from in (0..BYTES).step_by(at_once) {
                    assert_eq!(exclusion.suits_long(at_once, 4), at_once == BYTES);
                    let range = from..from + at_once;
                    let stretches = |each: &mut dyn FnMut(Window<'_>, usize)| {
                        // Long stretches, and short ones like those of scattered elements.
                        for part in [0..8000, 8000..12_000]
                            .into_iter()
                            .chain((12_000..BYTES).step_by(80).map(|at| at..at + 80))
                        {
                            let part = part.start.max(range.start)..part.end.min(range.end);
                            if !part.is_empty() {
                                each(
                                    memory.window(8 + part.start, part.len()).expect("inside"),
                                    part.start - from,
                                );
                            }
                        }
                    };
                    let wanted = keeps.then_some(&mut old[range.clone()]);
                    let done = try_accumulate(
                        &stretches,
                        how(op, element),
                        &exclusion,
                        &data[range.clone()],
                        wanted,
                    );
                    assert!(done.expect("defined"));
                }
                (bytes_at(&memory, 8, BYTES), old)
            };
            for keeps in [false, true] {
                assert!(change(BYTES, keeps) == change(80, keeps), "{op:?} of {element:?}");
            }
        }
    }
}

#[test]
fn long_runs_and_single_elements_of_several_threads_lose_nothing() {
    const ELEMENTS: usize = 2048;
    let memory = RegionMemory::private(8 * ELEMENTS).expect("some pages");
    let control = control();
    std::thread::scope(|threads| {
        for thread in 0..4 {
            let (memory, control) = (&memory, &control);
            threads.spawn(move || {
                // Two threads of each of two members. They have no thread number, so none counts as the first
                // thread.
                let excluding = Excluding::new(thread / 2, Rank(thread as u32 / 2));
                let relax = std::thread::yield_now;
                let waiting = ElementWait { is_gone: &never, relax: Some(&relax) };
                let exclusion = Exclusion::new(control, 1, excluding, waiting);
                let ones = vec![1f64; ELEMENTS];
                for round in 0..400 {
                    let (at, count) = match (round + thread) % 4 {
                        0 => (0, ELEMENTS),
                        1 => (round % ELEMENTS, 1),
                        2 => (0, 1),
                        _ => (round % 64, 40),
                    };
                    let stretches = |each: &mut dyn FnMut(Window<'_>, usize)| {
                        each(memory.window(8 * at, 8 * count).expect("inside"), 0);
                    };
                    let data = bytemuck::cast_slice(&ones[..count]);
                    let sum = how(BuiltIn::Sum, Element::F64);
                    while !try_accumulate(&stretches, sum, &exclusion, data, None).expect("defined") {
                        std::thread::yield_now();
                    }
                }
            });
        }
    });
    let mut expected = vec![0f64; ELEMENTS];
    for (round, thread) in (0..400).flat_map(|round| (0..4).map(move |thread| (round, thread))) {
        match (round + thread) % 4 {
            0 => expected.iter_mut().for_each(|element| *element += 1.0),
            1 => expected[round % ELEMENTS] += 1.0,
            2 => expected[0] += 1.0,
            _ => expected[round % 64..round % 64 + 40].iter_mut().for_each(|element| *element += 1.0),
        }
    }
    assert!(bytes_at(&memory, 0, 8 * ELEMENTS) == bytemuck::cast_slice::<f64, u8>(&expected));
}

#[test]
fn words_that_verbs_may_change_are_changed_by_no_plain_loop() {
    let control = control();
    for words_by_verbs in [false, true] {
        let excluding = Excluding { words_by_verbs, ..Excluding::new(3, ME) };
        let exclusion = Exclusion::new(&control, 1, excluding, ElementWait { is_gone: &never, relax: None });
        assert_eq!([4, 8].map(|bytes| exclusion.suits_long(1 << 16, bytes)), [true, !words_by_verbs]);
    }
}

#[test]
fn the_network_does_to_words_what_the_processor_does() {
    const OLD: u64 = 0xf0f0_1234_8000_0001;
    const OPERAND: u64 = 0x0ff0_5678_8000_0003;
    let mut tried = 0;
    for (op, element) in BuiltIn::ALL.into_iter().flat_map(|op| Element::ALL.map(|element| (op, element))) {
        let how = how(op, element);
        let Some(fetch_op) = how.fetch_op() else { continue };
        tried += 1;
        let change = how.change().expect("defined");
        let operand = if change.has_operand() { OPERAND } else { 0 };
        let memory = memory();
        let window = memory.window(0, 8).expect("inside");
        window.write(0, &OLD.to_ne_bytes());
        let old = fetch_and_change(window.element(0, how.bytes).expect("aligned"), change, operand);
        let expected = match fetch_op {
            FetchOp::Add => OLD.wrapping_add(operand),
            FetchOp::And => OLD & operand,
            FetchOp::Or => OLD | operand,
            FetchOp::Xor => OLD ^ operand,
            FetchOp::Replace => operand,
        };
        assert_eq!((how.bytes, old, bytes_at(&memory, 0, 8)), (8, OLD, expected.to_ne_bytes().to_vec()));
    }
    assert!(tried >= 12, "{tried}");
    assert_eq!(how(BuiltIn::Sum, Element::F64).fetch_op(), None);
}
