//! Operations on words of 64 bits, as a layer above would have them.

use canele_mem::exposed::ExposedElements;
use canele_proto::rma::{Applied, ElementsOrigin, RmaOperations};
use canele_sys::atomic::AtomicU64;
use canele_sys::atomic::Ordering::{Relaxed, SeqCst};

/// The operation that adds.
pub const ADD: u16 = 1;
/// The operation that multiplies by 31 and adds: its result depends on the order.
pub const FOLD: u16 = 2;

/// Returns the new value of a word.
pub fn apply(operation: u16, word: u64, n: u64) -> u64 {
    let word = if operation == FOLD { word.wrapping_mul(31) } else { word };
    word.wrapping_add(n)
}

/// The operations; one call in seven finds the elements busy.
#[derive(Default)]
pub struct Words {
    calls: AtomicU64,
}

fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

impl Words {
    fn is_busy(&self) -> bool {
        self.calls.fetch_add(1, Relaxed) % 7 == 6
    }
}

impl RmaOperations for Words {
    fn accumulate(
        &self,
        _: &ElementsOrigin<'_>,
        (operation, _): (u16, u16),
        target: &ExposedElements<'_>,
        data: &[u8],
        mut old: Option<&mut [u8]>,
    ) -> Applied {
        if self.is_busy() {
            return Applied::Busy;
        }
        if !matches!(operation, ADD | FOLD) || !target.len().is_multiple_of(8) {
            return Applied::Refused;
        }
        target.each(|memory, at, done, len| {
            for k in (0..len).step_by(8) {
                let Some(place) = memory.word64(at + k) else { continue };
                let before = place.load(SeqCst);
                let n = data.get(done + k..done + k + 8).map_or(0, word);
                place.store(apply(operation, before, n), SeqCst);
                if let Some(old) = old.as_mut().and_then(|old| old.get_mut(done + k..done + k + 8)) {
                    old.copy_from_slice(&before.to_le_bytes());
                }
            }
        });
        Applied::Done
    }

    fn compare_and_swap(
        &self,
        _: &ElementsOrigin<'_>,
        _: (u16, u16),
        target: &ExposedElements<'_>,
        operands: [&[u8]; 2],
        old: &mut [u8],
    ) -> Applied {
        if self.is_busy() {
            return Applied::Busy;
        }
        let [compare, new] = operands.map(word);
        target.each(|memory, at, _, _| {
            let Some(place) = memory.word64(at) else { return };
            let found = place.compare_exchange(compare, new, SeqCst, SeqCst);
            old.copy_from_slice(&found.unwrap_or_else(|other| other).to_le_bytes());
        });
        Applied::Done
    }
}
