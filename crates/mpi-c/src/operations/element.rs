//! The element types of datatypes, for the standard's operations.

use canele_mpi::datatype::{Basic, BasicKind, Datatype, Format};
use canele_mpi::op::Element;

/// Returns the element type of a predefined datatype; none if the operations are not defined for it.
pub fn element_of(datatype: &Datatype) -> Option<Element> {
    match datatype.pair() {
        Some((value, index)) => pair(number(value)?, number(index)?),
        None => match datatype.as_basic()? {
            // The standard excludes these types (MPI 5.0, §6.9.2), but programs and benchmarks add them.
            // Other implementations apply C's arithmetic, too.
            Basic::Char if core::ffi::c_char::MIN != 0 => Some(Element::I8),
            Basic::Char => Some(Element::U8),
            basic => number(basic),
        },
    }
}

fn number(basic: Basic) -> Option<Element> {
    Some(match (basic.kind(), basic.size()) {
        (BasicKind::Signed, 1) => Element::I8,
        (BasicKind::Signed, 2) => Element::I16,
        (BasicKind::Signed, 4) => Element::I32,
        (BasicKind::Signed, 8) => Element::I64,
        (BasicKind::Signed, 16) => Element::I128,
        (BasicKind::Unsigned, 1) => Element::U8,
        (BasicKind::Unsigned, 2) => Element::U16,
        (BasicKind::Unsigned, 4) => Element::U32,
        (BasicKind::Unsigned, 8) => Element::U64,
        (BasicKind::Float(Format::Half), _) => Element::F16,
        (BasicKind::Float(Format::Bfloat), _) => Element::Bf16,
        (BasicKind::Float(Format::Single), _) => Element::F32,
        (BasicKind::Float(Format::Double), _) => Element::F64,
        (BasicKind::Float(Format::Extended), _) => Element::Extended,
        (BasicKind::Complex(Format::Half), _) => Element::ComplexF16,
        (BasicKind::Complex(Format::Single), _) => Element::ComplexF32,
        (BasicKind::Complex(Format::Double), _) => Element::ComplexF64,
        (BasicKind::Complex(Format::Extended), _) => Element::ComplexExtended,
        (BasicKind::Logical, 1) => Element::Logical1,
        (BasicKind::Logical, 2) => Element::Logical2,
        (BasicKind::Logical, 4) => Element::Logical4,
        (BasicKind::Logical, 8) => Element::Logical8,
        (BasicKind::Logical, 16) => Element::Logical16,
        (BasicKind::Byte, _) => Element::Byte,
        _ => return None,
    })
}

fn pair(value: Element, index: Element) -> Option<Element> {
    Some(match (value, index) {
        (Element::F32, Element::I32) => Element::FloatInt,
        (Element::F64, Element::I32) => Element::DoubleInt,
        (Element::I64, Element::I32) => Element::LongInt,
        (Element::I32, Element::I32) => Element::IntInt,
        (Element::I16, Element::I32) => Element::ShortInt,
        (Element::Extended, Element::I32) => Element::ExtendedInt,
        (Element::F32, Element::F32) => Element::FloatFloat,
        (Element::F64, Element::F64) => Element::DoubleDouble,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_the_size_of_their_datatype() {
        for basic in Basic::ALL {
            let datatype = Datatype::basic(*basic);
            if let Some(element) = element_of(datatype) {
                assert_eq!(element.size(), datatype.size(), "{}", basic.name());
            }
        }
    }

    #[test]
    fn only_text_packed_bytes_and_numbers_of_four_words_have_none() {
        let without = Basic::ALL.iter().filter(|basic| element_of(Datatype::basic(**basic)).is_none());
        let names: Vec<&str> = without.map(|basic| basic.name()).collect();
        let expected = ["MPI_PACKED", "MPI_CHARACTER", "MPI_WCHAR", "MPI_REAL16", "MPI_COMPLEX32"];
        assert_eq!(names, expected);
    }
}
