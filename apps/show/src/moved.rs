//! The summary at the end of a run: the data that a job moved between its ranks, and readable numbers.

use std::fmt;
use std::io::Write;
use std::time::Duration;

use canele::{Counter, Snapshot};

/// The protocols of messages: name, counter of messages sent, counter of their bytes.
const PROTOCOLS: [(&str, Counter, Counter); 6] = [
    ("short", Counter::ShortSent, Counter::ShortSentBytes),
    ("eager", Counter::EagerSent, Counter::EagerSentBytes),
    ("streamed", Counter::StreamedSent, Counter::StreamedSentBytes),
    ("direct", Counter::DirectSent, Counter::DirectSentBytes),
    ("put", Counter::PutSent, Counter::PutSentBytes),
    ("local", Counter::LocalSent, Counter::LocalSentBytes),
];

/// The data that one rank, or all ranks of a job together, sent by each protocol.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moved([u64; Self::NUMBERS]);

impl Moved {
    /// The number of its numbers.
    pub const NUMBERS: usize = 2 * PROTOCOLS.len();

    /// Returns the data that a rank sent, from its counters.
    pub fn by(counters: &Snapshot) -> Self {
        let mut numbers = [0; Self::NUMBERS];
        for ((_, messages, bytes), pair) in PROTOCOLS.iter().zip(numbers.chunks_exact_mut(2)) {
            pair.copy_from_slice(&[counters[*messages], counters[*bytes]]);
        }
        Self(numbers)
    }

    /// Returns its numbers, for a sum over the ranks element by element.
    pub fn numbers(&self) -> [u64; Self::NUMBERS] {
        self.0
    }

    /// Makes it from [`Self::numbers`], or from the sums of those of several ranks.
    pub fn from_numbers(numbers: [u64; Self::NUMBERS]) -> Self {
        Self(numbers)
    }
}

impl fmt::Display for Moved {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |place| self.0.chunks_exact(2).map(|pair| pair[place]).sum();
        let (messages, bytes): (u64, u64) = (sum(0), sum(1));
        if messages == 0 {
            return out.write_str("nothing (one rank)");
        }
        write!(out, "{} messages, {}", grouped(messages), readable_bytes(bytes))?;
        let mut before = ": ";
        for ((name, ..), pair) in PROTOCOLS.iter().zip(self.0.chunks_exact(2)) {
            if pair[0] > 0 {
                write!(out, "{before}{} {name} ({})", grouped(pair[0]), readable_bytes(pair[1]))?;
                before = ", ";
            }
        }
        Ok(())
    }
}

/// Returns a part of a whole time as text, for example `12.3 %`.
pub fn percent(part: Duration, whole: Duration) -> String {
    let whole = whole.as_secs_f64().max(f64::MIN_POSITIVE);
    format!("{:.1} %", 100.0 * part.as_secs_f64() / whole)
}

/// Prints a summary on standard output, with a name and a text in each line.
pub fn print_table(lines: &[(&str, String)]) {
    let table: String = lines.iter().map(|(name, text)| format!("{name:<14} {text}\n")).collect();
    // A closed pipe is no reason to fail: the picture is written.
    let _ = std::io::stdout().write_all(table.as_bytes());
}

/// Returns a number with three significant digits: `1.36`, `0.000999`.
pub fn significant(value: f64) -> String {
    let rounded = format!("{value:.2e}").parse().unwrap_or(value);
    format!("{rounded}")
}

/// Returns a count with a comma between groups of three digits: `1,234,567`.
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

/// Returns a number of bytes in a fitting decimal unit: `17 B`, `4.2 kB`, `1.3 GB`.
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
    fn three_digits_are_kept() {
        let expected =
            [(1.364, "1.36"), (9.986e-4, "0.000999"), (0.001, "0.001"), (123.4, "123"), (0.0, "0")];
        for (value, text) in expected {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn only_protocols_that_carried_something_are_named() {
        let moved = Moved::from_numbers([10, 400, 0, 0, 2, 3000, 0, 0, 0, 0, 0, 0]);
        assert_eq!(moved.to_string(), "12 messages, 3.4 kB: 10 short (400 B), 2 streamed (3.0 kB)");
        assert_eq!(Moved::default().to_string(), "nothing (one rank)");
    }

    #[test]
    fn a_part_of_no_time_is_nothing() {
        assert_eq!(percent(Duration::from_millis(123), Duration::from_secs(1)), "12.3 %");
        assert_eq!(percent(Duration::ZERO, Duration::ZERO), "0.0 %");
    }
}
