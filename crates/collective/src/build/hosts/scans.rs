//! Scans of hosts whose members follow each other: a scan inside each host, and one between the last members of all hosts, each of which has what
//! its host has together. Operands keep their order.
//!
//! ```text
//!   members: what those up to each have ─▶ last member ═▶ what all hosts before have ─▶ members add it in front
//! ```

use super::Levels;
use super::leaders::spread;
use crate::build::one_level;
use crate::schedule::{ScheduleDraft, Span};
use crate::spec::{Operation, Shape};

/// The leader of each host is its last member. With `exclusive` no member's result has its own input, and the first member's is not touched.
pub(crate) fn scan(
    s: &mut ScheduleDraft<'_>,
    levels: &Levels<'_>,
    input: Span,
    (result, element): (Span, usize),
    exclusive: bool,
) {
    let total = inside(s, levels, input, (result, element), exclusive);
    let is_first_host = levels.host == 0;
    let before = if is_first_host { Span::NOTHING } else { s.scratch(input.len) };
    if levels.is_leader() {
        let across = levels.across(s);
        let algorithm = across.choose(Shape { element, ..Shape::new(Operation::Exscan, input.len) });
        one_level::scan(s, (across, algorithm), total, (before, element), true);
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

/// A scan of this host's members. Gives at the leader what all of them have together, whose last operand may be written over meanwhile.
fn inside(
    s: &mut ScheduleDraft<'_>,
    levels: &Levels<'_>,
    input: Span,
    (result, element): (Span, usize),
    exclusive: bool,
) -> Span {
    let inside = levels.inside(s);
    let algorithm = inside.choose(Shape { element, ..Shape::new(Operation::Scan, input.len) });
    let is_apart = exclusive && levels.is_leader();
    let total = if is_apart { s.scratch(input.len) } else { result };
    if is_apart {
        s.round().copy(input, total);
    }
    one_level::scan(s, (inside, algorithm), input, (result, element), exclusive);
    if is_apart && levels.place > 0 {
        s.reduce(result, total, true);
    }
    total
}
