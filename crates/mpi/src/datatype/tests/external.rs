//! The representation "external32".

use super::naive::memory;
use crate::Class;
use crate::datatype::{Basic, BasicKind, Datatype, Format, Width};

/// Returns the bytes of 1 (a pair: 1 and 1; a complex number: 1 + i) in memory.
pub fn one(basic: Basic) -> Vec<u8> {
    match basic.kind() {
        BasicKind::Pair(value, index) => [one(value), one(index)].concat(),
        BasicKind::Complex(format) => [float(format), float(format)].concat(),
        BasicKind::Float(format) => float(format),
        _ => (0..basic.size()).map(|i| u8::from(i == 0)).collect(),
    }
}

fn float(format: Format) -> Vec<u8> {
    match format {
        Format::Half => 0x3c00u16.to_ne_bytes().to_vec(),
        Format::Bfloat => 0x3f80u16.to_ne_bytes().to_vec(),
        Format::Single => 1f32.to_ne_bytes().to_vec(),
        Format::Double => 1f64.to_ne_bytes().to_vec(),
        Format::Extended if cfg!(not(target_arch = "x86_64")) => float(Format::Quad),
        Format::Extended => [0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f, 0, 0, 0, 0, 0, 0].to_vec(),
        Format::Quad => (0x3fffu128 << 112).to_ne_bytes().to_vec(),
    }
}

fn external(basic: Basic, native: &[u8]) -> crate::Result<Vec<u8>> {
    let datatype = Datatype::basic(basic);
    let mut raw = memory(datatype.span(1), 0);
    datatype.unpack(&mut raw, 1, 0, native);
    let mut bytes = vec![0; datatype.external_size(1)?];
    datatype.pack_external(&raw, 1, &mut bytes, 0)?;
    Ok(bytes)
}

#[test]
fn sizes_are_those_of_the_standard() {
    use Basic::*;
    let sizes = [
        (Packed, 1),
        (Byte, 1),
        (Char, 1),
        (UnsignedChar, 1),
        (SignedChar, 1),
        (Wchar, 2),
        (Short, 2),
        (UnsignedShort, 2),
        (Int, 4),
        (Unsigned, 4),
        (Long, 4),
        (UnsignedLong, 4),
        (LongLong, 8),
        (UnsignedLongLong, 8),
        (Float, 4),
        (Double, 8),
        (LongDouble, 16),
        (CBool, 1),
        (Int8, 1),
        (Int16, 2),
        (Int32, 4),
        (Int64, 8),
        (Uint8, 1),
        (Uint16, 2),
        (Uint32, 4),
        (Uint64, 8),
        (Aint, 8),
        (Count, 8),
        (Offset, 8),
        (CFloatComplex, 8),
        (CDoubleComplex, 16),
        (CLongDoubleComplex, 32),
        (Character, 1),
        (Logical, 4),
        (Integer, 4),
        (Real, 4),
        (DoublePrecision, 8),
        (Complex, 8),
        (DoubleComplex, 16),
        (CxxBool, 1),
        (Integer1, 1),
        (Integer2, 2),
        (Integer4, 4),
        (Integer8, 8),
        (Integer16, 16),
        (Real2, 2),
        (Real4, 4),
        (Real8, 8),
        (Real16, 16),
        (Complex4, 4),
        (Complex8, 8),
        (Complex16, 16),
        (Complex32, 32),
        (Bfloat16, 2),
    ];
    for (basic, size) in sizes {
        assert_eq!(Datatype::basic(basic).external_size(1).unwrap(), size, "{basic:?}");
    }
}

#[test]
fn numbers_are_big_endian() {
    assert_eq!(external(Basic::Int, &0x0102_0304i32.to_ne_bytes()).unwrap(), [1, 2, 3, 4]);
    assert_eq!(external(Basic::Long, &(-2i64).to_ne_bytes()).unwrap(), [0xff, 0xff, 0xff, 0xfe]);
    assert_eq!(external(Basic::Wchar, &0xe9u32.to_ne_bytes()).unwrap(), [0, 0xe9]);
    assert_eq!(external(Basic::Double, &1f64.to_ne_bytes()).unwrap(), 1f64.to_be_bytes());
    assert_eq!(
        external(Basic::LongDouble, &one(Basic::LongDouble)).unwrap(),
        (0x3fffu128 << 112).to_be_bytes()
    );
    let pair = [2f64.to_ne_bytes().to_vec(), 7i32.to_ne_bytes().to_vec()].concat();
    let expected = [2f64.to_be_bytes().to_vec(), 7i32.to_be_bytes().to_vec()].concat();
    assert_eq!(external(Basic::DoubleInt, &pair).unwrap(), expected);
}

#[test]
fn a_number_that_does_not_fit_is_an_error() {
    for value in [1i64 << 31, i64::MIN] {
        let error = external(Basic::Long, &value.to_ne_bytes()).unwrap_err();
        assert!(error.class == Class::Conversion && error.text.contains(&value.to_string()), "{error}");
    }
    assert_eq!(
        external(Basic::UnsignedLong, &(1u64 << 32).to_ne_bytes()).unwrap_err().class,
        Class::Conversion
    );
    assert_eq!(external(Basic::Wchar, &0x1f600u32.to_ne_bytes()).unwrap_err().class, Class::Conversion);
}

#[test]
fn a_stream_longer_than_the_window_is_converted_whole() {
    let types = [Datatype::basic(Basic::Char).clone(), Datatype::basic(Basic::Double).clone()];
    let record = Datatype::structure(Width::Int, &[1, 1], &[0, 8], &types).unwrap();
    let count = 5000;
    let stream: Vec<u8> =
        (0..count).flat_map(|i| std::iter::once(i as u8).chain(f64::from(i).to_ne_bytes())).collect();
    let mut from = memory(record.span(count as usize), 0);
    record.unpack(&mut from, count as usize, 0, &stream);
    let mut external = vec![0; 9 * count as usize];
    record.pack_external(&from, count as usize, &mut external, 0).unwrap();
    for (i, bytes) in external.chunks(9).enumerate() {
        assert_eq!((bytes[0], &bytes[1..]), (i as u8, &(i as f64).to_be_bytes()[..]));
    }
    let mut to = memory(record.span(count as usize), 9);
    record.unpack_external(&external, 0, &mut to, count as usize).unwrap();
    let mut back = vec![0; stream.len()];
    record.pack(&to, count as usize, 0, &mut back);
    assert!(back == stream);
}
