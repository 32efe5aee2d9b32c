//! The effect of an accumulate on the elements of a target: each element is changed atomically (MPI 5.0,
//! §12.7.1).
//!
//! This module chooses the method by an element's size and address alone. So all ranks that change an element
//! use the same one:
//!
//! ```text
//!   1, 2, 4 or 8 bytes, aligned ── atomic operations of the processor; in a long run plain loops that
//!                                  exclude these. Words that verbs may change: no plain loops
//!   any other ──────────────────── plain loops under the lock of the elements
//! ```

mod changes;

use canele_engine::{FetchOp, Window};
use canele_mem::atomic_element::{AtomicElement, put_value, value_of};
use canele_mem::displaced::WORD;
use changes::{SHORT_STRETCH, change_plainly, change_run, change_scattered};

use super::exclusion::Exclusion;
use crate::op::{BuiltIn, Combine, Element};
use crate::{Result, fail};

/// An operation on elements of one predefined datatype.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accumulation {
    /// The operation.
    pub op: BuiltIn,
    /// The type of the elements, if the operation depends on it.
    pub element: Option<Element>,
    /// Size of a packed element in bytes.
    pub bytes: usize,
}

/// The change of an element.
#[derive(Clone, Copy)]
enum Rule {
    Keep,
    Replace,
    Add,
    And,
    Or,
    Xor,
    AddDouble,
    AddFloat,
    Combine(Combine),
}

impl Accumulation {
    fn rule(self) -> Result<Rule> {
        use Element::{Byte, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let integer = matches!(self.element, Some(I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64));
        let bits = integer || self.element == Some(Byte);
        Ok(match (self.op, self.element) {
            (BuiltIn::NoOp, _) => Rule::Keep,
            (BuiltIn::Replace, _) => Rule::Replace,
            (BuiltIn::Sum, _) if integer => Rule::Add,
            (BuiltIn::Sum, Some(F64)) => Rule::AddDouble,
            (BuiltIn::Sum, Some(F32)) => Rule::AddFloat,
            (BuiltIn::BitAnd, _) if bits => Rule::And,
            (BuiltIn::BitOr, _) if bits => Rule::Or,
            (BuiltIn::BitXor, _) if bits => Rule::Xor,
            (op, Some(element)) => Rule::Combine(op.accumulation(element)?),
            (op, None) => fail!(Operation, "op is {}, which does not take such elements", op.text().0),
        })
    }

    /// Returns true if atomic operations of the processor can change such an element at this address.
    fn is_atomic_at(self, window: &Window<'_>) -> bool {
        window.element(0, self.bytes).is_some()
    }
}

/// The contiguous ranges of a target's packed bytes, in order. Calls the function for each, with its offset
/// in the packed bytes.
pub(super) type Stretches<'a> = dyn Fn(&mut dyn FnMut(Window<'_>, usize)) + 'a;

/// The change of single elements, looked up once.
#[derive(Clone, Copy)]
pub struct ElementChange {
    rule: Rule,
    /// Size of an element in bytes.
    pub bytes: usize,
}

/// The change of single words of 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WordChange {
    /// Addition, wrapping around.
    Add,
    /// Replacement.
    Replace,
}

impl Accumulation {
    /// Returns the operation's change of single elements.
    ///
    /// # Errors
    /// Fails if the operation is not defined for the elements.
    pub fn change(self) -> Result<ElementChange> {
        Ok(ElementChange { rule: self.rule()?, bytes: self.bytes })
    }
}

impl Accumulation {
    /// Returns the equivalent fetch operation of the network on a word, if there is one.
    pub fn fetch_op(self) -> Option<FetchOp> {
        match self.rule().ok().filter(|_| self.bytes == WORD)? {
            // Or with no bits set changes nothing.
            Rule::Keep => Some(FetchOp::Or),
            Rule::Replace => Some(FetchOp::Replace),
            Rule::Add => Some(FetchOp::Add),
            Rule::And => Some(FetchOp::And),
            Rule::Or => Some(FetchOp::Or),
            Rule::Xor => Some(FetchOp::Xor),
            Rule::AddDouble | Rule::AddFloat | Rule::Combine(_) => None,
        }
    }
}

impl ElementChange {
    /// Returns true if the operation has an operand of the origin.
    #[inline(always)]
    pub fn has_operand(self) -> bool {
        !matches!(self.rule, Rule::Keep)
    }

    /// Returns the operation's change of words, if that is one instruction with an operand of the origin.
    pub fn of_words(self) -> Option<WordChange> {
        match self.rule {
            Rule::Add if self.bytes == WORD => Some(WordChange::Add),
            Rule::Replace if self.bytes == WORD => Some(WordChange::Replace),
            _ => None,
        }
    }
}

/// Accumulates into one element; returns the old value.
#[inline(always)]
pub(super) fn fetch_and_change(element: AtomicElement<'_>, how: ElementChange, operand: u64) -> u64 {
    match how.rule {
        Rule::Keep => element.load(),
        Rule::Replace => element.swap(operand),
        Rule::Add => element.fetch_add(operand),
        Rule::And => element.fetch_and(operand),
        Rule::Or => element.fetch_or(operand),
        Rule::Xor => element.fetch_xor(operand),
        Rule::AddDouble => add_double(element, operand),
        Rule::AddFloat => add_float(element, operand),
        Rule::Combine(combine) => combined(element, how.bytes, combine, operand),
    }
}

/// Changes an element by one of the standard's loops.
fn combined(element: AtomicElement<'_>, bytes: usize, combine: Combine, operand: u64) -> u64 {
    element.update(|old| combined_value(bytes, combine, old, operand))
}

/// Returns the result of one of the standard's loops for an element.
fn combined_value(bytes: usize, combine: Combine, old: u64, operand: u64) -> u64 {
    let (mut into, mut from) = ([0; 8], [0; 8]);
    put_value(old, &mut into[..bytes]);
    put_value(operand, &mut from[..bytes]);
    combine(&mut into[..bytes], &from[..bytes], false);
    value_of(&into[..bytes])
}

/// The size and alignment of the elements of an accumulate.
struct Shape {
    bytes: usize,
    /// True if atomic operations of the processor can change all of them.
    is_aligned: bool,
}

impl Shape {
    fn of(stretches: &Stretches<'_>, how: Accumulation) -> Self {
        let mut shape = Self { bytes: 0, is_aligned: matches!(how.bytes, 1 | 2 | 4 | 8) };
        stretches(&mut |window, _| {
            // Prefetching here overlaps the cache misses of scattered elements; the changes themselves would
            // serialise them.
            window.part(0, window.len().min(64)).unwrap_or(window).prefetch();
            shape.is_aligned &= how.is_atomic_at(&window);
            shape.bytes += window.len();
        });
        shape
    }
}

/// Accumulates packed elements into the ranges of a target. Writes the old values to `old` if it is given.
/// `data` may be empty for an operation without an operand. The result says if nothing was done because
/// another process changes the elements.
///
/// # Errors
/// Fails if the operation is not defined for the elements or `data` has incomplete elements.
pub(super) fn try_accumulate(
    stretches: &Stretches<'_>,
    how: Accumulation,
    exclusion: &Exclusion<'_>,
    data: &[u8],
    mut old: Option<&mut [u8]>,
) -> Result<bool> {
    let shape = Shape::of(stretches, how);
    let len = shape.bytes;
    let needs = if how.op == BuiltIn::NoOp { 0 } else { len };
    if how.bytes == 0 || !len.is_multiple_of(how.bytes) || data.len() < needs {
        fail!(Internal, "{} bytes are accumulated into {len} of elements of {}", data.len(), how.bytes);
    }
    let rule = how.rule()?;
    if !shape.is_aligned {
        return change_wide(stretches, how, rule, exclusion, data, (len, old));
    }
    let is_long = exclusion.suits_long(len, how.bytes);
    let (mut _entered, mut _held) = (None, None);
    if is_long {
        _held = exclusion.hold_long();
    } else {
        _entered = exclusion.enter();
    }
    if _entered.is_none() && _held.is_none() {
        return Ok(false);
    }
    let combine = how.element.map(|element| how.op.accumulation(element)).transpose()?;
    stretches(&mut |window, at| {
        let range = at..at + window.len();
        let old = old.as_deref_mut().map(|old| &mut old[range.clone()]);
        let data = data.get(range).unwrap_or(&[]);
        match is_long {
            true if window.len() < SHORT_STRETCH => change_scattered(window, how, rule, data, old),
            true => change_plainly(window, (rule, how.bytes), combine, data, old),
            false => change_run(window, how, rule, data, old),
        }
    });
    Ok(true)
}

/// Changes elements under a lock, since atomic operations of the processor cannot change all of them.
fn change_wide(
    stretches: &Stretches<'_>,
    how: Accumulation,
    rule: Rule,
    exclusion: &Exclusion<'_>,
    data: &[u8],
    (len, old): (usize, Option<&mut [u8]>),
) -> Result<bool> {
    let Some(_held) = exclusion.hold() else { return Ok(false) };
    let mut seen = vec![0; len];
    stretches(&mut |window, at| {
        let seen = &mut seen[at..at + window.len()];
        match how.is_atomic_at(&window) {
            true => change_run(window, how, rule, data.get(at..at + window.len()).unwrap_or(&[]), Some(seen)),
            false => window.read(0, seen),
        }
    });
    if let Some(old) = old {
        old[..len].copy_from_slice(&seen);
    }
    match (rule, how.element) {
        (Rule::Keep, _) => return Ok(true),
        (Rule::Replace, _) => seen.copy_from_slice(&data[..len]),
        (_, Some(element)) => how.op.accumulation(element)?(&mut seen, &data[..len], false),
        (_, None) => return Ok(true),
    }
    stretches(&mut |window, at| {
        if !how.is_atomic_at(&window) {
            window.write(0, &seen[at..at + window.len()]);
        }
    });
    Ok(true)
}

/// Replaces an element by the second operand if it equals the first one byte for byte. Returns the old value.
/// Returns none if it has done nothing because another process changes the elements.
pub(super) fn try_compare_and_swap(
    window: &Window<'_>,
    exclusion: &Exclusion<'_>,
    [compare, new]: [&[u8]; 2],
) -> Option<Vec<u8>> {
    let mut old = vec![0; compare.len()];
    if let Some(element) = window.element(0, compare.len()) {
        let _entered = exclusion.enter()?;
        put_value(element.compare_and_swap(value_of(compare), value_of(new)), &mut old);
        return Some(old);
    }
    let _held = exclusion.hold()?;
    window.read(0, &mut old);
    if old == compare {
        window.write(0, new);
    }
    Some(old)
}

fn sum_of_doubles(a: u64, b: u64) -> u64 {
    (f64::from_bits(a) + f64::from_bits(b)).to_bits()
}

fn sum_of_floats(a: u64, b: u64) -> u64 {
    u64::from((f32::from_bits(a as u32) + f32::from_bits(b as u32)).to_bits())
}

fn add_double(element: AtomicElement<'_>, operand: u64) -> u64 {
    element.update(|old| sum_of_doubles(old, operand))
}

fn add_float(element: AtomicElement<'_>, operand: u64) -> u64 {
    element.update(|old| sum_of_floats(old, operand))
}

#[cfg(test)]
mod tests;
