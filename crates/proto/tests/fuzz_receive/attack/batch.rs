//! Batches of the bad rank. Owns no state of its own.

use canele_rail::MAX_INLINE;

use super::{Attack, Bytes};

impl Attack {
    /// Makes packets one after another, as a batch carries them; incomplete if `cut` is set.
    pub(super) fn batch(&mut self, input: &mut Bytes<'_>, cut: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < 2000
            && let Some(more) = input.next()
            && more < 200
        {
            let [kind, flow, tag, bulk] = [(); 4].map(|()| input.next().unwrap_or_default());
            let header = self.header([kind, flow, tag]);
            let words = self.words(input);
            let bulk = [0, 0, 0, 8, 300, 60_000][bulk % 6];
            let len = if more < 150 { 8 * words.len() } else { more % (MAX_INLINE + 9) };
            bytes.extend([header.kind, len as u8]);
            bytes.extend((bulk as u16).to_le_bytes());
            bytes.extend([header.flow, header.tag, header.sequence].map(u32::to_le_bytes).as_flattened());
            let inline: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            bytes.extend(inline.iter().chain(std::iter::repeat(&0xcc)).take(len));
            bytes.extend(vec![0xdd; bulk.min(400)]);
        }
        bytes.truncate(4096 - usize::from(cut));
        bytes.truncate(bytes.len() - usize::from(cut).min(bytes.len()));
        bytes
    }
}
