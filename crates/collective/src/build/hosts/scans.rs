//! Scans of hosts whose members follow each other: a scan inside each host, and one between the last members
//! of all hosts. These have the sums of their hosts. Operands keep their order.
//!
//! ```text
//!   members: prefix inside ─▶ last member ═▶ sum of all hosts before ─▶ members add it in front
//! ```

use super::Levels;
use super::leaders::spread;
use crate::build::one_level;
use crate::schedule::{ScheduleDraft, Span};
use crate::spec::{Operation, Shape};

/// Builds a scan whose leaders are the last members of hosts. With `exclusive` no member's result has its own
/// input, and the first member's is not touched.
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

/// Scans inside this host. Returns the sum of all its members at the leader; its last operand may be written
/// over meanwhile.
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
