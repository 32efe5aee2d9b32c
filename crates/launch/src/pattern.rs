//! Texts with placeholders for properties of a rank: labels of lines, and names of files.

use std::fmt::Write;
use std::str::FromStr;

use super::time_of_day::TimeOfDay;

/// A text with placeholders. `%r` stands for the rank, `%h` for its host's name, `%p` for its host's number,
/// `%t` for the time in seconds since 1970. `%g` is the number of the group of ranks that were started
/// together, which is 0, and `%%` a per cent sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Pattern, String> {
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            if character == '%' && !matches!(characters.next(), Some('r' | 'h' | 'p' | 't' | 'g' | '%')) {
                return Err(format!(
                    "`{text}`: behind a % stands r for the rank, h for the host, p for its number, t for the time, or another %"
                ));
            }
        }
        Ok(Pattern(text.to_owned()))
    }
}

impl Pattern {
    /// Returns the text for a rank on a host that has a number and a name.
    pub fn of(&self, rank: u32, (host, name): (usize, &str), now: TimeOfDay) -> String {
        let mut text = String::with_capacity(self.0.len() + 8);
        let mut characters = self.0.chars();
        while let Some(character) = characters.next() {
            let kind = if character == '%' { characters.next() } else { None };
            // Writing to a string does not fail.
            let _ = match kind {
                Some('r') => write!(text, "{rank}"),
                Some('h') => write!(text, "{name}"),
                Some('p') => write!(text, "{host}"),
                Some('t') => write!(text, "{}", now.seconds()),
                Some('g') => write!(text, "0"),
                _ => write!(text, "{character}"),
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled() {
        let now = TimeOfDay::now();
        let of = |text: &str| text.parse::<Pattern>().unwrap().of(3, (1, "h1"), now);
        assert_eq!(of("[%r] "), "[3] ");
        assert_eq!(of("out/%h.%p.%g.%r.%t%%r"), format!("out/h1.1.0.3.{}%r", now.seconds()));
        for wrong in ["%", "%x", "a%", "%%%"] {
            assert!(wrong.parse::<Pattern>().is_err(), "{wrong}");
        }
    }
}
