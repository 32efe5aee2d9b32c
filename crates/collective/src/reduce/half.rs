//! Floating-point numbers of 16 bits (IEEE 754 binary16), computed with 32 bits.

/// Returns the number with 32 bits.
pub(super) fn widened(half: u16) -> f32 {
    let sign = u32::from(half >> 15) << 31;
    let (exponent, mantissa) = (u32::from(half >> 10 & 0x1f), u32::from(half & 0x3ff));
    let magnitude = match exponent {
        // Zero or a subnormal number.
        0 => (mantissa as f32 * f32::from_bits((127 - 24) << 23)).to_bits(),
        0x1f => 0xff << 23 | mantissa << 13,
        _ => (exponent + 127 - 15) << 23 | mantissa << 13,
    };
    f32::from_bits(sign | magnitude)
}

/// Returns the nearest number with 16 bits; ties go to the even one.
pub(super) fn rounded(x: f32) -> u16 {
    let sign = (x.to_bits() >> 16 & 0x8000) as u16;
    let magnitude = x.to_bits() & 0x7fff_ffff;
    let exponent = (magnitude >> 23) as i32 - 127;
    let rest = if x.is_nan() {
        0x7e00 | (magnitude >> 13 & 0x3ff) as u16
    } else if exponent > 15 {
        0x7c00
    } else if exponent >= -14 {
        // A carry of the rounding increments the exponent, up to infinity.
        let even = nearest(magnitude, 13);
        (even - ((127 - 15) << 10)) as u16
    } else if exponent >= -25 {
        nearest(magnitude & 0x7f_ffff | 0x80_0000, (-1 - exponent) as u32) as u16
    } else {
        0
    };
    sign | rest
}

/// Returns `x` divided by 2 to the power of `bits`, rounded to nearest, ties to even.
fn nearest(x: u32, bits: u32) -> u32 {
    let (down, rest, tie) = (x >> bits, x & ((1 << bits) - 1), 1 << (bits - 1));
    down + u32::from(rest > tie || rest == tie && down & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back() {
        for half in 0..=u16::MAX {
            let wide = widened(half);
            if wide.is_nan() {
                assert!(half & 0x7fff > 0x7c00 && rounded(wide) & 0x7fff > 0x7c00);
            } else {
                assert_eq!(rounded(wide), half);
            }
        }
        let known = [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 2f32.powi(-24)),
            (0x0400, 2f32.powi(-14)),
        ];
        for (half, wide) in known {
            assert_eq!(widened(half), wide);
        }
    }

    #[test]
    fn what_lies_between_goes_to_the_nearer() {
        for half in 0..0x7bffu16 {
            let (low, high) = (widened(half), widened(half + 1));
            let middle = (low + high) / 2.0;
            assert_eq!(rounded(middle), half + (half & 1), "the middle above {low} goes to the even one");
            assert_eq!(rounded(f32::from_bits(middle.to_bits() - 1)), half);
            assert_eq!(rounded(-f32::from_bits(middle.to_bits() + 1)), 0x8000 | (half + 1));
        }
        assert_eq!(rounded(65519.99), 0x7bff);
        assert_eq!(rounded(65520.0), 0x7c00);
        assert_eq!(rounded(f32::MAX), 0x7c00);
        assert_eq!(rounded(f32::MIN_POSITIVE), 0);
    }
}
