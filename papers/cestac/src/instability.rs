//! The log of instabilities: operations whose result depends on rounding noise.
//!
//! Each thread has one log. It never prints and never writes a file; the program uses [`Instabilities`] as it
//! likes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;

/// The operations that are watched; see [`Session::watch`](crate::Session::watch).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watch {
    /// No operation is watched.
    #[default]
    Nothing,
    /// Tests and absolute values are watched. This costs only the counting.
    Tests,
    /// All operations are watched: each computes the accuracy of its operands. In the parallel form this is
    /// the same as [`Watch::Tests`], because an operation does not know the other samples.
    Operations,
}

/// A kind of instability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The difference of the compared numbers is a computed zero.
    Test,
    /// The sign of an absolute value's operand is unknown: it is a computed zero.
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

/// Loss of digits in one operation that counts as a cancellation.
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

/// The count of an unstable operation in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instability {
    /// The kind of the instability.
    pub kind: Kind,
    /// The source file of the operation.
    pub file: &'static str,
    /// Its line, from 1.
    pub line: u32,
    /// Its column, from 1.
    pub column: u32,
    /// The count.
    pub count: u64,
}

/// The content of a log, sorted by kind. Printing it gives one line for each kind and place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instabilities(pub Vec<Instability>);

impl Instabilities {
    /// Returns the count of one kind in all places.
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

/// Watches these operations on this thread from now on.
pub(crate) fn watch(what: Watch) {
    WATCHED.set(what);
}

/// Returns true if `what` is watched on this thread.
#[inline(always)]
pub(crate) fn watches(what: Watch) -> bool {
    WATCHED.get() >= what
}

/// Counts an instability of an operation at `place`.
pub(crate) fn count(kind: Kind, place: &'static Location<'static>) {
    let key = (kind, place.file(), place.line(), place.column());
    COUNTS.with_borrow_mut(|counts| *counts.entry(key).or_default() += 1);
}

/// Returns the counts of this thread.
pub(crate) fn counted() -> Instabilities {
    let entry = |(&(kind, file, line, column), &count): (&(Kind, &'static str, u32, u32), &u64)| {
        Instability { kind, file, line, column, count }
    };
    Instabilities(COUNTS.with_borrow(|counts| counts.iter().map(entry).collect()))
}

/// Clears the counts of this thread.
pub(crate) fn clear() {
    COUNTS.with_borrow_mut(Counts::clear);
}
