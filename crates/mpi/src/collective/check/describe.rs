//! The description of a call: values that must be equal on all ranks, and a text.

use std::hash::{Hash, Hasher};

use canele_engine::collective::Root;
use rustc_hash::FxHasher;

use super::super::reduce::Reducing;
use super::super::side::TypedPart;
use crate::data::Elements;
use crate::datatype::{BasicKind, Datatype};

/// A value that equals any other.
pub(super) const ANY: u64 = u64::MAX;

/// A call in the form that its members compare.
#[derive(Clone)]
pub(crate) struct Description {
    /// The name of the function's blocking form.
    pub name: &'static str,
    /// The root, as a rank of the root's group.
    pub root: u64,
    /// A hash of the operation.
    pub op: u64,
    /// The type signature of a rank's data.
    pub data: u64,
    /// The type signature of data from the other group of an intercommunicator.
    pub taken: u64,
    /// The type signature of this rank's part in the list of another rank.
    pub part: u64,
    /// The type signatures of this rank's list, one for each peer, if it has a list.
    pub expected: Vec<u64>,
    /// The arguments as a text.
    pub arguments: String,
}

impl Description {
    /// Makes the description of a call without arguments.
    pub fn new(name: &'static str) -> Self {
        let (expected, arguments) = (Vec::new(), String::new());
        Self { name, root: ANY, op: ANY, data: ANY, taken: ANY, part: ANY, expected, arguments }
    }

    /// Sets the root. `rank` is this rank, which is the root of an intercommunicator for [`Root::Here`].
    pub fn root(mut self, root: Root, rank: usize) -> Self {
        let (number, text) = match root {
            Root::At(n) => (u64::from(n), format!("root {n}")),
            Root::Here => (rank as u64, "root MPI_ROOT".to_owned()),
            Root::Elsewhere => (ANY, "root MPI_PROC_NULL".to_owned()),
        };
        self.root = number;
        self.argument(&text)
    }

    /// Sets the operation.
    pub fn reducing(mut self, by: &Reducing) -> Self {
        let mut hasher = FxHasher::default();
        (by.name, by.commutative).hash(&mut hasher);
        self.op = hasher.finish() >> 1;
        self.argument(&format!("op {}", by.name))
    }

    /// Sets the data of a rank.
    pub fn elements<M>(mut self, elements: &Elements<M>) -> Self {
        self.data = signature(elements.count, &elements.of);
        let text = format!("count {} of {}", elements.count, named(&elements.of));
        self.argument(&text)
    }

    /// Sets the data of a rank, if there is any.
    pub fn elements_if<M>(self, elements: Option<&Elements<M>>) -> Self {
        match elements {
            Some(elements) => self.elements(elements),
            None => self,
        }
    }

    /// Sets the data taken from the other group.
    pub fn taken<M>(mut self, elements: &Elements<M>) -> Self {
        self.taken = signature(elements.count, &elements.of);
        self
    }

    /// Sets the part that another rank has in its list, if this rank has one.
    pub fn part<M>(mut self, elements: Option<&Elements<M>>) -> Self {
        let Some(elements) = elements else { return self };
        self.part = signature(elements.count, &elements.of);
        let text = format!("count {} of {}", elements.count, named(&elements.of));
        self.argument(&text)
    }

    /// Sets parts that must be equal on all ranks.
    pub fn same_parts(mut self, parts: &[TypedPart]) -> Self {
        self.data = list(parts.iter().map(|(count, _, of)| signature(*count, of)));
        self.parts(parts)
    }

    /// Sets a part for each peer.
    pub fn parts(mut self, parts: &[TypedPart]) -> Self {
        self.expected = parts.iter().map(|(count, _, of)| signature(*count, of)).collect();
        let counts: Vec<usize> = parts.iter().map(|(count, _, _)| *count).collect();
        let of = parts.first().map_or(String::new(), |(_, _, of)| format!(" of {}", named(of)));
        self.argument(&format!("counts {counts:?}{of}"))
    }

    /// Sets counts that must be equal on all ranks.
    pub fn counts(mut self, counts: &[usize], of: &Datatype) -> Self {
        self.data = list(counts.iter().map(|count| signature(*count, of)));
        let text = format!("counts {counts:?} of {}", named(of));
        self.argument(&text)
    }

    fn argument(mut self, text: &str) -> Self {
        if !self.arguments.is_empty() {
            self.arguments += ", ";
        }
        self.arguments += text;
        self
    }
}

fn named(of: &Datatype) -> String {
    let name = of.name();
    if name.is_empty() { format!("a datatype of {} bytes", of.size()) } else { name }
}

fn list(signatures: impl Iterator<Item = u64>) -> u64 {
    let mut hasher = FxHasher::default();
    signatures.for_each(|signature| hasher.write_u64(signature));
    hasher.finish() >> 1
}

/// Returns a hash of the basic types of `count` elements (MPI 5.0, §5.1). Returns [`ANY`] if packed data is
/// among them.
pub(super) fn signature(count: usize, of: &Datatype) -> u64 {
    let mut one = Sequence::EMPTY;
    let mut is_packed = false;
    of.each_run(|basic, n| {
        is_packed |= basic.kind() == BasicKind::Packed;
        let mut hasher = FxHasher::default();
        (basic.kind(), basic.size()).hash(&mut hasher);
        one = one.then(Sequence { hash: hasher.finish() | 1, power: BASE }.times(n));
    });
    if is_packed { ANY } else { one.times(count).hash >> 1 }
}

/// A polynomial hash of a sequence; the hash of a concatenation follows from those of its parts.
#[derive(Clone, Copy)]
struct Sequence {
    hash: u64,
    /// The base to the power of the length.
    power: u64,
}

const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

impl Sequence {
    const EMPTY: Self = Self { hash: 0, power: 1 };

    fn then(self, next: Self) -> Self {
        Self {
            hash: self.hash.wrapping_mul(next.power).wrapping_add(next.hash),
            power: self.power.wrapping_mul(next.power),
        }
    }

    fn times(self, n: usize) -> Self {
        let (mut all, mut doubled, mut rest) = (Self::EMPTY, self, n);
        while rest > 0 {
            if rest & 1 != 0 {
                all = all.then(doubled);
            }
            (doubled, rest) = (doubled.then(doubled), rest >> 1);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::{Basic, Width};

    #[test]
    fn a_signature_is_of_basic_types_in_their_order_alone() {
        let [int, float, byte] = [Basic::Int, Basic::Float, Basic::Packed].map(Datatype::basic);
        let four = Datatype::contiguous(Width::Int, 4, int).unwrap();
        assert_eq!(signature(12, int), signature(3, &four));
        let strided = Datatype::vector(Width::Int, 2, 3, 5, int).unwrap();
        assert_eq!(signature(2, &strided), signature(12, int));
        assert_ne!(signature(12, int), signature(12, float));
        assert_ne!(signature(12, int), signature(11, int));
        assert_eq!(signature(0, int), signature(0, float));
        assert_eq!(signature(3, byte), ANY);
    }
}
