//! Changes of the elements of a contiguous range: by atomic operations of the processor, or by plain accesses
//! under exclusion.
//!
//! This module owns the loops. The caller has chosen the method and holds or announces the exclusion that it
//! needs.

use canele_engine::Window;
use canele_mem::atomic_element::{AtomicElement, put_value, value_of};
use canele_mem::lane_type::LaneType;

use super::{
    Accumulation, Rule, add_double, add_float, combined, combined_value, sum_of_doubles, sum_of_floats,
};
use crate::op::Combine;

/// Largest size in bytes of a range that is changed in blocks.
pub(super) const SHORT_STRETCH: usize = 256;

/// Block size in bytes for long runs; a block in this thread's memory fits into the first-level cache.
const BLOCK: usize = 4096;

#[repr(align(64))]
struct Block([u8; BLOCK]);

/// Returns the number type of elements of this size for an additive rule.
fn numbers_of(rule: Rule, bytes: usize) -> Option<LaneType> {
    match (rule, bytes) {
        (Rule::AddDouble, _) => Some(LaneType::F64),
        (Rule::AddFloat, _) => Some(LaneType::F32),
        (Rule::Add, 8) => Some(LaneType::I64),
        (Rule::Add, 4) => Some(LaneType::I32),
        (Rule::Add, 2) => Some(LaneType::I16),
        (Rule::Add, 1) => Some(LaneType::I8),
        _ => None,
    }
}

/// Changes a run of elements while no other rank changes them.
#[inline(never)]
pub(super) fn change_plainly(
    window: Window<'_>,
    (rule, bytes): (Rule, usize),
    combine: Option<Combine>,
    data: &[u8],
    mut old: Option<&mut [u8]>,
) {
    let mut done = 0;
    if old.is_none() {
        if let Rule::Replace = rule {
            return window.write(0, data);
        }
        done = numbers_of(rule, bytes).map_or(0, |numbers| window.add(0, numbers, data));
    }
    let mut block = Block([0; BLOCK]);
    for start in (done..window.len()).step_by(BLOCK) {
        let len = BLOCK.min(window.len() - start);
        let block = &mut block.0[..len];
        window.read(start, block);
        if let Some(old) = &mut old {
            old[start..start + len].copy_from_slice(block);
        }
        match (rule, combine) {
            (Rule::Keep, _) => {}
            (Rule::Replace, _) => window.write(start, &data[start..start + len]),
            (_, Some(combine)) => {
                combine(block, &data[start..start + len], false);
                window.write(start, block);
            }
            // Only known elements have a combining rule.
            (_, None) => {}
        }
    }
}

/// Changes a run of elements one by one with atomic operations of the processor.
pub(super) fn change_run(
    window: Window<'_>,
    how: Accumulation,
    rule: Rule,
    data: &[u8],
    old: Option<&mut [u8]>,
) {
    let run = Run { window, bytes: how.bytes, data };
    match rule {
        Rule::Keep => run.each(old, |element, _| element.load()),
        Rule::Replace if old.is_none() => run.each(None, |element, operand| {
            element.store(operand);
            0
        }),
        Rule::Replace => run.each(old, |element, operand| element.swap(operand)),
        Rule::Add => run.each(old, |element, operand| element.fetch_add(operand)),
        Rule::And => run.each(old, |element, operand| element.fetch_and(operand)),
        Rule::Or => run.each(old, |element, operand| element.fetch_or(operand)),
        Rule::Xor => run.each(old, |element, operand| element.fetch_xor(operand)),
        Rule::AddDouble => run.each(old, add_double),
        Rule::AddFloat => run.each(old, add_float),
        Rule::Combine(combine) => {
            run.each(old, |element, operand| combined(element, how.bytes, combine, operand));
        }
    }
}

/// Changes a short range of elements while no other rank changes them. Plain loads and stores overlap, so the
/// processor fetches many scattered elements at once. Atomic operations would serialise them.
pub(super) fn change_scattered(
    window: Window<'_>,
    how: Accumulation,
    rule: Rule,
    data: &[u8],
    old: Option<&mut [u8]>,
) {
    let run = Run { window, bytes: how.bytes, data };
    match rule {
        Rule::Keep => run.each(old, |element, _| element.load()),
        Rule::Replace => run.each_value(old, |_, operand| operand),
        Rule::Add => run.each_value(old, u64::wrapping_add),
        Rule::And => run.each_value(old, |value, operand| value & operand),
        Rule::Or => run.each_value(old, |value, operand| value | operand),
        Rule::Xor => run.each_value(old, |value, operand| value ^ operand),
        Rule::AddDouble => run.each_value(old, sum_of_doubles),
        Rule::AddFloat => run.each_value(old, sum_of_floats),
        Rule::Combine(combine) => {
            run.each_value(old, |value, operand| combined_value(how.bytes, combine, value, operand));
        }
    }
}

/// Contiguous elements and their operands.
struct Run<'a> {
    window: Window<'a>,
    bytes: usize,
    data: &'a [u8],
}

impl Run<'_> {
    /// Replaces the value of each element by a new one, while no other rank changes them.
    #[inline(always)]
    fn each_value(&self, old: Option<&mut [u8]>, change: impl Fn(u64, u64) -> u64) {
        self.each(old, |element, operand| {
            let value = element.load();
            element.store(change(value, operand));
            value
        });
    }

    /// Changes each element; missing operands are 0.
    #[inline(always)]
    fn each(&self, mut old: Option<&mut [u8]>, change: impl Fn(AtomicElement<'_>, u64) -> u64) {
        for at in (0..self.window.len()).step_by(self.bytes) {
            let element = self.window.element(at, self.bytes).expect("the run is aligned");
            let operand = self.data.get(at..at + self.bytes).map_or(0, value_of);
            let before = change(element, operand);
            if let Some(old) = &mut old {
                put_value(before, &mut old[at..at + self.bytes]);
            }
        }
    }
}
