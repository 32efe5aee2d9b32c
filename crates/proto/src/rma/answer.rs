//! Answers to RMA requests, as bytes.

use super::{ANSWER, MemoryKey};

/// The reason for which an RMA request was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The region does not exist.
    #[error("there is no such region: it was dropped, or never was")]
    NoRegion,
    /// The range does not lie in it.
    #[error("the range lies outside of its {0} bytes, or is no aligned word of them")]
    Outside(u64),
    /// The data differs from its announcement.
    #[error("its data did not come as announced")]
    Broken,
    /// There is no such operation on such elements, or the data is no whole number of them.
    #[error(
        "the owner knows no such operation on elements of that type, or the elements are not aligned or not whole"
    )]
    NotAccumulated,
    /// The origin does not hold the lock.
    #[error("its origin does not hold the lock")]
    NotLocked,
}

/// The answer to an RMA request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RmaAnswer {
    /// The value, or the memory that refused it and the reason.
    pub result: Result<u64, (MemoryKey, Refusal)>,
}

impl RmaAnswer {
    /// Returns its bytes.
    pub fn to_bytes(self) -> [u8; ANSWER] {
        let words = match self.result {
            Ok(value) => [0, value, 0],
            Err((key, refusal)) => {
                let (status, value) = match refusal {
                    Refusal::NoRegion => (1, 0),
                    Refusal::Outside(bytes) => (2, bytes),
                    Refusal::Broken => (3, 0),
                    Refusal::NotAccumulated => (4, 0),
                    Refusal::NotLocked => (5, 0),
                };
                [status, value, key.to_word()]
            }
        };
        let mut bytes = [0; ANSWER];
        bytes.chunks_exact_mut(8).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
        bytes
    }

    /// Decodes it. An unknown status counts as broken.
    pub fn read(bytes: &[u8; ANSWER]) -> Self {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|n| bytes[8 * at + n]));
        let refusal = match word(0) {
            0 => return Self { result: Ok(word(1)) },
            1 => Refusal::NoRegion,
            2 => Refusal::Outside(word(1)),
            4 => Refusal::NotAccumulated,
            5 => Refusal::NotLocked,
            _ => Refusal::Broken,
        };
        Self { result: Err((MemoryKey::from_word(word(2)), refusal)) }
    }
}

#[cfg(test)]
mod tests {
    use canele_sys::ids::RegionId;

    use super::*;

    #[test]
    fn answers_come_out_as_they_went_in() {
        let region = MemoryKey::Region(RegionId { index: 5, generation: 9 });
        for result in [
            Ok(u64::MAX),
            Err((region, Refusal::NoRegion)),
            Err((region, Refusal::Outside(77))),
            Err((region, Refusal::Broken)),
            Err((region, Refusal::NotAccumulated)),
            Err((region, Refusal::NotLocked)),
        ] {
            let answer = RmaAnswer { result };
            assert_eq!(RmaAnswer::read(&answer.to_bytes()), answer);
        }
    }
}
