//! The end of a program: every possible event happens, the rest is received or cancelled, and nothing is
//! left.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use canele_proto::Holding;
use canele_proto::matching::Want;
use canele_sys::ids::{FlowId, Rank};

use super::{Checked, Letter, Play, PlayOperation, PostedReceive, same};
use crate::campaign::Packets;
use crate::campaign::observed::Expected;
use crate::campaign::program::Memory;

impl Play<'_, '_, '_> {
    /// Runs all ranks until nothing more can happen.
    pub(super) fn settle(&mut self) -> Checked {
        // True for each rank that must make a pass. A rank whose pass finds nothing sleeps until an event
        // wakes it.
        let mut awake = vec![true; self.net.ranks()];
        let mut idle = 0;
        let steps = if self.program.packets == Packets::Well { 400_000 } else { 4_000_000 };
        for _ in 0..steps {
            if self.net.open_links(true) {
                awake.fill(true);
            }
            let mut any = false;
            for (rank, awake) in awake.iter_mut().enumerate() {
                if !self.is_dead(rank) && *awake {
                    *awake = self.pass(rank)?;
                    any |= *awake;
                    self.collect(rank)?;
                }
            }
            if any {
                // In two cases a sleeping rank may have had work. A region that it wanted may be there now. A
                // bad rail may hold packets back, because no rank arms it here.
                let sure = self.program.packets == Packets::Well
                    && self.program.networks.iter().all(|model| model.region_misses == 0);
                if idle > 0 && sure {
                    return Err("a rank slept though there was something to do".into());
                }
                idle = 0;
            } else if let Some(rank) = self.net.advance() {
                awake[rank.0 as usize] = true;
            } else if idle > 8 {
                return Ok(());
            } else {
                idle += 1;
                awake.fill(true);
            }
        }
        Err("it never comes to rest".into())
    }

    /// Cancels the receives without a message, and receives the messages that no receive took; returns true
    /// if there were any of either.
    pub(super) fn receive_the_rest(&mut self) -> Checked<bool> {
        let mut any = false;
        for rank in (0..self.net.ranks()).filter(|r| Some(Rank(*r as u32)) != self.dead).collect::<Vec<_>>() {
            while let Some((matched, message)) = self.matched[rank].pop() {
                let number = self.extra_number();
                let room = self.letters[&message].len;
                self.receive_matched(number, rank, matched, message, room, Memory::Plain);
                any = true;
            }
            let left: Vec<_> =
                self.flows[rank].all().flat_map(|(f, m)| m.waiting().map(move |e| (f, *e))).collect();
            for (flow, envelope) in left {
                let want = Want { source: Some(envelope.source), tag: Some(envelope.tag) };
                let room = self.letters[&envelope.message].len;
                let posted_receive =
                    PostedReceive { at: Rank(rank as u32), flow, room, got: None, fails: false };
                let number = self.extra_number();
                self.receive(number, posted_receive, want, Memory::Plain, false)?;
                any = true;
            }
            let posted: Vec<_> =
                self.flows[rank].all().flat_map(|(_, m)| m.posted().map(|(r, _)| r)).collect();
            for receive in posted {
                let which = self.pending[rank].iter().position(|p| p.what == PlayOperation::Receive(receive));
                let which =
                    which.ok_or_else(|| format!("receive {receive} ended, but waits in the model"))?;
                self.cancel(rank, which)?;
                any = true;
            }
            self.collect(rank)?;
        }
        Ok(any)
    }

    pub(super) fn extra_number(&mut self) -> usize {
        self.extra += 1;
        self.extra
    }

    pub(super) fn check_nothing_is_left(&mut self) -> Checked {
        for rank in 0..self.net.ranks() {
            if self.is_dead(rank) {
                continue;
            }
            if let Some(pending) = self.pending[rank].first() {
                let why = self.net.protos[rank].explain(pending.id);
                let what = match pending.what {
                    PlayOperation::Send(n) => format!("send {n}"),
                    PlayOperation::Receive(n) => format!("receive {n}"),
                };
                return Err(format!("{what} of rank {rank} never ends: {why:?}"));
            }
            if let Some((message, _)) = self.coalesced[rank].first() {
                return Err(format!("send {message} of rank {rank} is coalesced for ever"));
            }
            let all = Want { source: None, tag: None };
            for flow in 0..4 {
                // This probe finds nothing. It drops the remains of cancelled sends to the rank itself.
                same("a last probe", self.net.protos[rank].probe(FlowId(flow), all), None)?;
            }
            same(&format!("what rank {rank} holds"), self.net.protos[rank].holding(), Holding::default())?;
            same("whether all is flushed", self.net.protos[rank].is_flushed(), true)?;
            self.check_credit(Rank(rank as u32))?;
        }
        for ((from, to, _), flying) in &self.flying {
            if Some(*from) != self.dead && Some(*to) != self.dead && !flying.is_empty() {
                return Err(format!("messages from {from} to {to} never came: {flying:?}"));
            }
        }
        Ok(())
    }

    /// Checks that observers saw exactly the messages that the reference knows.
    pub(super) fn check_observed(&self) -> Checked {
        let Some(observed) = &self.observed else { return Ok(()) };
        // Letters are in the order of their senders' actions.
        let mut messages = BTreeMap::<_, Vec<_>>::new();
        for letter in self.letters.values() {
            let Letter { from, to, flow, tag, len, matched: is_matched, .. } = *letter;
            messages.entry((from, to, flow, tag)).or_default().push(Expected { len, is_matched });
        }
        observed.lock().unwrap_or_else(PoisonError::into_inner).check(&messages, self.dead)
    }

    fn check_credit(&self, from: Rank) -> Checked {
        let proto = &self.net.protos[from.0 as usize];
        for to in (0..self.net.ranks() as u32).map(Rank).filter(|to| Some(*to) != self.dead) {
            let other = &self.net.protos[to.0 as usize];
            let credit = proto.credit(to).0 + other.credit(from).1;
            same(&format!("credit of {from} at {to}"), credit, other.credit_window(from))?;
        }
        Ok(())
    }
}
