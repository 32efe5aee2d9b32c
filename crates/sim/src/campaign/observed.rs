//! The events that observers see, checked against the messages of a program.
//!
//! Messages with the same sender, receiver, flow and tag form a sequence, without the withdrawn ones. The
//! n-th message matched must be the n-th one sent, because traces pair the two by their positions. Each event
//! is checked at once as far as possible, and the rest at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use canele_proto::{Leaving, MessageEvent, MessageObserver};
use canele_sys::ids::{FlowId, Rank, Tag};

/// The sender, receiver, flow and tag of messages.
pub type Key = (Rank, Rank, FlowId, Tag);

/// A message of a program, as the reference knows it.
pub struct Expected {
    pub len: usize,
    /// True if the message has met a receive.
    pub is_matched: bool,
}

/// The events that the observers of all ranks saw.
#[derive(Default)]
pub struct Observed {
    /// The sends of each rank by their numbers.
    sends: BTreeMap<Rank, Vec<ToldSend>>,
    /// The numbers of sends with the same key, in their order.
    sent: BTreeMap<Key, Vec<usize>>,
    /// Lengths of matched messages, in the order of their receivers.
    matched: BTreeMap<Key, Vec<usize>>,
    /// The first error.
    wrong: Option<String>,
}

/// A send that an observer saw.
struct ToldSend {
    key: Key,
    len: usize,
    /// True if the message left at the moment it was sent.
    at_once: bool,
    is_withdrawn: bool,
}

/// The observer of one rank.
struct RankObserver {
    rank: Rank,
    observed: Arc<Mutex<Observed>>,
}

impl MessageObserver for RankObserver {
    fn notify(&mut self, event: MessageEvent) {
        let mut observed = self.observed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(wrong) = observed.note(self.rank, event) {
            observed.wrong.get_or_insert(format!("{} was told of {event:?}: {wrong}", self.rank));
        }
    }
}

/// Returns an observer of a rank that records its events in `observed`.
pub fn observer(rank: Rank, observed: &Arc<Mutex<Observed>>) -> impl MessageObserver + use<> {
    RankObserver { rank, observed: observed.clone() }
}

impl Observed {
    fn note(&mut self, rank: Rank, event: MessageEvent) -> Result<(), String> {
        match event {
            MessageEvent::Sent(leaving) => self.note_sent(rank, leaving),
            MessageEvent::Departed(Leaving { number, to, flow, tag, bytes, .. }) => {
                let send = self.send(rank, number, (rank, to, flow, tag))?;
                ensure(!send.at_once, "it has left before")?;
                ensure(!send.is_withdrawn, "it was withdrawn")?;
                ensure(bytes <= send.len, "more leaves than was sent")
            }
            MessageEvent::Withdrawn { number, to, flow, tag } => {
                let send = self.send(rank, number, (rank, to, flow, tag))?;
                ensure(!std::mem::replace(&mut send.is_withdrawn, true), "it was withdrawn before")
            }
            MessageEvent::Matched { from, flow, tag, bytes } => {
                let key = (from, rank, flow, tag);
                let matched = self.matched.entry(key).or_default();
                matched.push(bytes);
                ensure(matched.len() <= self.sent.get(&key).map_or(0, Vec::len), "it was not sent")
            }
            MessageEvent::Completed { .. } | MessageEvent::Chosen { .. } => Ok(()),
        }
    }

    fn note_sent(&mut self, rank: Rank, leaving: Leaving) -> Result<(), String> {
        let Leaving { number, to, flow, tag, bytes, variant, .. } = leaving;
        let key = (rank, to, flow, tag);
        let sends = self.sends.entry(rank).or_default();
        ensure(number == sends.len() as u64, "its number is not the next")?;
        self.sent.entry(key).or_default().push(sends.len());
        sends.push(ToldSend { key, len: bytes, at_once: variant.is_some(), is_withdrawn: false });
        Ok(())
    }

    /// Returns the send of a rank with a number; fails if it is not one of `key`.
    fn send(&mut self, rank: Rank, number: u64, key: Key) -> Result<&mut ToldSend, String> {
        let send = self.sends.get_mut(&rank).and_then(|sends| sends.get_mut(number as usize));
        send.filter(|send| send.key == key).ok_or_else(|| "there is no such send".into())
    }

    /// Checks the observed events against all messages of the program, which has ended. `messages` holds them
    /// in the order in which they were sent. If the rank `dead` is an end of a message, the other end may
    /// have observed more than that rank.
    pub fn check(&self, messages: &BTreeMap<Key, Vec<Expected>>, dead: Option<Rank>) -> Result<(), String> {
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        let keys: BTreeSet<&Key> =
            messages.keys().chain(self.sent.keys()).chain(self.matched.keys()).collect();
        for key in keys {
            let expected = messages.get(key).map_or(&[][..], Vec::as_slice);
            let wrong = match [key.0, key.1].map(Some).contains(&dead) {
                true => self.check_some(key),
                false => self.check_all(key, expected),
            };
            wrong.map_err(|wrong| format!("observers of messages of {key:?}: {wrong}"))?;
        }
        Ok(())
    }

    /// Checks that observers at both ends saw all messages of a key, and nothing else.
    fn check_all(&self, key: &Key, expected: &[Expected]) -> Result<(), String> {
        let sent: Vec<usize> = self.sent(key).map(|send| send.len).collect();
        same("sent", &sent, &expected.iter().map(|message| message.len).collect())?;
        let kept = |send: &ToldSend| !send.is_withdrawn;
        let is_matched: Vec<bool> = expected.iter().map(|message| message.is_matched).collect();
        same("not withdrawn", &self.sent(key).map(kept).collect(), &is_matched)?;
        let paired: Vec<usize> = self.sent(key).filter(|send| kept(send)).map(|send| send.len).collect();
        same("matched", self.matched.get(key).unwrap_or(&Vec::new()), &paired)
    }

    /// Checks that each matched message was sent, in this order.
    fn check_some(&self, key: &Key) -> Result<(), String> {
        let mut sent = self.sent(key).filter(|send| !send.is_withdrawn);
        let mut matched = self.matched.get(key).into_iter().flatten();
        match matched.find(|len| !sent.any(|send| send.len == **len)) {
            Some(len) => {
                Err(format!("a message of {len} bytes was matched that was not sent, or not in this order"))
            }
            None => Ok(()),
        }
    }

    fn sent(&self, key: &Key) -> impl Iterator<Item = &ToldSend> {
        self.sent.get(key).into_iter().flatten().map(|number| &self.sends[&key.0][*number])
    }
}

fn ensure(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, told: &T, expected: &T) -> Result<(), String> {
    if told == expected { Ok(()) } else { Err(format!("{what}: told {told:?}, expected {expected:?}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = (Rank(0), Rank(1), FlowId(4), Tag(7));

    fn sent(number: u64, bytes: usize) -> (Rank, MessageEvent) {
        let (_, to, flow, tag) = KEY;
        (Rank(0), MessageEvent::Sent(Leaving { number, to, flow, tag, bytes, variant: None, rail: 0 }))
    }

    fn withdrawn(number: u64) -> (Rank, MessageEvent) {
        let (_, to, flow, tag) = KEY;
        (Rank(0), MessageEvent::Withdrawn { number, to, flow, tag })
    }

    fn matched(bytes: usize) -> (Rank, MessageEvent) {
        let (from, to, flow, tag) = KEY;
        (to, MessageEvent::Matched { from, flow, tag, bytes })
    }

    /// Checks events against three messages of 10, 20 and 30 bytes, of which the second was withdrawn.
    fn check(told: &[(Rank, MessageEvent)], dead: Option<Rank>) -> Result<(), String> {
        let observed = Arc::default();
        told.iter().for_each(|(rank, event)| observer(*rank, &observed).notify(*event));
        let message = |len, is_matched| Expected { len, is_matched };
        let messages = vec![message(10, true), message(20, false), message(30, true)];
        observed.lock().unwrap().check(&BTreeMap::from([(KEY, messages)]), dead)
    }

    #[test]
    fn what_was_told_rightly_is_accepted_and_any_event_that_is_missing_or_wrong_is_not() {
        let told = [sent(0, 10), sent(1, 20), sent(2, 30), matched(10), withdrawn(1), matched(30)];
        assert_eq!(check(&told, None), Ok(()));
        for missing in 0..told.len() {
            let fewer: Vec<_> = [&told[..missing], &told[missing + 1..]].concat();
            assert!(check(&fewer, None).is_err(), "without {:?}", told[missing]);
        }
        for (at, wrong) in [
            (0, sent(0, 11)),
            (2, sent(3, 30)),
            (3, matched(30)),
            (4, withdrawn(2)),
            (4, withdrawn(3)),
            (5, matched(20)),
        ] {
            let mut others = told;
            others[at] = wrong;
            assert!(check(&others, None).is_err(), "{wrong:?} instead of {:?}", told[at]);
        }
        let twice = [&told[..], &[matched(30)]].concat();
        assert!(check(&twice, None).is_err());
    }

    #[test]
    fn of_a_dead_rank_less_may_be_told_but_nothing_wrong() {
        let told = [sent(0, 10), sent(1, 20), sent(2, 30), matched(10), matched(30)];
        assert!(check(&told, None).is_err());
        for dead in [Rank(0), Rank(1)] {
            assert_eq!(check(&told, Some(dead)), Ok(()));
            assert!(check(&[sent(0, 10), sent(1, 20), matched(20), matched(10)], Some(dead)).is_err());
            assert!(check(&[sent(0, 10), matched(10), matched(20), sent(1, 20)], Some(dead)).is_err());
        }
    }
}
