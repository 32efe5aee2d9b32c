//! The summary at the end of a run: what a job moved between its ranks, and readable numbers.

use std::fmt;
use std::io::Write;

/// Sums over all ranks of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moved {
    /// Messages sent.
    pub messages: u64,
    /// Bytes of user data in those messages.
    pub bytes: u64,
    /// Messages per protocol, in the order to print; those with none are not printed.
    pub protocols: Vec<(&'static str, u64)>,
}

impl fmt::Display for Moved {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.messages == 0 {
            return out.write_str("nothing (one rank)");
        }
        write!(out, "{} messages, {}", grouped(self.messages), readable_bytes(self.bytes))?;
        let used = self.protocols.iter().filter(|(_, count)| *count > 0);
        for (nth, (name, count)) in used.enumerate() {
            let before = if nth == 0 { " (" } else { ", " };
            write!(out, "{before}{} {name}", grouped(*count))?;
        }
        if self.protocols.iter().any(|(_, count)| *count > 0) {
            out.write_str(")")?;
        }
        Ok(())
    }
}

/// Prints a summary on standard output: a name and a text in each line.
pub fn print_table(lines: &[(&str, String)]) {
    let table: String = lines.iter().map(|(name, text)| format!("{name:<14} {text}\n")).collect();
    // A reader that left (a closed pipe) is no reason to fail: the picture is written.
    let _ = std::io::stdout().write_all(table.as_bytes());
}

/// A count with a comma between groups of three digits: `1,234,567`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes in the decimal unit that fits: `17 B`, `4.2 kB`, `1.3 GB`.
pub fn readable_bytes(bytes: u64) -> String {
    let units = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let fits = units.iter().find(|(_, size)| bytes as f64 >= *size);
    match fits {
        Some((name, size)) => format!("{:.1} {name}", bytes as f64 / size),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_three() {
        let expected =
            [(0, "0"), (999, "999"), (1000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567")];
        for (count, text) in expected {
            assert_eq!(grouped(count), text);
        }
    }

    #[test]
    fn bytes_take_the_unit_that_fits() {
        let expected = [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (2_500_000, "2.5 MB")];
        for (bytes, text) in expected {
            assert_eq!(readable_bytes(bytes), text);
        }
    }

    #[test]
    fn only_protocols_that_carried_something_are_named() {
        let moved = Moved {
            messages: 12,
            bytes: 3400,
            protocols: vec![("short", 10), ("eager", 0), ("rendezvous", 2)],
        };
        assert_eq!(moved.to_string(), "12 messages, 3.4 kB (10 short, 2 rendezvous)");
        assert_eq!(Moved::default().to_string(), "nothing (one rank)");
    }
}
