//! Conversion of numbers between this machine's representation and "external32" (MPI 5.0, §14.5.2):
//! big-endian, IEEE, packed without gaps.
//!
//! This module owns the external sizes and the conversion of one number. A number that does not fit into a
//! shorter external one is an error; it is never truncated.

use super::basic::{Basic, BasicKind, Format};
use crate::{Result, fail};

/// The conversion of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Code {
    /// A number of this many bytes, in reverse order.
    Reverse(usize),
    /// A signed integer of 8 bytes in memory, 4 in "external32".
    ShorterSigned,
    /// An unsigned integer of 8 bytes in memory, 4 in "external32".
    ShorterUnsigned,
    /// A character of 4 bytes in memory, 2 in "external32".
    ShorterCharacter,
    /// A number of 80 bits in memory, 128 in "external32".
    Extended,
}

/// The conversion of C's `long double`.
const LONG_DOUBLE: Code = if cfg!(target_arch = "x86_64") { Code::Extended } else { Code::Reverse(16) };

impl Code {
    pub const fn native_size(self) -> usize {
        match self {
            Code::Reverse(size) => size,
            Code::ShorterSigned | Code::ShorterUnsigned => 8,
            Code::ShorterCharacter => 4,
            Code::Extended => 16,
        }
    }

    pub const fn external_size(self) -> usize {
        match self {
            Code::Reverse(size) => size,
            Code::ShorterSigned | Code::ShorterUnsigned => 4,
            Code::ShorterCharacter => 2,
            Code::Extended => 16,
        }
    }

    /// Converts the number in `from` to "external32" in `to`; both have its size.
    pub fn encode(self, from: &[u8], to: &mut [u8]) -> Result<()> {
        match self {
            Code::Reverse(_) => reverse(from, to),
            Code::ShorterSigned => {
                let value = i64::from_ne_bytes(array(from));
                match i32::try_from(value) {
                    Ok(short) => to.copy_from_slice(&short.to_be_bytes()),
                    Err(_) => return too_long(value, 4),
                }
            }
            Code::ShorterUnsigned => {
                let value = u64::from_ne_bytes(array(from));
                match u32::try_from(value) {
                    Ok(short) => to.copy_from_slice(&short.to_be_bytes()),
                    Err(_) => return too_long(value, 4),
                }
            }
            Code::ShorterCharacter => {
                let value = u32::from_ne_bytes(array(from));
                match u16::try_from(value) {
                    Ok(short) => to.copy_from_slice(&short.to_be_bytes()),
                    Err(_) => return too_long(value, 2),
                }
            }
            Code::Extended => to.copy_from_slice(&extended_to_quad(array(from)).to_be_bytes()),
        }
        Ok(())
    }

    /// Converts all numbers in `from` to "external32" in `to`, which has room for as many.
    pub fn encode_all(self, from: &[u8], to: &mut [u8]) -> Result<()> {
        if self.reverse_all(from, to) {
            return Ok(());
        }
        let numbers = from.chunks_exact(self.native_size()).zip(to.chunks_exact_mut(self.external_size()));
        numbers.into_iter().try_for_each(|(from, to)| self.encode(from, to))
    }

    /// Converts all numbers in `from` from "external32"; the inverse of [`Code::encode_all`].
    pub fn decode_all(self, from: &[u8], to: &mut [u8]) {
        if self.reverse_all(from, to) {
            return;
        }
        let numbers = from.chunks_exact(self.external_size()).zip(to.chunks_exact_mut(self.native_size()));
        numbers.into_iter().for_each(|(from, to)| self.decode(from, to));
    }

    /// Converts numbers by loops of fixed length; returns false if there is no such loop.
    fn reverse_all(self, from: &[u8], to: &mut [u8]) -> bool {
        match self {
            Code::Reverse(1) => to.copy_from_slice(from),
            Code::Reverse(2) => reverse_numbers::<2>(from, to),
            Code::Reverse(4) => reverse_numbers::<4>(from, to),
            Code::Reverse(8) => reverse_numbers::<8>(from, to),
            Code::Reverse(16) => reverse_numbers::<16>(from, to),
            _ => return false,
        }
        true
    }

    /// Converts a number from "external32"; the inverse of [`Code::encode`].
    pub fn decode(self, from: &[u8], to: &mut [u8]) {
        match self {
            Code::Reverse(_) => reverse(from, to),
            Code::ShorterSigned => {
                to.copy_from_slice(&i64::from(i32::from_be_bytes(array(from))).to_ne_bytes());
            }
            Code::ShorterUnsigned => {
                to.copy_from_slice(&u64::from(u32::from_be_bytes(array(from))).to_ne_bytes());
            }
            Code::ShorterCharacter => {
                to.copy_from_slice(&u32::from(u16::from_be_bytes(array(from))).to_ne_bytes());
            }
            Code::Extended => to.copy_from_slice(&quad_to_extended(u128::from_be_bytes(array(from)))),
        }
    }
}

impl Basic {
    /// Returns the conversions of its one or two numbers, in order.
    pub(super) const fn codes(self) -> (Code, Option<Code>) {
        match self.kind() {
            BasicKind::Pair(value, index) => (value.codes().0, Some(index.codes().0)),
            BasicKind::Complex(Format::Extended) => (LONG_DOUBLE, Some(LONG_DOUBLE)),
            BasicKind::Complex(format) => (Code::Reverse(format.size()), Some(Code::Reverse(format.size()))),
            BasicKind::Float(Format::Extended) => (LONG_DOUBLE, None),
            _ => match self {
                Basic::Long => (Code::ShorterSigned, None),
                Basic::UnsignedLong => (Code::ShorterUnsigned, None),
                Basic::Wchar => (Code::ShorterCharacter, None),
                _ => (Code::Reverse(self.size()), None),
            },
        }
    }

    /// Returns the datatype's size in the representation "external32", in bytes.
    pub const fn external_size(self) -> usize {
        match self.codes() {
            (one, None) => one.external_size(),
            (one, Some(two)) => one.external_size() + two.external_size(),
        }
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("a number of its own size")
}

fn reverse_numbers<const N: usize>(from: &[u8], to: &mut [u8]) {
    for (from, to) in from.as_chunks::<N>().0.iter().zip(to.as_chunks_mut::<N>().0) {
        *to = *from;
        to.reverse();
    }
}

fn reverse(from: &[u8], to: &mut [u8]) {
    to.iter_mut().zip(from.iter().rev()).for_each(|(to, from)| *to = *from);
}

#[cold]
fn too_long(value: impl std::fmt::Display, bytes: usize) -> Result<()> {
    fail!(Conversion, "a value is {value}: \"external32\" has only {bytes} bytes for its datatype")
}

/// The integer bit of 80-bit numbers, which other formats omit.
const WHOLE: u64 = 1 << 63;
/// Number of fraction bits that 80-bit numbers lack.
const BEYOND: u32 = 112 - 63;
const LARGEST_EXPONENT: u16 = 0x7fff;

fn extended_to_quad(bytes: [u8; 16]) -> u128 {
    let significand = u64::from_ne_bytes(array(&bytes[..8]));
    let mut head = u16::from_ne_bytes(array(&bytes[8..10]));
    if head & LARGEST_EXPONENT == 0 && significand & WHOLE != 0 {
        head += 1; // Normal, written as if it were not.
    }
    u128::from(head) << 112 | u128::from(significand & !WHOLE) << BEYOND
}

/// Rounds to nearest, ties to even.
fn quad_to_extended(quad: u128) -> [u8; 16] {
    let head = (quad >> 112) as u16;
    let (sign, mut exponent) = (head & !LARGEST_EXPONENT, head & LARGEST_EXPONENT);
    let fraction = quad & ((1 << 112) - 1);
    let mut significand = (fraction >> BEYOND) as u64;
    if exponent == LARGEST_EXPONENT {
        // A NaN stays a NaN, whatever its payload bits.
        significand |= WHOLE | if fraction == 0 { 0 } else { 1 << 62 };
    } else {
        if exponent > 0 {
            significand |= WHOLE;
        }
        let (cut, half) = (fraction & ((1 << BEYOND) - 1), 1u128 << (BEYOND - 1));
        if cut > half || (cut == half && significand & 1 == 1) {
            significand = significand.wrapping_add(1);
            if significand == 0 {
                (significand, exponent) = (WHOLE, exponent + 1);
            } else if exponent == 0 && significand & WHOLE != 0 {
                exponent = 1;
            }
        }
    }
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&significand.to_ne_bytes());
    bytes[8..10].copy_from_slice(&(sign | exponent).to_ne_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extended(head: u16, significand: u64) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&significand.to_ne_bytes());
        bytes[8..10].copy_from_slice(&head.to_ne_bytes());
        bytes
    }

    #[test]
    fn numbers_of_80_bits_go_and_come_back() {
        // 1, -1.5, the largest, the smallest normal, the smallest at all, 0, infinity.
        let all = [
            (0x3fff, WHOLE),
            (0xbfff, WHOLE | 1 << 62),
            (0x7ffe, u64::MAX),
            (1, WHOLE),
            (0, 1),
            (0, 0),
            (0x7fff, WHOLE),
        ];
        for (head, significand) in all {
            let bytes = extended(head, significand);
            assert_eq!(quad_to_extended(extended_to_quad(bytes)), bytes, "{head:x} {significand:x}");
        }
        assert_eq!(extended_to_quad(extended(0x3fff, WHOLE)), 0x3fff << 112);
        assert_eq!(extended_to_quad(extended(0xbfff, WHOLE | 1 << 62)), 0xb_fff8 << 108);
    }

    #[test]
    fn what_128_bits_have_more_is_rounded() {
        let one = 0x3fffu128 << 112;
        let half = 1u128 << (BEYOND - 1);
        assert_eq!(quad_to_extended(one | half), extended(0x3fff, WHOLE), "a half goes to the even one");
        assert_eq!(quad_to_extended(one | half | 1), extended(0x3fff, WHOLE | 1));
        assert_eq!(quad_to_extended(one | (half * 3)), extended(0x3fff, WHOLE | 2));
        let below_two = 0x4000u128 << 112;
        assert_eq!(quad_to_extended(below_two - 1), extended(0x4000, WHOLE), "carried into the exponent");
        let largest = (0x7fffu128 << 112) - 1;
        assert_eq!(quad_to_extended(largest), extended(0x7fff, WHOLE), "too large: infinity");
        let subnormal = (1u128 << 112) - 1;
        assert_eq!(quad_to_extended(subnormal), extended(1, WHOLE), "rounded up to a normal one");
        let nan = quad_to_extended(0x7fffu128 << 112 | 1);
        assert_eq!(nan, extended(0x7fff, WHOLE | 1 << 62), "not a number stays so");
    }
}
