//! Outcomes, checked against the reference.

use canele_proto::request::{Buffer, Failure, Mode, Outcome, Status};
use canele_sys::ids::Rank;

use super::{Checked, Letter, Pending, Play, PlayOperation, PostedReceive, check_bytes, same};
use crate::campaign::reference::Message;

impl Play<'_, '_, '_> {
    /// Takes the outcomes of a rank's operations that have ended.
    pub(super) fn collect(&mut self, rank: usize) -> Checked {
        let mut i = 0;
        while i < self.pending[rank].len() {
            let id = self.pending[rank][i].id;
            match self.net.protos[rank].take(id) {
                None => i += 1,
                Some(outcome) => {
                    let pending = self.pending[rank].swap_remove(i);
                    self.ended(pending, outcome)?;
                }
            }
        }
        for (message, send) in std::mem::take(&mut self.coalesced[rank]) {
            match self.net.protos[rank].take_coalesced(send) {
                None => self.coalesced[rank].push((message, send)),
                Some(outcome) => self.check_sent(message, false, &outcome.result)?,
            }
        }
        Ok(())
    }

    fn ended(&mut self, pending: Pending, outcome: Outcome) -> Checked {
        let Outcome { result, buffer } = outcome;
        match (pending.what, buffer) {
            (PlayOperation::Send(message), Buffer::Out(token)) => {
                pending.home.back_out(self.scope, token);
                self.check_sent(message, pending.cancelled, &result)
            }
            (PlayOperation::Receive(receive), Buffer::In(token)) => {
                let bytes = pending.home.back_in(self.scope, token);
                self.check_received(receive, pending.cancelled, &result)?;
                let expected = match &result {
                    Ok(status) => Some(self.posted_receives[&receive].got.map(|m| (m, status.bytes))),
                    Err(Failure::Truncated { .. } | Failure::Cancelled) => Some(None),
                    Err(_) => None,
                };
                match (expected, bytes) {
                    (Some(expected), Some(bytes)) => {
                        check_bytes(&format!("receive {receive}"), expected, &bytes)
                    }
                    (Some(expected), None) => {
                        self.lists.insert(receive, expected);
                        Ok(())
                    }
                    (None, _) => Ok(()),
                }
            }
            _ => Err("an operation gave back a buffer of the other kind".into()),
        }
    }

    fn is_of_the_dead(&self, peer: Rank, result: &Result<Status, Failure>) -> bool {
        let of = |who: &Rank| *who == peer && self.dead == Some(peer);
        matches!(result, Err(Failure::PeerFailed(who) | Failure::RegionLost(who)) if of(who))
    }

    fn check_sent(&self, message: Message, cancelled: bool, result: &Result<Status, Failure>) -> Checked {
        let Letter { to, tag, len, mode, matched, withdrawn, .. } = self.letters[&message];
        if self.is_of_the_dead(to, result) {
            return Ok(());
        }
        let good = Ok(Status { source: to, tag, bytes: len });
        let expected = if cancelled || withdrawn { Err(Failure::Cancelled) } else { good };
        same(&format!("send {message}"), result, &expected)?;
        if mode == Mode::Synchronous && result.is_ok() && !matched && self.dead != Some(to) {
            return Err(format!("send {message} is synchronous and has ended unmatched"));
        }
        Ok(())
    }

    fn check_received(&self, receive: usize, cancelled: bool, result: &Result<Status, Failure>) -> Checked {
        let PostedReceive { room, got, fails, .. } = self.posted_receives[&receive];
        let name = format!("receive {receive}");
        if fails {
            return same(&name, result, &Err(Failure::PeerFailed(self.dead.expect("a death"))));
        }
        if cancelled {
            return same(&name, result, &Err(Failure::Cancelled));
        }
        let message = got.ok_or_else(|| format!("{name} ended with {result:?}, but has no message"))?;
        let letter = &self.letters[&message];
        if self.is_of_the_dead(letter.from, result) {
            return Ok(());
        }
        let expected = if letter.len <= room {
            Ok(self.status(message))
        } else {
            let (source_rank, tag) = (letter.from, letter.tag);
            Err(Failure::Truncated { message: letter.len, buffer: room, source_rank, tag })
        };
        same(&name, result, &expected)
    }
}
