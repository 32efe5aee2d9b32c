//! The flow numbers of this rank that are in use. They are pairs: one of the users' messages, and one of
//! their collectives.

use crate::Error;

/// A bit for each pair of a window.
pub type Words = [u64; WINDOW];

/// Pairs below this one are the library's.
pub const FIRST_PAIR: u32 = 7;
/// Flows below this one exist from the start and are never freed.
pub const FIRST_GIVEN_OUT: u32 = 2 * FIRST_PAIR;
const PAIRS: u32 = canele_proto::MAX_FLOWS / 2;

/// The number of words of pairs that members look at together.
pub const WINDOW: usize = 8;
/// Pairs of a window.
pub const WINDOW_PAIRS: u32 = WINDOW as u32 * u64::BITS;

/// The pairs that are free here, a bit each.
pub struct Pairs(Box<[u64]>);

impl Default for Pairs {
    fn default() -> Self {
        let mut free = vec![u64::MAX; (PAIRS / u64::BITS) as usize];
        free[0] <<= FIRST_PAIR;
        Self(free.into())
    }
}

impl Pairs {
    /// Takes a pair; returns true if it was free.
    pub fn take(&mut self, pair: u32) -> bool {
        let (word, bit) = (&mut self.0[(pair / u64::BITS) as usize], 1 << (pair % u64::BITS));
        let is_free = *word & bit != 0;
        *word &= !bit;
        is_free
    }

    /// Gives a pair back.
    pub fn free(&mut self, pair: u32) {
        self.0[(pair / u64::BITS) as usize] |= 1 << (pair % u64::BITS);
    }

    /// Returns a bit for each free pair from `first` on, in its window of [`WINDOW`] words. Members agree on
    /// a pair by the conjunction of these.
    ///
    /// # Errors
    /// There is no such pair.
    pub fn window(&self, first: u32) -> Result<[u64; WINDOW], Error> {
        if first >= PAIRS {
            return Err(all_used());
        }
        let begin = (first / WINDOW_PAIRS) as usize * WINDOW;
        let mut free = [0; WINDOW];
        for (n, word) in free.iter_mut().enumerate() {
            let below = first.saturating_sub((begin + n) as u32 * u64::BITS);
            let from_first = u64::MAX.checked_shl(below).unwrap_or(0);
            *word = self.0[begin + n] & from_first;
        }
        Ok(free)
    }
}

/// Returns the first pair of a window that begins with `begin`.
pub fn first_of(begin: u32, window: &[u64]) -> Option<u32> {
    let (n, word) = (0..).zip(window).find(|(_, word)| **word != 0)?;
    Some(begin + n * u64::BITS + word.trailing_zeros())
}

fn all_used() -> Error {
    let (given, needed) = (PAIRS as usize, PAIRS as usize + 1);
    Error::Lengths { what: "flows in use at the same time", given, needed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_taken_once_and_can_be_had_again() {
        let mut pairs = Pairs::default();
        assert!(!pairs.take(FIRST_PAIR - 1) && pairs.take(FIRST_PAIR) && !pairs.take(FIRST_PAIR));
        assert!(pairs.take(PAIRS - 1));
        assert_eq!(first_of(0, &pairs.0), Some(FIRST_PAIR + 1));
        pairs.free(FIRST_PAIR);
        assert_eq!(first_of(512, &[0, 1 << 3]), Some(512 + 64 + 3));
        assert!(pairs.take(FIRST_PAIR));
    }
}
