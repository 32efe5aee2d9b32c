//! The log of instabilities: operations whose result depends on noise.
//!
//! Each thread has one log. It never prints and never writes a file; a program does with [`Instabilities`] what it
//! wants.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;

/// What is watched; see [`Session::watch`](crate::Session::watch).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watch {
    /// Nothing.
    #[default]
    Nothing,
    /// Tests and absolute values. This costs nothing but the counting.
    Tests,
    /// All operations: each computes the accuracy of its operands. In the parallel form an operation does not know the
    /// other samples, so this is [`Watch::Tests`] there.
    Operations,
}

/// A kind of instability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The difference of what is compared is a computed zero.
    Test,
    /// The sign of an absolute value's operand is not known: it is a computed zero.
    AbsoluteValue,
    /// The divisor is a computed zero.
    Division,
    /// Both factors are computed zeros.
    Multiplication,
    /// The operand of a square root is a computed zero.
    SquareRoot,
    /// A sum or difference has lost at least 4 digits against its less accurate operand.
    Cancellation,
}

/// Digits whose loss in one operation is a cancellation.
pub(crate) const CANCELLED_DIGITS: u32 = 4;

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Test => "unstable test",
            Self::AbsoluteValue => "unstable absolute value",
            Self::Division => "unstable division",
            Self::Multiplication => "unstable multiplication",
            Self::SquareRoot => "unstable square root",
            Self::Cancellation => "loss of accuracy by cancellation",
        })
    }
}

/// How often an operation in one place was unstable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instability {
    /// What happened.
    pub kind: Kind,
    /// The source file of the operation.
    pub file: &'static str,
    /// Its line, from 1.
    pub line: u32,
    /// Its column, from 1.
    pub column: u32,
    /// How often it happened.
    pub count: u64,
}

/// What a log holds: one line for each kind and place when it is printed, sorted by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instabilities(pub Vec<Instability>);

impl Instabilities {
    /// How often one kind happened in all places.
    pub fn count(&self, kind: Kind) -> u64 {
        self.0.iter().filter(|one| one.kind == kind).map(|one| one.count).sum()
    }
}

impl fmt::Display for Instabilities {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Instability { kind, file, line, column, count } in &self.0 {
            writeln!(out, "{kind}\t{file}:{line}:{column}\t{count}")?;
        }
        Ok(())
    }
}

type Counts = BTreeMap<(Kind, &'static str, u32, u32), u64>;

thread_local! {
    static WATCHED: Cell<Watch> = const { Cell::new(Watch::Nothing) };
    static COUNTS: RefCell<Counts> = const { RefCell::new(Counts::new()) };
}

/// Watches on this thread from now on.
pub(crate) fn watch(what: Watch) {
    WATCHED.set(what);
}

/// True if `what` is watched on this thread.
#[inline(always)]
pub(crate) fn watches(what: Watch) -> bool {
    WATCHED.get() >= what
}

/// Counts an instability of an operation at `place`.
pub(crate) fn count(kind: Kind, place: &'static Location<'static>) {
    let key = (kind, place.file(), place.line(), place.column());
    COUNTS.with_borrow_mut(|counts| *counts.entry(key).or_default() += 1);
}

/// What this thread has counted.
pub(crate) fn counted() -> Instabilities {
    let entry = |(&(kind, file, line, column), &count): (&(Kind, &'static str, u32, u32), &u64)| {
        Instability { kind, file, line, column, count }
    };
    Instabilities(COUNTS.with_borrow(|counts| counts.iter().map(entry).collect()))
}

/// Forgets what this thread has counted.
pub(crate) fn clear() {
    COUNTS.with_borrow_mut(Counts::clear);
}
