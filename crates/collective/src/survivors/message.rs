//! The messages of survivors, and their form on the wire: words of 32 bits in little-endian order.
//!
//! ```text
//!   kind │ flow │ number ┬ words │ failed │ acknowledged ─ words, ranks …     vote, decided
//!                        └                                                     have, done
//!   kind │ flow                                                                revoke
//! ```

use canele_sys::ids::{FlowId, Rank};

use super::consensus::{Contribution, Name};

/// A message from one member to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// To the coordinator: the contribution of a member that knows of no decision.
    Vote(Name, Contribution),
    /// The decision.
    Decided(Name, Contribution),
    /// To the coordinator: this member has the decision.
    Have(Name),
    /// From the coordinator: all have the decision.
    Done(Name),
    /// The group with this flow is revoked.
    Revoke(FlowId),
}

/// The error of an invalid message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a message of survivors that cannot be")]
pub struct Malformed;

/// The most words of an agreement.
const MOST_WORDS: usize = 64;

impl Message {
    /// Returns the bytes of the message.
    pub fn encode(&self) -> Vec<u8> {
        let (kind, name, body) = match self {
            Self::Vote(name, body) => (0, *name, Some(body)),
            Self::Decided(name, body) => (1, *name, Some(body)),
            Self::Have(name) => (2, *name, None),
            Self::Done(name) => (3, *name, None),
            Self::Revoke(flow) => (4, Name { flow: *flow, number: 0 }, None),
        };
        let mut words = vec![kind, name.flow.0];
        if kind != 4 {
            words.push(name.number);
        }
        if let Some(Contribution { words: values, failed, acknowledged }) = body {
            words.extend([values.len(), failed.len(), acknowledged.len()].map(|len| len as u32));
            words.extend(values.iter().flat_map(|value| [*value as u32, (*value >> 32) as u32]));
            words.extend(failed.iter().chain(acknowledged).map(|rank| rank.0));
        }
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// Returns the contribution in the message, if it has one.
    pub fn contribution_mut(&mut self) -> Option<&mut Contribution> {
        match self {
            Self::Vote(_, body) | Self::Decided(_, body) => Some(body),
            Self::Have(_) | Self::Done(_) | Self::Revoke(_) => None,
        }
    }

    /// Decodes a message, in a job of so many ranks.
    ///
    /// # Errors
    /// The bytes are no message.
    pub fn decode(bytes: &[u8], ranks: usize) -> Result<Self, Malformed> {
        let (words, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(Malformed);
        }
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        match words[..] {
            [4, flow] => Ok(Self::Revoke(FlowId(flow))),
            [2, flow, number] => Ok(Self::Have(Name { flow: FlowId(flow), number })),
            [3, flow, number] => Ok(Self::Done(Name { flow: FlowId(flow), number })),
            [kind @ (0 | 1), flow, number, values, failed, acknowledged, ref rest @ ..] => {
                let name = Name { flow: FlowId(flow), number };
                let lens = [values, failed, acknowledged].map(|len| len as usize);
                let body = decode_body(rest, lens, ranks)?;
                Ok(if kind == 0 { Self::Vote(name, body) } else { Self::Decided(name, body) })
            }
            _ => Err(Malformed),
        }
    }
}

fn decode_body(words: &[u32], lens: [usize; 3], ranks: usize) -> Result<Contribution, Malformed> {
    let [values, failed, acknowledged] = lens;
    let fits = values <= MOST_WORDS && failed <= ranks && acknowledged <= ranks;
    if !fits || words.len() != 2 * values + failed + acknowledged {
        return Err(Malformed);
    }
    let (low_high, lists) = words.split_at(2 * values);
    let (failed, acknowledged) = lists.split_at(failed);
    if lists.iter().any(|rank| *rank as usize >= ranks) || !is_sorted(failed) || !is_sorted(acknowledged) {
        return Err(Malformed);
    }
    let value = |pair: &[u32; 2]| u64::from(pair[0]) | u64::from(pair[1]) << 32;
    let list = |list: &[u32]| list.iter().copied().map(Rank).collect();
    Ok(Contribution {
        words: low_high.as_chunks::<2>().0.iter().map(value).collect(),
        failed: list(failed),
        acknowledged: list(acknowledged),
    })
}

/// Returns true if each number is greater than the one before.
fn is_sorted(list: &[u32]) -> bool {
    list.windows(2).all(|pair| pair[0] < pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Message> {
        let name = Name { flow: FlowId(10), number: 7 };
        let body = Contribution {
            words: vec![u64::MAX, 1 << 40],
            failed: vec![Rank(1), Rank(3)],
            acknowledged: vec![Rank(3)],
        };
        vec![
            Message::Vote(name, body.clone()),
            Message::Decided(name, body),
            Message::Vote(name, Contribution::default()),
            Message::Have(name),
            Message::Done(name),
            Message::Revoke(FlowId(12)),
        ]
    }

    #[test]
    fn a_message_is_read_as_it_was_written() {
        for message in all() {
            assert_eq!(Message::decode(&message.encode(), 4), Ok(message));
        }
    }

    #[test]
    fn what_is_cut_off_or_too_large_is_refused() {
        for message in all() {
            let bytes = message.encode();
            (0..bytes.len()).for_each(|len| {
                let read = Message::decode(&bytes[..len], 4);
                assert!(read.is_err() || len == 8, "{message:?} cut to {len} bytes: {read:?}");
            });
            assert_eq!(Message::decode(&[&bytes[..], &[0; 4]].concat(), 4), Err(Malformed));
        }
        let vote = all()[0].encode();
        assert_eq!(Message::decode(&vote, 3), Err(Malformed), "rank 3 of 3");
        let mut many = vote.clone();
        many[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Message::decode(&many, 4), Err(Malformed));
        let mut twice = vote;
        twice[40..44].copy_from_slice(&3u32.to_le_bytes());
        assert_eq!(Message::decode(&twice, 4), Err(Malformed), "a rank that stands there twice");
    }
}
