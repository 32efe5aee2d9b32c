//! The output of findings: a table for people, one JSON object for programs.

use super::finding::{Finding, Level, Section};

/// Most machines of a section that are named.
const MOST_NAMES: usize = 8;

/// Merges the sections of machines with equal findings, in the order of the first of each.
pub fn merged(sections: Vec<Section>) -> Vec<Section> {
    let mut merged: Vec<Section> = Vec::new();
    for section in sections {
        match merged.iter_mut().find(|known| known.findings == section.findings) {
            Some(known) => known.of.extend(section.of),
            None => merged.push(section),
        }
    }
    merged
}

/// Returns the worst level of all.
pub fn worst(sections: &[Section]) -> Level {
    let all = sections.iter().flat_map(|section| &section.findings);
    all.map(|finding| finding.level).max().unwrap_or(Level::Ok)
}

/// Returns the findings as a table, with the remedy below each finding that has one.
pub fn text(sections: &[Section]) -> String {
    let mut lines = Vec::new();
    for section in sections {
        lines.push(title(&section.of));
        for finding in &section.findings {
            let Finding { level, what, value, remedy } = finding;
            let mut value_lines = value.lines();
            let first = value_lines.next().unwrap_or_default();
            lines.push(format!("  {:<8} {what:<18} {first}", level.word()));
            lines.extend(value_lines.map(|line| format!("  {:27} {line}", "")));
            if !remedy.is_empty() {
                lines.push(format!("  {:27} → {remedy}", ""));
            }
        }
        lines.push(String::new());
    }
    let count = |level: Level| {
        sections.iter().flat_map(|section| &section.findings).filter(|finding| finding.level == level).count()
    };
    let some = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    lines.push(format!(
        "{}, {}",
        some(count(Level::Problem), "problem"),
        some(count(Level::Remark), "remark")
    ));
    lines.join("\n")
}

fn title(names: &[String]) -> String {
    let left = names.len().saturating_sub(MOST_NAMES);
    let more = if left > 0 { format!(" and {left} more") } else { String::new() };
    names[..names.len() - left].join(", ") + &more
}

/// Returns the findings as one JSON object: the worst level and the sections.
pub fn json(sections: &[Section]) -> String {
    let object = serde_json::json!({
        "version": env!("CARGO_PKG_VERSION"), "level": worst(sections), "sections": sections,
    });
    object.to_string()
}

#[cfg(test)]
mod tests {
    use super::super::finding::{ok, problem, remark};
    use super::*;

    #[test]
    fn machines_alike_share_a_section_and_the_worst_level_counts() {
        let section = |of: &str, findings| Section { of: vec![of.into()], findings };
        let good = || vec![ok("memory", "much")];
        let bad = vec![remark("stack", "small", "raise it"), problem("version", "0.0.9", "install 0.1.0")];
        let sections = merged(vec![section("h0", good()), section("h1", bad), section("h2", good())]);
        assert_eq!(sections.iter().map(|section| section.of.join(" ")).collect::<Vec<_>>(), ["h0 h2", "h1"]);
        assert_eq!((worst(&sections), worst(&sections[..1])), (Level::Problem, Level::Ok));
        let printed = text(&sections);
        assert!(printed.contains("h0, h2\n  ok       memory             much\n"), "{printed}");
        assert!(
            printed.contains("→ install 0.1.0\n") && printed.ends_with("1 problem, 1 remark"),
            "{printed}"
        );
        let read: serde_json::Value = serde_json::from_str(&json(&sections)).unwrap();
        assert_eq!((&read["level"], &read["sections"][0]["of"][1]), (&"problem".into(), &"h2".into()));
    }
}
