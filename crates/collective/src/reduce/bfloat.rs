//! Floating-point numbers of 16 bits with the exponent range of 32 bits (bfloat16): the upper half of a
//! 32-bit number.

/// Returns the number with 32 bits.
pub(super) fn widened(short: u16) -> f32 {
    f32::from_bits(u32::from(short) << 16)
}

/// Returns the nearest number with 16 bits; ties go to the even one.
pub(super) fn rounded(x: f32) -> u16 {
    let bits = x.to_bits();
    let upper = (bits >> 16) as u16;
    if x.is_nan() {
        // Without this bit the upper half could be an infinity.
        return upper | 0x40;
    }
    // A carry of the rounding increments the exponent, up to infinity.
    let (rest, tie) = (bits & 0xffff, 0x8000);
    upper + u16::from(rest > tie || rest == tie && upper & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back() {
        for short in 0..=u16::MAX {
            let wide = widened(short);
            if wide.is_nan() {
                assert!(widened(rounded(wide)).is_nan());
            } else {
                assert_eq!(rounded(wide), short);
            }
        }
        for (short, wide) in [(0x3f80, 1.0), (0xc000, -2.0), (0x4049, 3.140625), (0x7f80, f32::INFINITY)] {
            assert_eq!(widened(short), wide);
        }
        // A number that is none stays so when its lower bits alone say it.
        assert!(widened(rounded(f32::from_bits(0x7f80_0001))).is_nan());
    }

    #[test]
    fn what_lies_between_goes_to_the_nearer() {
        for short in 0..0x7f7fu16 {
            let middle = u32::from(short) << 16 | 0x8000;
            assert_eq!(rounded(f32::from_bits(middle)), short + (short & 1), "{short:#x} and the even one");
            assert_eq!(rounded(f32::from_bits(middle - 1)), short);
            assert_eq!(rounded(-f32::from_bits(middle + 1)), 0x8000 | (short + 1));
        }
        assert_eq!(rounded(f32::MAX), 0x7f80);
    }
}
