//! The element types that the standard's operations combine.

/// An element of a predefined datatype, by its form in memory. Packed, a pair is its value followed by its
/// index.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Element {
    /// Signed integer of 8 bits.
    I8,
    /// Signed integer of 16 bits.
    I16,
    /// Signed integer of 32 bits.
    I32,
    /// Signed integer of 64 bits.
    I64,
    /// Signed integer of 128 bits.
    I128,
    /// Unsigned integer of 8 bits.
    U8,
    /// Unsigned integer of 16 bits.
    U16,
    /// Unsigned integer of 32 bits.
    U32,
    /// Unsigned integer of 64 bits.
    U64,
    /// Floating-point number of 16 bits (IEEE 754 binary16).
    F16,
    /// Floating-point number of 16 bits with the exponent range of 32 bits (bfloat16).
    Bf16,
    /// Floating-point number of 32 bits.
    F32,
    /// Floating-point number of 64 bits.
    F64,
    /// C's `long double` in 16 bytes: 80 bits on x86-64, 128 bits elsewhere.
    Extended,
    /// Two numbers of 16 bits: the real part, then the imaginary one.
    ComplexF16,
    /// Two numbers of 32 bits.
    ComplexF32,
    /// Two numbers of 64 bits.
    ComplexF64,
    /// Two numbers of 80 bits in 16 bytes each.
    ComplexExtended,
    /// Truth value of 1 byte; any value except 0 is true, and true results are 1.
    Logical1,
    /// Truth value of 2 bytes.
    Logical2,
    /// Truth value of 4 bytes.
    Logical4,
    /// Truth value of 8 bytes.
    Logical8,
    /// Truth value of 16 bytes.
    Logical16,
    /// A byte of bits.
    Byte,
    /// A value of 32 bits and an `int`.
    FloatInt,
    /// A value of 64 bits and an `int`.
    DoubleInt,
    /// A `long` and an `int`.
    LongInt,
    /// Two `int`s.
    IntInt,
    /// A `short` and an `int`.
    ShortInt,
    /// A `long double` and an `int`.
    ExtendedInt,
    /// Two numbers of 32 bits.
    FloatFloat,
    /// Two numbers of 64 bits.
    DoubleDouble,
}

impl Element {
    /// All element types.
    pub const ALL: [Element; 32] = [
        Element::I8,
        Element::I16,
        Element::I32,
        Element::I64,
        Element::I128,
        Element::U8,
        Element::U16,
        Element::U32,
        Element::U64,
        Element::F16,
        Element::Bf16,
        Element::F32,
        Element::F64,
        Element::Extended,
        Element::ComplexF16,
        Element::ComplexF32,
        Element::ComplexF64,
        Element::ComplexExtended,
        Element::Logical1,
        Element::Logical2,
        Element::Logical4,
        Element::Logical8,
        Element::Logical16,
        Element::Byte,
        Element::FloatInt,
        Element::DoubleInt,
        Element::LongInt,
        Element::IntInt,
        Element::ShortInt,
        Element::ExtendedInt,
        Element::FloatFloat,
        Element::DoubleDouble,
    ];

    /// Returns the size of a packed element in bytes.
    pub fn size(self) -> usize {
        match self {
            Element::I8 | Element::U8 | Element::Logical1 | Element::Byte => 1,
            Element::I16 | Element::U16 | Element::F16 | Element::Bf16 | Element::Logical2 => 2,
            Element::I32 | Element::U32 | Element::F32 | Element::ComplexF16 | Element::Logical4 => 4,
            Element::ShortInt => 6,
            Element::I64 | Element::U64 | Element::F64 | Element::ComplexF32 | Element::Logical8 => 8,
            Element::FloatInt | Element::IntInt | Element::FloatFloat => 8,
            Element::DoubleInt | Element::LongInt => 12,
            Element::I128 | Element::Extended | Element::ComplexF64 | Element::Logical16 => 16,
            Element::DoubleDouble => 16,
            Element::ExtendedInt => 20,
            Element::ComplexExtended => 32,
        }
    }

    /// Returns the name of such elements in messages.
    pub fn name(self) -> &'static str {
        match self {
            Element::I8 | Element::I16 | Element::I32 | Element::I64 | Element::I128 => "integers",
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => "unsigned integers",
            Element::F16 | Element::Bf16 | Element::F32 | Element::F64 | Element::Extended => {
                "floating-point numbers"
            }
            Element::ComplexF16 | Element::ComplexF32 | Element::ComplexF64 | Element::ComplexExtended => {
                "complex numbers"
            }
            Element::Logical1 | Element::Logical2 | Element::Logical4 => "logicals",
            Element::Logical8 | Element::Logical16 => "logicals",
            Element::Byte => "bytes",
            Element::FloatInt | Element::DoubleInt | Element::LongInt | Element::IntInt => "pairs",
            Element::ShortInt | Element::ExtendedInt | Element::FloatFloat | Element::DoubleDouble => "pairs",
        }
    }
}
