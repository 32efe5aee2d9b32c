//! The types of numbers that are added in place, many at a time.

/// The type of numbers that are added in place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LaneType {
    /// Floating-point numbers of 64 bits.
    F64,
    /// Floating-point numbers of 32 bits.
    F32,
    /// Integers of 64 bits, with or without sign.
    I64,
    /// Integers of 32 bits.
    I32,
    /// Integers of 16 bits.
    I16,
    /// Integers of 8 bits.
    I8,
}
