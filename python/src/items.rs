//! The type of the items of a buffer: its format (PEP 3118, and the codes of the module `struct`) as an
//! element of reductions.
//!
//! Owns the comparison of types. Memory of bytes has no type of its own and fits every type.

use canele_collective::Element;

/// The type of the items of a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Items {
    /// Bytes, or items whose type the object does not state.
    Bytes(usize),
    /// Numbers, truth values, or pairs of a value and an index.
    Known(Element),
    /// Items of another format.
    Other(String),
}

/// Characters of a format that state the byte order of this machine.
const NATIVE: [char; 3] = if cfg!(target_endian = "little") { ['@', '=', '<'] } else { ['@', '=', '>'] };

impl Items {
    /// Returns the type of items of `bytes` bytes with a format, if the object states one.
    pub fn of(format: Option<&str>, bytes: usize) -> Self {
        match format {
            None => Self::Bytes(bytes),
            Some("bfloat16") if bytes == 2 => Self::Known(Element::Bf16),
            Some(format) => match format.trim_start_matches(NATIVE) {
                "B" | "c" if bytes == 1 => Self::Bytes(1),
                native => element(native, bytes).map_or_else(|| Self::Other(format.to_owned()), Self::Known),
            },
        }
    }

    /// Returns the element of these items in reductions, if there is one.
    pub fn element(&self) -> Option<Element> {
        match self {
            Self::Known(element) => Some(*element),
            Self::Bytes(1) => Some(Element::U8),
            Self::Bytes(_) | Self::Other(_) => None,
        }
    }

    /// Returns true if memory of one type may be copied to memory of the other type.
    pub fn fits(&self, other: &Self) -> bool {
        self == other || matches!(self, Self::Bytes(_)) || matches!(other, Self::Bytes(_))
    }

    /// Returns the name of the type in messages.
    pub fn name(&self) -> String {
        match self {
            Self::Bytes(bytes) => format!("bytes in items of {bytes}"),
            Self::Known(element) => format!("{element:?}"),
            Self::Other(format) => format!("items of format {format:?}"),
        }
    }
}

/// Returns true if items of a format hold Python objects (code `O`). Names of fields stand between colons.
pub fn has_objects(format: &[u8]) -> bool {
    format.split(|byte| *byte == b':').step_by(2).any(|codes| codes.contains(&b'O'))
}

fn element(format: &str, bytes: usize) -> Option<Element> {
    Some(match (format, bytes) {
        ("b" | "h" | "i" | "l" | "q" | "n", 1) => Element::I8,
        ("b" | "h" | "i" | "l" | "q" | "n", 2) => Element::I16,
        ("b" | "h" | "i" | "l" | "q" | "n", 4) => Element::I32,
        ("b" | "h" | "i" | "l" | "q" | "n", 8) => Element::I64,
        ("B" | "H" | "I" | "L" | "Q" | "N", 2) => Element::U16,
        ("B" | "H" | "I" | "L" | "Q" | "N", 4) => Element::U32,
        ("B" | "H" | "I" | "L" | "Q" | "N", 8) => Element::U64,
        ("?", 1) => Element::Logical1,
        ("e", 2) => Element::F16,
        ("f", 4) => Element::F32,
        ("d", 8) => Element::F64,
        ("g", 16) => Element::Extended,
        ("Zf" | "F", 8) => Element::ComplexF32,
        ("Zd" | "D", 16) => Element::ComplexF64,
        ("Zg" | "G", 32) => Element::ComplexExtended,
        _ => pair(format)?,
    })
    .filter(|element| element.size() == bytes)
}

/// Returns the element of a structure of a value and an index without gaps, as `T{d:value:i:index:}`.
fn pair(format: &str) -> Option<Element> {
    let fields = format.strip_prefix("T{")?.strip_suffix(":}")?;
    let parts: Vec<&str> = fields.split(':').collect();
    let &[value, _, index, _] = &parts[..] else { return None };
    Some(match (value.trim_start_matches(NATIVE), index.trim_start_matches(NATIVE)) {
        ("f", "i") => Element::FloatInt,
        ("d", "i") => Element::DoubleInt,
        ("l" | "q", "i") => Element::LongInt,
        ("i", "i") => Element::IntInt,
        ("h", "i") => Element::ShortInt,
        ("f", "f") => Element::FloatFloat,
        ("d", "d") => Element::DoubleDouble,
        _ => return None,
    })
}
