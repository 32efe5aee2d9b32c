//! Arithmetic on binary128 numbers (IEEE 754), C's `long double` on aarch64 and riscv64, by integers: stable
//! Rust has no type for them.
//!
//! A number is its 16 bytes in memory. Results are rounded to nearest, ties to even. Never raises a
//! floating-point exception.

use std::cmp::Ordering;

/// A binary128 number as it lies in memory.
pub type Quad = [u8; 16];

/// The number of bits of the fraction that memory holds.
const FRACTION: u32 = 112;
/// The bit in front of the fraction, which memory does not hold.
const LEADING: u128 = 1 << FRACTION;
const SIGN: u128 = 1 << 127;
/// The exponent of infinities and NaNs.
const SPECIAL: i32 = 0x7fff;
const INFINITY: u128 = (SPECIAL as u128) << FRACTION;
const BIAS: i32 = 0x3fff;
/// A quiet NaN, for results that have no value.
const NAN: u128 = INFINITY | LEADING >> 1;
/// The number of bits below the fraction that decide about rounding; the last one stands for all bits that
/// were cut.
const GUARD: u32 = 3;

/// A number in its parts.
#[derive(Clone, Copy)]
struct Parts {
    /// The sign bit at its position in memory.
    sign: u128,
    /// The exponent as in memory, but 1 for subnormal numbers.
    exponent: i32,
    /// The fraction, with the leading bit of normal numbers.
    significand: u128,
}

impl Parts {
    fn of(bits: u128) -> Parts {
        let (exponent, fraction) = ((bits >> FRACTION) as i32 & SPECIAL, bits & (LEADING - 1));
        let significand = if exponent == 0 { fraction } else { fraction | LEADING };
        Parts { sign: bits & SIGN, exponent: exponent.max(1), significand }
    }

    /// Returns the parts of a finite number other than zero, with the leading bit set even if it is
    /// subnormal.
    fn normalized(bits: u128) -> Parts {
        let parts = Parts::of(bits);
        let shift = parts.significand.leading_zeros() - LEADING.leading_zeros();
        Parts { exponent: parts.exponent - shift as i32, significand: parts.significand << shift, ..parts }
    }

    /// Rounds the number, whose significand has guard bits and any position below the two highest bits.
    fn rounded(self) -> u128 {
        let Parts { sign, mut exponent, mut significand } = self;
        if significand == 0 {
            return sign;
        }
        if significand >= LEADING << (GUARD + 1) {
            (significand, exponent) = (shift_right(significand, 1), exponent + 1);
        }
        let missing = significand.leading_zeros() - (LEADING << GUARD).leading_zeros();
        let shift = (missing as i32).min((exponent - 1).max(0));
        (significand, exponent) = (significand << shift, exponent - shift);
        if exponent < 1 {
            (significand, exponent) = (shift_right(significand, 1 - exponent), 1);
        }
        let (kept, cut) = (significand >> GUARD, significand & 7);
        let up = cut > 4 || cut == 4 && kept & 1 == 1;
        // The leading bit adds the one that the exponent lacks here, and a carry moves into the exponent.
        let magnitude = (((exponent - 1) as u128) << FRACTION) + kept + u128::from(up);
        sign | if exponent >= SPECIAL { INFINITY } else { magnitude.min(INFINITY) }
    }
}

/// Shifts right; the last bit is also set if a bit that was cut was set.
fn shift_right(value: u128, by: i32) -> u128 {
    match by as u32 {
        0 => value,
        by @ 1..128 => value >> by | u128::from(value << (128 - by) != 0),
        _ => u128::from(value != 0),
    }
}

fn is_nan_bits(bits: u128) -> bool {
    bits & !SIGN > INFINITY
}

/// Returns the quiet form of the first of the two that is a NaN, if one is.
fn nan_of(a: u128, b: u128) -> Option<u128> {
    [a, b].into_iter().find(|bits| is_nan_bits(*bits)).map(|bits| bits | LEADING >> 1)
}

fn add_bits(a: u128, b: u128) -> u128 {
    if let Some(nan) = nan_of(a, b) {
        return nan;
    }
    let (large, small) = if a & !SIGN >= b & !SIGN { (a, b) } else { (b, a) };
    if large & !SIGN == INFINITY {
        return if small == large ^ SIGN { NAN } else { large };
    }
    let (large, small) = (Parts::of(large), Parts::of(small));
    let shifted = shift_right(small.significand << GUARD, large.exponent - small.exponent);
    let (sign, significand) = match large.sign == small.sign {
        true => (large.sign, (large.significand << GUARD) + shifted),
        false if large.significand << GUARD == shifted => (0, 0),
        false => (large.sign, (large.significand << GUARD) - shifted),
    };
    Parts { sign, exponent: large.exponent, significand }.rounded()
}

/// Returns the product of two significands, with guard bits.
fn product(a: u128, b: u128) -> u128 {
    let (low, high) = (|x: u128| x & u128::from(u64::MAX), |x: u128| x >> 64);
    let lowest = low(a) * low(b);
    // Significands have 113 bits: the two middle products and the carry into them have 114.
    let middle = low(a) * high(b) + high(a) * low(b) + high(lowest);
    let (top, rest) = (high(a) * high(b) + high(middle), middle << 64 | low(lowest));
    // The leading bit is at 224 or 225 of these 256 bits; the shift moves it to that of a significand with
    // guard bits.
    let shift = 2 * FRACTION - FRACTION - GUARD;
    top << (128 - shift) | rest >> shift | u128::from(rest << (128 - shift) != 0)
}

fn multiply_bits(a: u128, b: u128) -> u128 {
    if let Some(nan) = nan_of(a, b) {
        return nan;
    }
    let sign = (a ^ b) & SIGN;
    let (a, b) = (a & !SIGN, b & !SIGN);
    match (a.max(b), a.min(b)) {
        (INFINITY, 0) => NAN,
        (INFINITY, _) => sign | INFINITY,
        (_, 0) => sign,
        _ => {
            let (a, b) = (Parts::normalized(a), Parts::normalized(b));
            let significand = product(a.significand, b.significand);
            Parts { sign, exponent: a.exponent + b.exponent - BIAS, significand }.rounded()
        }
    }
}

/// Returns the sum.
pub fn add(a: Quad, b: Quad) -> Quad {
    add_bits(u128::from_ne_bytes(a), u128::from_ne_bytes(b)).to_ne_bytes()
}

/// Returns the first number minus the second.
pub fn subtract(a: Quad, b: Quad) -> Quad {
    let b = u128::from_ne_bytes(b);
    let negated = if is_nan_bits(b) { b } else { b ^ SIGN };
    add_bits(u128::from_ne_bytes(a), negated).to_ne_bytes()
}

/// Returns the product.
pub fn multiply(a: Quad, b: Quad) -> Quad {
    multiply_bits(u128::from_ne_bytes(a), u128::from_ne_bytes(b)).to_ne_bytes()
}

/// Returns true if the sign bit is set.
pub fn is_negative(x: Quad) -> bool {
    u128::from_ne_bytes(x) & SIGN != 0
}

/// Returns true for a NaN.
pub fn is_nan(x: Quad) -> bool {
    is_nan_bits(u128::from_ne_bytes(x))
}

/// Compares two numbers; none if one is a NaN. Zeros are equal.
pub fn compare(a: Quad, b: Quad) -> Option<Ordering> {
    let signed = |x: Quad| {
        let magnitude = (u128::from_ne_bytes(x) & !SIGN) as i128;
        if is_negative(x) { -magnitude } else { magnitude }
    };
    (!is_nan(a) && !is_nan(b)).then(|| signed(a).cmp(&signed(b)))
}

#[cfg(test)]
mod tests;
