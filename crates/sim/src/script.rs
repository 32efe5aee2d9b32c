//! Ranks whose calls take processor time: short programs of sends, receives and computation, played by the
//! real protocols on simulated networks.
//!
//! The time of the world is that of the networks. A [`Software`] gives the time that a call takes on its
//! processor. While a rank computes, it makes no progress until its next call, like a library without threads
//! of its own. All links are open from the start, and every byte that arrives is checked.

use canele_mem::buffer::Owned;
use canele_proto::matching::Want;
use canele_proto::request::{Buffer, Failure};
use canele_proto::{Envelope, Proto, Settings, strategy};
use canele_rail::Rail;
use canele_sys::ids::{FlowId, LinkId, Rank, RequestId, Tag};

use crate::world::{Model, SimRail, World};

const FLOW: FlowId = FlowId(0);
const TAG: Tag = Tag(0);

/// The time that a call takes on its processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Software {
    /// The time from the call of a send until its message reaches the network.
    pub send_ns: u64,
    /// The time from the arrival of a message until its receive returns.
    pub receive_ns: u64,
    /// The speed at which a receive copies its message out of the network's memory, in bytes per millisecond.
    /// If it is 0, the network delivers into the receiver's own memory.
    pub copied_per_ms: u64,
}

/// One step of a rank's program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScriptCall {
    /// A blocking send of this many bytes to a rank.
    Send(Rank, usize),
    /// A blocking receive of this many bytes from a rank.
    Receive(Rank, usize),
    /// A computation of this many nanoseconds.
    Compute(u64),
}

/// The reason why a script does not end well.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// A call of a rank failed.
    #[error("{0}, call {1}: {2}")]
    Call(Rank, usize, Failure),
    /// A rank received other bytes than were sent.
    #[error("{0}, call {1}: the message has wrong bytes")]
    Wrong(Rank, usize),
    /// Nothing is under way, and a rank still waits.
    #[error("{0} waits for ever in call {1}")]
    Stuck(Rank, usize),
    /// A rank broke the protocol.
    #[error("{0} blames {1}: {2}")]
    Blame(Rank, Rank, String),
}

/// The networks and settings that programs run on.
#[derive(Clone, Copy, Debug)]
pub struct ScriptSetup<'a> {
    /// The networks; every rank has a link to each other rank over each of them.
    pub networks: &'a [Model],
    /// The time that calls take.
    pub software: Software,
    /// The settings of the protocols.
    pub settings: Settings,
    /// The name of the strategy that puts packets together: see [`strategy::named`].
    pub strategy: &'a str,
}

/// Plays one program for each rank; returns the time at which each rank ends, in nanoseconds.
///
/// # Errors
/// See [`ScriptError`].
///
/// # Panics
/// Panics if a model cannot be simulated, or no strategy has this name.
pub fn play(setup: &ScriptSetup<'_>, programs: &[Vec<ScriptCall>]) -> Result<Vec<u64>, ScriptError> {
    let world = World::new(programs.len(), setup.networks, 0);
    let player = |of| Player::new(&world, of, setup);
    let mut players: Vec<_> = (0..).map(Rank).zip(programs).map(player).collect();
    players.iter_mut().for_each(|player| player.open_links(programs.len(), setup.networks.len()));
    players.iter_mut().for_each(|player| player.rail.accept());
    loop {
        let now_ns = world.now_ns();
        for player in &mut players {
            player.go_on(now_ns, &setup.software)?;
        }
        let resumes_ns = players.iter().filter_map(|player| player.resumes_ns(now_ns)).min();
        let news = world.advance_before(resumes_ns.unwrap_or(u64::MAX));
        if news.is_none() && resumes_ns.is_none() {
            break;
        }
    }
    players.into_iter().map(Player::end).collect()
}

/// A rank and its program.
struct Player<'a> {
    rank: Rank,
    calls: &'a [ScriptCall],
    /// The call that the rank is in.
    at: usize,
    /// The time until which the rank computes.
    busy_until_ns: u64,
    /// True if the current call has been charged for its time before the network.
    begun: bool,
    pending: Option<(RequestId, Owned<u8>)>,
    /// The numbers of messages so far to each rank, and from each.
    sent: Vec<usize>,
    received: Vec<usize>,
    proto: Proto,
    rail: SimRail,
}

impl<'a> Player<'a> {
    fn new(world: &World, (rank, calls): (Rank, &'a Vec<ScriptCall>), setup: &ScriptSetup<'_>) -> Self {
        let mut proto = Proto::new(rank, world.ranks(), setup.settings);
        proto.set_strategy(strategy::named(setup.strategy).expect("a built-in strategy"));
        let rail = world.rail(rank);
        let (sent, received) = (vec![0; world.ranks()], vec![0; world.ranks()]);
        Self {
            rank,
            calls,
            at: 0,
            busy_until_ns: 0,
            begun: false,
            pending: None,
            sent,
            received,
            proto,
            rail,
        }
    }

    fn open_links(&mut self, ranks: usize, networks: usize) {
        for peer in (0..ranks as u32).map(Rank).filter(|peer| *peer != self.rank) {
            for network in 0..networks as u8 {
                self.rail.open_link(network, peer);
                self.proto.link_opened(&self.rail, peer, LinkId::new(network, peer));
            }
        }
    }

    /// Returns the time at which the rank goes on by itself; `None` if it waits for a message or has ended.
    fn resumes_ns(&self, now_ns: u64) -> Option<u64> {
        Some(self.busy_until_ns).filter(|until_ns| *until_ns > now_ns)
    }

    /// Runs the rank as far as it can go now.
    fn go_on(&mut self, now_ns: u64, software: &Software) -> Result<(), ScriptError> {
        while self.busy_until_ns <= now_ns {
            // A rank that has ended still makes progress for the others.
            self.make_progress()?;
            let Some(call) = self.calls.get(self.at).copied() else { return Ok(()) };
            if !self.step(call, now_ns, software)? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn make_progress(&mut self) -> Result<(), ScriptError> {
        self.rail.begin_pass();
        while self.proto.pass(&mut self.rail) {
            self.rail.begin_pass();
        }
        match self.proto.take_fault() {
            Some((peer, fault)) => Err(ScriptError::Blame(self.rank, peer, fault.to_string())),
            None => Ok(()),
        }
    }

    /// Makes one step of a call; returns false if it waits.
    fn step(&mut self, call: ScriptCall, now_ns: u64, software: &Software) -> Result<bool, ScriptError> {
        match (call, self.pending.take()) {
            (ScriptCall::Compute(ns), _) => {
                self.next(now_ns + ns);
                Ok(true)
            }
            (ScriptCall::Send(..), None) if !self.begun => {
                (self.begun, self.busy_until_ns) = (true, now_ns + software.send_ns);
                Ok(true)
            }
            (ScriptCall::Send(to, bytes), None) => {
                let number = next_number(&mut self.sent, to);
                let mut memory = Owned::new(content(self.rank, number, bytes));
                let buffer = memory.lend_out();
                let id = self.proto.submit_send(&mut self.rail, Envelope::new(to, FLOW, TAG), buffer);
                self.pending = Some((id, memory));
                Ok(true)
            }
            (ScriptCall::Receive(from, bytes), None) => {
                let mut memory = Owned::new(vec![0; bytes]);
                let want = Want { source: Some(from), tag: Some(TAG) };
                let id = self.proto.submit_recv(FLOW, want, memory.lend_in());
                self.pending = Some((id, memory));
                Ok(true)
            }
            (call, Some(pending)) => self.complete(call, pending, now_ns, software),
        }
    }

    fn complete(
        &mut self,
        call: ScriptCall,
        (id, mut memory): (RequestId, Owned<u8>),
        now_ns: u64,
        software: &Software,
    ) -> Result<bool, ScriptError> {
        let Some(outcome) = self.proto.take(id) else {
            self.pending = Some((id, memory));
            return Ok(false);
        };
        match outcome.buffer {
            Buffer::Out(token) => memory.take_back_out(token),
            Buffer::In(token) => memory.take_back_in(token),
            Buffer::None => {}
        }
        let status = outcome.result.map_err(|failure| ScriptError::Call(self.rank, self.at, failure))?;
        if let ScriptCall::Receive(from, bytes) = call {
            let number = next_number(&mut self.received, from);
            if status.bytes != bytes || memory.bytes() != content(from, number, bytes) {
                return Err(ScriptError::Wrong(self.rank, self.at));
            }
            self.next(now_ns + software.received_ns(bytes));
        } else {
            self.next(now_ns);
        }
        Ok(true)
    }

    /// Moves the rank to its next call, which begins at this time.
    fn next(&mut self, at_ns: u64) {
        (self.at, self.begun, self.busy_until_ns) = (self.at + 1, false, at_ns);
    }

    fn end(self) -> Result<u64, ScriptError> {
        if self.at < self.calls.len() {
            Err(ScriptError::Stuck(self.rank, self.at))
        } else {
            Ok(self.busy_until_ns)
        }
    }
}

impl Software {
    fn received_ns(&self, bytes: usize) -> u64 {
        let copy_ns = (bytes as u64).saturating_mul(1_000_000).checked_div(self.copied_per_ms);
        self.receive_ns + copy_ns.unwrap_or(0)
    }
}

/// Counts a message to or from a peer; returns its number.
fn next_number(messages: &mut [usize], peer: Rank) -> usize {
    let number = &mut messages[peer.0 as usize];
    *number += 1;
    *number
}

/// Returns the bytes of a rank's message of this number.
fn content(from: Rank, number: usize, bytes: usize) -> Vec<u8> {
    let seed = from.0 as usize * 31 + number * 7;
    (0..bytes).map(|at| (at ^ at >> 8 ^ seed) as u8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net() -> Model {
        Model { latency_ns: 1000, bytes_per_ms: 1_000_000, overhead_ns: 0, ..Model::default() }
    }

    fn play(software: Software, programs: &[Vec<ScriptCall>]) -> Result<Vec<u64>, ScriptError> {
        let settings = Settings { eager_bytes: 16 << 10, piece_bytes: 64 << 10, unexpected_bytes: 1 << 20 };
        super::play(&ScriptSetup { networks: &[net()], software, settings, strategy: "aggregate" }, programs)
    }

    #[test]
    fn a_call_costs_its_processor_and_a_message_its_network() {
        let software = Software { send_ns: 300, receive_ns: 50, copied_per_ms: 2_000_000 };
        let programs = [vec![ScriptCall::Send(Rank(1), 4)], vec![ScriptCall::Receive(Rank(0), 4)]];
        let ends = play(software, &programs).unwrap();
        assert_eq!(ends, [300, 300 + net().idle_ns(4) + 50 + 2]);
    }

    #[test]
    fn a_rank_that_computes_answers_no_peer() {
        let programs = [
            vec![ScriptCall::Send(Rank(1), 1 << 20)],
            vec![ScriptCall::Compute(5_000_000), ScriptCall::Receive(Rank(0), 1 << 20)],
        ];
        let ends = play(Software::default(), &programs).unwrap();
        assert!(ends[0] > 5_000_000 && ends[1] > 6_000_000, "{ends:?}");
    }

    #[test]
    fn a_rank_that_waits_for_nothing_is_named() {
        let error = play(Software::default(), &[vec![], vec![ScriptCall::Receive(Rank(0), 1)]]);
        assert_eq!(error.unwrap_err().to_string(), "rank 1 waits for ever in call 0");
    }
}
