//! The numbers of a datatype, in the order of its type map.
//!
//! This module owns a tree as compact as the constructor calls: a million equal blocks are one node. It does
//! not know the places of numbers, which are in the layout.

use std::sync::Arc;

use super::basic::{Basic, BasicKind};
use crate::Result;

/// Numbers in type-map order.
#[derive(Clone, Debug)]
pub(super) enum BasicElements {
    /// A number of one basic type.
    Run(Basic, usize),
    Repeat(Arc<Repeat>),
    List(Arc<ElementList>),
}

#[derive(Debug)]
pub(super) struct Repeat {
    count: usize,
    inner: BasicElements,
    totals: Totals,
}

#[derive(Debug)]
pub(super) struct ElementList {
    /// Each part with the totals of those before it.
    parts: Box<[(Totals, BasicElements)]>,
    totals: Totals,
}

/// The totals of numbers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Totals {
    /// Size in memory in bytes.
    pub bytes: usize,
    /// Number of numbers; a pair counts as two.
    pub elements: usize,
    /// Size in the representation "external32" in bytes.
    pub external: usize,
}

impl Totals {
    fn times(self, count: usize) -> Option<Totals> {
        Some(Totals {
            bytes: self.bytes.checked_mul(count)?,
            elements: self.elements.checked_mul(count)?,
            external: self.external.checked_mul(count)?,
        })
    }

    fn plus(self, other: Totals) -> Option<Totals> {
        Some(Totals {
            bytes: self.bytes.checked_add(other.bytes)?,
            elements: self.elements.checked_add(other.elements)?,
            external: self.external.checked_add(other.external)?,
        })
    }

    fn of(basic: Basic) -> Totals {
        Totals { bytes: basic.size(), elements: basic.elements(), external: basic.external_size() }
    }
}

impl BasicElements {
    pub const NONE: BasicElements = BasicElements::Run(Basic::Byte, 0);

    pub fn totals(&self) -> Totals {
        match self {
            // The product of a run never overflows.
            BasicElements::Run(basic, count) => Totals::of(*basic).times(*count).unwrap_or_default(),
            BasicElements::Repeat(repeat) => repeat.totals,
            BasicElements::List(list) => list.totals,
        }
    }

    /// Returns `count` copies; none if the totals overflow.
    pub fn repeated(&self, count: usize) -> Option<BasicElements> {
        let totals = self.totals().times(count)?;
        Some(match self {
            _ if totals.bytes == 0 => BasicElements::NONE,
            _ if count == 1 => self.clone(),
            BasicElements::Run(basic, n) => BasicElements::Run(*basic, n * count),
            BasicElements::Repeat(r) => BasicElements::repeat(r.inner.clone(), r.count * count, totals),
            BasicElements::List(_) => BasicElements::repeat(self.clone(), count, totals),
        })
    }

    fn repeat(inner: BasicElements, count: usize, totals: Totals) -> BasicElements {
        BasicElements::Repeat(Arc::new(Repeat { count, inner, totals }))
    }

    /// Returns the concatenation; none if the totals overflow.
    pub fn sequence(all: impl IntoIterator<Item = BasicElements>) -> Option<BasicElements> {
        let mut parts: Vec<BasicElements> = Vec::new();
        for part in all.into_iter().filter(|part| part.totals().bytes > 0) {
            match (parts.last_mut(), &part) {
                (Some(BasicElements::Run(last, n)), BasicElements::Run(basic, more)) if last == basic => {
                    *n = n.checked_add(*more)?;
                }
                (Some(BasicElements::Repeat(last)), BasicElements::Repeat(r))
                    if last.inner.is_same(&r.inner) =>
                {
                    let (count, totals) = (last.count.checked_add(r.count)?, last.totals.plus(r.totals)?);
                    *last = Arc::new(Repeat { count, inner: r.inner.clone(), totals });
                }
                (Some(last), part) if last.is_same(part) => *last = last.repeated(2)?,
                (Some(BasicElements::Repeat(last)), part) if last.inner.is_same(part) => {
                    let (count, totals) = (last.count.checked_add(1)?, last.totals.plus(part.totals())?);
                    *last = Arc::new(Repeat { count, inner: part.clone(), totals });
                }
                _ => parts.push(part),
            }
        }
        let mut totals = Totals::default();
        let mut listed = Vec::with_capacity(parts.len());
        for part in parts {
            let before = totals;
            totals = totals.plus(part.totals())?;
            listed.push((before, part));
        }
        Some(match listed.len() {
            0 => BasicElements::NONE,
            1 => listed.remove(0).1,
            _ => BasicElements::List(Arc::new(ElementList { parts: listed.into(), totals })),
        })
    }

    /// Returns true if both are known to be equal without comparing lists.
    fn is_same(&self, other: &BasicElements) -> bool {
        match (self, other) {
            (BasicElements::Run(a, m), BasicElements::Run(b, n)) => (a, m) == (b, n),
            (BasicElements::List(a), BasicElements::List(b)) => Arc::ptr_eq(a, b),
            (BasicElements::Repeat(a), BasicElements::Repeat(b)) => {
                a.count == b.count && a.inner.is_same(&b.inner)
            }
            _ => false,
        }
    }

    /// Returns the number of complete numbers in the first `bytes` bytes, which must exist.
    pub fn within(&self, bytes: usize) -> usize {
        match self {
            BasicElements::Run(basic, _) => {
                let cut = bytes % basic.size();
                let first = match basic.kind() {
                    BasicKind::Pair(value, _) => usize::from(cut >= value.size()),
                    _ => 0,
                };
                bytes / basic.size() * basic.elements() + first
            }
            BasicElements::Repeat(r) => {
                let one = r.inner.totals();
                bytes / one.bytes * one.elements + r.inner.within(bytes % one.bytes)
            }
            BasicElements::List(list) => {
                let at = list.parts.partition_point(|(before, _)| before.bytes <= bytes) - 1;
                let (before, part) = &list.parts[at];
                before.elements + part.within((bytes - before.bytes).min(part.totals().bytes))
            }
        }
    }

    /// Returns the size in bytes of the first `elements` numbers, which must exist.
    pub fn bytes_of(&self, elements: usize) -> usize {
        match self {
            BasicElements::Run(basic, _) => {
                let first = match basic.kind() {
                    BasicKind::Pair(value, _) => value.size() * (elements % 2),
                    _ => 0,
                };
                elements / basic.elements() * basic.size() + first
            }
            BasicElements::Repeat(r) => {
                let one = r.inner.totals();
                elements / one.elements * one.bytes + r.inner.bytes_of(elements % one.elements)
            }
            BasicElements::List(list) => {
                let at = list.parts.partition_point(|(before, _)| before.elements <= elements) - 1;
                let (before, part) = &list.parts[at];
                before.bytes + part.bytes_of((elements - before.elements).min(part.totals().elements))
            }
        }
    }

    /// Calls `each` for the runs, in order.
    pub fn runs(&self, each: &mut impl FnMut(Basic, usize) -> Result<()>) -> Result<()> {
        match self {
            BasicElements::Run(_, 0) => Ok(()),
            BasicElements::Run(basic, count) => each(*basic, *count),
            BasicElements::Repeat(r) => (0..r.count).try_for_each(|_| r.inner.runs(each)),
            BasicElements::List(list) => list.parts.iter().try_for_each(|(_, part)| part.runs(each)),
        }
    }
}
