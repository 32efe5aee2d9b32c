//! The predefined datatypes of the standard and `MPIX_BFLOAT16`, on a 64-bit machine with the usual C and
//! Fortran compilers.
//!
//! This module owns their sizes, alignments, names and kinds. The C interface maps handles to them.

use BasicKind::{Byte, Character, Complex, Float, Logical, Packed, Pair, Signed, Unsigned};
use Format::{Bfloat, Double, Extended, Half, Quad, Single};

/// The format of a floating-point number in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// IEEE binary16.
    Half,
    /// bfloat16, the upper half of IEEE binary32.
    Bfloat,
    /// IEEE binary32.
    Single,
    /// IEEE binary64.
    Double,
    /// C's `long double` in 16 bytes: the processor's 80 bits on x86-64, IEEE binary128 elsewhere.
    Extended,
    /// IEEE binary128.
    Quad,
}

impl Format {
    /// Returns the size of a number in bytes.
    pub const fn size(self) -> usize {
        match self {
            Half | Bfloat => 2,
            Single => 4,
            Double => 8,
            Extended | Quad => 16,
        }
    }
}

/// The kind of a predefined datatype, which decides its operations and conversions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BasicKind {
    /// A signed integer, in two's complement.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A floating-point number.
    Float(Format),
    /// Two floating-point numbers: the real part, the imaginary part.
    Complex(Format),
    /// A truth value; 0 is false.
    Logical,
    /// A character.
    Character,
    /// A byte without a meaning.
    Byte,
    /// A byte of packed data.
    Packed,
    /// A value and an index, for `MPI_MINLOC` and `MPI_MAXLOC`.
    Pair(Basic, Basic),
}

macro_rules! basics {
    ($($variant:ident, $name:literal, $size:literal, $kind:expr;)*) => {
        /// A predefined datatype.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Basic {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl Basic {
            /// All datatypes, in the order of their handles in the standard ABI.
            pub const ALL: &'static [Basic] = &[$(Basic::$variant),*];

            /// Returns the datatype's name in the standard; the primary one if there is a synonym.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Basic::$variant => $name,)*
                }
            }

            /// Returns the size of its data in bytes.
            pub const fn size(self) -> usize {
                match self {
                    $(Basic::$variant => $size,)*
                }
            }

            /// Returns the datatype's kind.
            pub const fn kind(self) -> BasicKind {
                match self {
                    $(Basic::$variant => $kind,)*
                }
            }
        }
    };
}

basics! {
    Aint, "MPI_AINT", 8, Signed;
    Count, "MPI_COUNT", 8, Signed;
    Offset, "MPI_OFFSET", 8, Signed;
    Packed, "MPI_PACKED", 1, Packed;
    Short, "MPI_SHORT", 2, Signed;
    Int, "MPI_INT", 4, Signed;
    Long, "MPI_LONG", 8, Signed;
    LongLong, "MPI_LONG_LONG_INT", 8, Signed;
    UnsignedShort, "MPI_UNSIGNED_SHORT", 2, Unsigned;
    Unsigned, "MPI_UNSIGNED", 4, Unsigned;
    UnsignedLong, "MPI_UNSIGNED_LONG", 8, Unsigned;
    UnsignedLongLong, "MPI_UNSIGNED_LONG_LONG", 8, Unsigned;
    Float, "MPI_FLOAT", 4, Float(Single);
    CFloatComplex, "MPI_C_COMPLEX", 8, Complex(Single);
    CxxFloatComplex, "MPI_CXX_FLOAT_COMPLEX", 8, Complex(Single);
    Double, "MPI_DOUBLE", 8, Float(Double);
    CDoubleComplex, "MPI_C_DOUBLE_COMPLEX", 16, Complex(Double);
    CxxDoubleComplex, "MPI_CXX_DOUBLE_COMPLEX", 16, Complex(Double);
    Logical, "MPI_LOGICAL", 4, Logical;
    Integer, "MPI_INTEGER", 4, Signed;
    Real, "MPI_REAL", 4, Float(Single);
    Complex, "MPI_COMPLEX", 8, Complex(Single);
    DoublePrecision, "MPI_DOUBLE_PRECISION", 8, Float(Double);
    DoubleComplex, "MPI_DOUBLE_COMPLEX", 16, Complex(Double);
    Character, "MPI_CHARACTER", 1, Character;
    LongDouble, "MPI_LONG_DOUBLE", 16, Float(Extended);
    CLongDoubleComplex, "MPI_C_LONG_DOUBLE_COMPLEX", 32, Complex(Extended);
    CxxLongDoubleComplex, "MPI_CXX_LONG_DOUBLE_COMPLEX", 32, Complex(Extended);
    FloatInt, "MPI_FLOAT_INT", 8, Pair(Basic::Float, Basic::Int);
    DoubleInt, "MPI_DOUBLE_INT", 12, Pair(Basic::Double, Basic::Int);
    LongInt, "MPI_LONG_INT", 12, Pair(Basic::Long, Basic::Int);
    TwoInt, "MPI_2INT", 8, Pair(Basic::Int, Basic::Int);
    ShortInt, "MPI_SHORT_INT", 6, Pair(Basic::Short, Basic::Int);
    LongDoubleInt, "MPI_LONG_DOUBLE_INT", 20, Pair(Basic::LongDouble, Basic::Int);
    TwoReal, "MPI_2REAL", 8, Pair(Basic::Real, Basic::Real);
    TwoDoublePrecision, "MPI_2DOUBLE_PRECISION", 16, Pair(Basic::DoublePrecision, Basic::DoublePrecision);
    TwoInteger, "MPI_2INTEGER", 8, Pair(Basic::Integer, Basic::Integer);
    CBool, "MPI_C_BOOL", 1, Logical;
    CxxBool, "MPI_CXX_BOOL", 1, Logical;
    Wchar, "MPI_WCHAR", 4, Character;
    Int8, "MPI_INT8_T", 1, Signed;
    Uint8, "MPI_UINT8_T", 1, Unsigned;
    Char, "MPI_CHAR", 1, Character;
    SignedChar, "MPI_SIGNED_CHAR", 1, Signed;
    UnsignedChar, "MPI_UNSIGNED_CHAR", 1, Unsigned;
    Byte, "MPI_BYTE", 1, Byte;
    Int16, "MPI_INT16_T", 2, Signed;
    Uint16, "MPI_UINT16_T", 2, Unsigned;
    Int32, "MPI_INT32_T", 4, Signed;
    Uint32, "MPI_UINT32_T", 4, Unsigned;
    Int64, "MPI_INT64_T", 8, Signed;
    Uint64, "MPI_UINT64_T", 8, Unsigned;
    Logical1, "MPI_LOGICAL1", 1, Logical;
    Integer1, "MPI_INTEGER1", 1, Signed;
    Logical2, "MPI_LOGICAL2", 2, Logical;
    Integer2, "MPI_INTEGER2", 2, Signed;
    Real2, "MPI_REAL2", 2, Float(Half);
    Logical4, "MPI_LOGICAL4", 4, Logical;
    Integer4, "MPI_INTEGER4", 4, Signed;
    Real4, "MPI_REAL4", 4, Float(Single);
    Complex4, "MPI_COMPLEX4", 4, Complex(Half);
    Logical8, "MPI_LOGICAL8", 8, Logical;
    Integer8, "MPI_INTEGER8", 8, Signed;
    Real8, "MPI_REAL8", 8, Float(Double);
    Complex8, "MPI_COMPLEX8", 8, Complex(Single);
    Logical16, "MPI_LOGICAL16", 16, Logical;
    Integer16, "MPI_INTEGER16", 16, Signed;
    Real16, "MPI_REAL16", 16, Float(Quad);
    Complex16, "MPI_COMPLEX16", 16, Complex(Double);
    Complex32, "MPI_COMPLEX32", 32, Complex(Quad);
    Bfloat16, "MPIX_BFLOAT16", 2, Float(Bfloat);
}

impl Basic {
    /// Returns the datatype's alignment in bytes.
    pub const fn alignment(self) -> usize {
        match self.kind() {
            Complex(format) => format.size(),
            Pair(value, index) => {
                let (value, index) = (value.alignment(), index.alignment());
                if value > index { value } else { index }
            }
            _ => self.size(),
        }
    }

    /// Returns the offset of the index in a pair whose value is at 0.
    pub const fn index_at(value: Basic, index: Basic) -> usize {
        value.size().next_multiple_of(index.alignment())
    }

    /// Returns the number of numbers that it holds: two for a pair.
    pub const fn elements(self) -> usize {
        match self.kind() {
            Pair(..) => 2,
            _ => 1,
        }
    }
}
