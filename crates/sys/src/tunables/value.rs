//! Values of tunables: how the environment writes each type, and which values are allowed.

use std::fmt;

use crate::port_range::PortRange;

/// 1024 bytes.
pub(super) const KIB: u64 = 1 << 10;
/// 1024 KiB.
pub(super) const MIB: u64 = 1 << 20;

/// The way in which a rank waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Looks for a while, then yields, then sleeps.
    Adaptive,
    /// Looks until the event happens.
    Poll,
    /// Sleeps until woken.
    Sleep,
}

impl Wait {
    pub(super) const NAMES: &'static [&'static str] = &["adaptive", "poll", "sleep"];
    const ALL: [Wait; 3] = [Wait::Adaptive, Wait::Poll, Wait::Sleep];
}

/// The values that a tunable may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// Any number from the first to the last, both included.
    Between(u64, u64),
    /// Any power of two from the first to the last, both included.
    PowerOfTwo(u64, u64),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A range of TCP ports, or nothing.
    Ports,
    /// Any text.
    Text,
}

impl Allowed {
    fn number(&self, number: u64) -> bool {
        match *self {
            Allowed::Between(first, last) => (first..=last).contains(&number),
            Allowed::PowerOfTwo(first, last) => number.is_power_of_two() && (first..=last).contains(&number),
            Allowed::OneOf(_) | Allowed::Ports | Allowed::Text => false,
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Allowed::Between(first, last) => write!(f, "{first} to {last}"),
            Allowed::PowerOfTwo(first, last) => write!(f, "a power of two from {first} to {last}"),
            Allowed::OneOf(words) => f.write_str(&words.join(" or ")),
            Allowed::Ports => f.write_str("a range of ports from 1 to 65535, such as 50000-50999"),
            Allowed::Text => f.write_str("a text"),
        }
    }
}

/// A type that a tunable may have.
pub(super) trait Value: Sized {
    /// Returns the value written as `text`, if it is an allowed one.
    fn read(text: &str, allowed: &Allowed) -> Option<Self>;
    /// Returns the value as `read` understands it.
    fn write(&self) -> String;
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Value for $type {
            fn read(text: &str, allowed: &Allowed) -> Option<Self> {
                let number = number(text).filter(|&number| allowed.number(number))?;
                number.try_into().ok()
            }

            fn write(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
numbers!(u32 u64 usize);

impl Value for bool {
    fn read(text: &str, _allowed: &Allowed) -> Option<Self> {
        match text {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    fn write(&self) -> String {
        u8::from(*self).to_string()
    }
}

impl Value for String {
    fn read(text: &str, _allowed: &Allowed) -> Option<Self> {
        Some(text.to_owned())
    }

    fn write(&self) -> String {
        self.clone()
    }
}

impl Value for PortRange {
    fn read(text: &str, _allowed: &Allowed) -> Option<Self> {
        PortRange::read(text)
    }

    fn write(&self) -> String {
        self.to_string()
    }
}

/// Reads one of the allowed words.
impl Value for &'static str {
    fn read(text: &str, allowed: &Allowed) -> Option<Self> {
        let Allowed::OneOf(words) = *allowed else { return None };
        words.iter().copied().find(|word| *word == text)
    }

    fn write(&self) -> String {
        (*self).to_owned()
    }
}

impl Value for Wait {
    fn read(text: &str, _allowed: &Allowed) -> Option<Self> {
        let index = Wait::NAMES.iter().position(|&name| name == text)?;
        Some(Wait::ALL[index])
    }

    fn write(&self) -> String {
        Wait::NAMES[*self as usize].to_owned()
    }
}

/// Parses digits with an optional K, M or G for 1024 and its powers.
fn number(text: &str) -> Option<u64> {
    let (digits, factor) = match text.char_indices().last()? {
        (end, 'K' | 'k') => (&text[..end], KIB),
        (end, 'M' | 'm') => (&text[..end], MIB),
        (end, 'G' | 'g') => (&text[..end], 1024 * MIB),
        _ => (text, 1),
    };
    // `parse` alone would accept a leading plus.
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse::<u64>().ok()?.checked_mul(factor))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_suffixes() {
        for (text, expected) in [("0", 0), ("64", 64), ("16K", 16 << 10), ("3m", 3 << 20), ("2G", 2 << 30)] {
            assert_eq!(number(text), Some(expected), "{text}");
        }
        for text in ["", "K", "+1", "-1", "1.5", "1KB", "0x10", " 1", "99999999999G", "1é"] {
            assert_eq!(number(text), None, "{text}");
        }
    }

    #[test]
    fn words_stand_in_the_order_of_the_type() {
        for (name, wait) in Wait::NAMES.iter().zip(Wait::ALL) {
            assert_eq!(Wait::read(name, &Allowed::OneOf(Wait::NAMES)), Some(wait));
            assert_eq!(wait.write(), *name);
        }
    }
}
