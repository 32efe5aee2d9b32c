//! Scans of hosts whose members follow each other: a scan inside each host, and one between the last members of all hosts, each of which has what
//! its host has together. Operands keep their order.
//!
//! ```text
//!   members: what those up to each have ─▶ last member ═▶ what all hosts before have ─▶ members add it in front
//! ```

use super::Levels;
use super::leaders::spread;
use crate::build::{flat, short};
use crate::choose::Algorithm;
use crate::schedule::{ScheduleDraft, Span};
use crate::spec::{Operation, Shape};

/// The leader of each host is its last member. With `exclusive` no member's result has its own input, and the first member's is not touched.
pub(crate) fn scan(
    s: &mut ScheduleDraft<'_>,
    levels: &Levels<'_>,
    input: Span,
    result: Span,
    exclusive: bool,
) {
    let total = match exclusive {
        true => exclusive_inside(s, levels, input, result),
        false => {
            inside(s, levels, input, result, false);
            result
        }
    };
    let is_first_host = levels.host == 0;
    let before = if is_first_host { Span::NOTHING } else { s.scratch(input.len) };
    if levels.is_leader() {
        let across = levels.across(s);
        short::exscan(s, across, total, before);
    }
    if is_first_host {
        return;
    }
    spread(s, levels, before);
    if exclusive && levels.place == 0 {
        s.copy(before, result);
    } else {
        s.reduce(before, result, true);
    }
}

/// A scan of this host's members.
fn inside(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, input: Span, result: Span, exclusive: bool) {
    let inside = levels.inside(s);
    let shape = Shape::new(Operation::Scan, input.len);
    match inside.is_faster(shape, Algorithm::Flat, Algorithm::Doubling) {
        true => flat::scan(s, inside, input, result, exclusive),
        false if exclusive => short::exscan(s, inside, input, result),
        false => short::scan(s, inside, input, result),
    }
}

/// As `inside`; gives at the leader what all members of the host have together, whose last operand may be written over meanwhile.
fn exclusive_inside(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, input: Span, result: Span) -> Span {
    if !levels.is_leader() {
        inside(s, levels, input, result, true);
        return Span::NOTHING;
    }
    let total = s.scratch(input.len);
    s.round().copy(input, total);
    inside(s, levels, input, result, true);
    if levels.place > 0 {
        s.reduce(result, total, true);
    }
    total
}
