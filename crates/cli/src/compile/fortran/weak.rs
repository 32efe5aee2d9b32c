//! Makes the symbols that an object file defines weak: a definition elsewhere, as in a profiling library, wins without an error.
//!
//! Owns the few fields of ELF that this takes. References stay as they are: a weak one would pull no object out of an archive.

/// Offsets in the header of a file, of a section and of a symbol, for 64-bit files of little-endian processors.
mod at {
    pub const SECTIONS: usize = 0x28;
    pub const SECTION_COUNT: usize = 0x3c;
    pub const SECTION_KIND: usize = 4;
    pub const SECTION_OFFSET: usize = 0x18;
    pub const SECTION_SIZE: usize = 0x20;
    pub const SYMBOL_INFO: usize = 4;
    pub const SYMBOL_SECTION: usize = 6;
}

/// What such a file begins with.
const MAGIC: &[u8] = b"\x7fELF\x02\x01";
const SECTION_BYTES: usize = 64;
const SYMBOL_BYTES: usize = 24;
/// The kind of the section that lists all symbols.
const SYMBOL_TABLE: u32 = 2;
/// The binding of a symbol stands in the upper half of its byte.
const BINDING: u8 = 0xf0;
const GLOBAL: u8 = 0x10;
const WEAK: u8 = 0x20;
/// The section of a symbol that is only referred to.
const UNDEFINED: u16 = 0;
/// The section of a common block, of which each object has one of its own.
const COMMON: u16 = 0xfff2;

/// Weakens the global definitions of an object; returns how many there were. `None` if the file is of another kind or damaged.
pub fn weaken(object: &mut [u8]) -> Option<usize> {
    if !object.starts_with(MAGIC) {
        return None;
    }
    let sections = usize::try_from(u64::from_le_bytes(bytes(object, at::SECTIONS)?)).ok()?;
    let count = u16::from_le_bytes(bytes(object, at::SECTION_COUNT)?);
    let mut weakened = 0;
    for index in 0..usize::from(count) {
        let section = sections.checked_add(index * SECTION_BYTES)?;
        if u32::from_le_bytes(bytes(object, section.checked_add(at::SECTION_KIND)?)?) == SYMBOL_TABLE {
            let [start, size] = [at::SECTION_OFFSET, at::SECTION_SIZE]
                .map(|field| Some(u64::from_le_bytes(bytes(object, section.checked_add(field)?)?)));
            let (start, size) = (usize::try_from(start?).ok()?, usize::try_from(size?).ok()?);
            let symbols = object.get_mut(start..start.checked_add(size)?)?;
            weakened += symbols.chunks_exact_mut(SYMBOL_BYTES).filter_map(weaken_symbol).count();
        }
    }
    Some(weakened)
}

fn weaken_symbol(symbol: &mut [u8]) -> Option<()> {
    let section = u16::from_le_bytes(bytes(symbol, at::SYMBOL_SECTION)?);
    let info = symbol.get_mut(at::SYMBOL_INFO)?;
    if *info & BINDING != GLOBAL || section == UNDEFINED || section == COMMON {
        return None;
    }
    *info = WEAK | (*info & !BINDING);
    Some(())
}

fn bytes<const N: usize>(from: &[u8], start: usize) -> Option<[u8; N]> {
    from.get(start..start.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one symbol table: a local, a global, a weak, an undefined and a common symbol.
    fn object() -> Vec<u8> {
        let symbols = [(0x02, 1), (0x12, 1), (0x21, 1), (0x10, UNDEFINED), (0x11, COMMON)];
        let mut file = MAGIC.to_vec();
        file.resize(64, 0);
        file[at::SECTIONS..at::SECTIONS + 8].copy_from_slice(&64_u64.to_le_bytes());
        file[at::SECTION_COUNT..at::SECTION_COUNT + 2].copy_from_slice(&2_u16.to_le_bytes());
        file.resize(64 + 2 * SECTION_BYTES, 0);
        let section = 64 + SECTION_BYTES;
        file[section + at::SECTION_KIND] = 2;
        let (start, size) = (file.len() as u64, (symbols.len() * SYMBOL_BYTES) as u64);
        for (field, value) in [(at::SECTION_OFFSET, start), (at::SECTION_SIZE, size)] {
            file[section + field..section + field + 8].copy_from_slice(&value.to_le_bytes());
        }
        for (info, of) in symbols {
            let mut symbol = [0; SYMBOL_BYTES];
            symbol[at::SYMBOL_INFO] = info;
            symbol[at::SYMBOL_SECTION..at::SYMBOL_SECTION + 2].copy_from_slice(&of.to_le_bytes());
            file.extend(symbol);
        }
        file
    }

    #[test]
    fn definitions_become_weak_and_nothing_else_changes() {
        let (before, mut after) = (object(), object());
        assert_eq!(weaken(&mut after), Some(1));
        let changed: Vec<_> = (0..before.len()).filter(|&at| before[at] != after[at]).collect();
        let second = 64 + 2 * SECTION_BYTES + SYMBOL_BYTES + at::SYMBOL_INFO;
        assert_eq!((changed, after[second]), (vec![second], 0x22));
        assert_eq!(weaken(&mut after), Some(0));
    }

    #[test]
    fn another_or_a_damaged_file_is_told_apart() {
        assert_eq!(weaken(&mut b"BC\xc0\xde".to_vec()), None);
        let file = object();
        for length in [0, 5, 20, 64, 100, file.len() - 1] {
            assert_eq!(weaken(&mut file[..length].to_vec()), None, "{length}");
        }
        let mut beyond = file;
        beyond[at::SECTIONS..at::SECTIONS + 8].fill(0xff);
        assert_eq!(weaken(&mut beyond), None);
    }
}
