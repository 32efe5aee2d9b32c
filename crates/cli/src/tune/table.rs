//! The table of a measured profile: each figure with its spread, and the figures that were not measured.

use super::figures::{TunedProfile, TunedRow};

/// Spread above which a figure is marked.
const WIDE: f64 = 0.1;

/// Returns the table.
pub fn table(tuned: &TunedProfile) -> String {
    let machine = &tuned.profile.machine;
    let mut lines = vec![
        format!("{}, {} processors, Linux {}", machine.model, machine.processors, machine.kernel),
        format!("caches: {}", machine.cache_words()),
        String::new(),
        format!("{:<38} {:>10} {:<5} {:>7}", "figure", "median", "", "spread"),
    ];
    lines.extend(tuned.rows.iter().map(line));
    if tuned.profile.host.single_copy.is_none() {
        lines
            .push("host.single_copy: the kernel refuses single copies here; `canele doctor` says why".into());
    }
    let wide = tuned.rows.iter().filter(|row| row.spread.is_some_and(|spread| spread > WIDE)).count();
    if wide > 0 {
        lines.push(format!("\n{wide} figures spread by more than 10 %: other programs disturb them, or the machine does; measure again while it is idle"));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn line(row: &TunedRow) -> String {
    let TunedRow { key, value, unit, spread, remark } = row;
    let spread = match spread {
        Some(spread) => format!("{:.0} %{}", spread * 100.0, if *spread > WIDE { "!" } else { " " }),
        None => "- ".into(),
    };
    format!("{key:<38} {value:>10} {unit:<5} {spread:>7}  {remark}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_show_value_unit_spread_and_remark() {
        let row = |spread, remark: &str| TunedRow {
            key: "host.copy.near".into(),
            value: 40_000,
            unit: "B/µs",
            spread,
            remark: remark.into(),
        };
        let words =
            |row: &TunedRow| line(row).split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
        assert_eq!(words(&row(Some(0.04), "")), "host.copy.near 40000 B/µs 4 %");
        assert_eq!(words(&row(Some(0.25), "")), "host.copy.near 40000 B/µs 25 %!");
        assert_eq!(words(&row(None, "built in: x")), "host.copy.near 40000 B/µs - built in: x");
    }
}
