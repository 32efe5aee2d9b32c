//! Peers that are gone: each operation that needs one fails and names it; nothing else changes.

use std::sync::Arc;

use canele_sys::ids::{FlowId, Rank, RequestId};

use crate::peer::PeerEnd;
use crate::request::{Buffer, Failure, Outcome, State, received, sent};
use crate::{Proto, ProtoEvent};

impl Proto {
    /// Handles the end of a peer that has finished or failed. Call it after the last packet of the peer has
    /// been received: all that it sent before is still delivered (invariant I15).
    pub fn handle_gone(&mut self, peer: Rank, how: PeerEnd) {
        let state = &mut self.peers[peer.0 as usize];
        // A peer that cannot be reached may still reach this rank.
        if how != PeerEnd::Unreachable && peer != self.me && !std::mem::replace(&mut state.silent, true) {
            self.departures.fell_silent();
        }
        if !matches!(state.gone(), None | Some(PeerEnd::Finished)) || state.gone() == Some(how) {
            return;
        }
        let multipath = state.went(how);
        self.drop_multipath(peer, multipath);
        self.drop_pulls(peer);
        self.reclaim_credit(peer);
        self.eager_multis.remove_of(peer);
        self.early_matches.remove_of(peer);
        if how != PeerEnd::Finished {
            self.departures.died(peer);
            self.tell(|| ProtoEvent::RankDied { peer, how });
        }
        let failure = self.why_gone(peer).unwrap_or(Failure::PeerFailed(peer));
        for id in self.concerned(peer, how) {
            self.fail(id, failure.clone());
        }
        self.requests.count_completion();
    }

    /// Handles the loss of all ways to a peer, because of `why`. For this rank the peer counts as dead.
    pub fn handle_unreachable(&mut self, peer: Rank, why: String) {
        self.departures.note_reason(peer, why);
        self.handle_gone(peer, PeerEnd::Unreachable);
    }

    /// Handles a peer that accepts nothing more from this rank, because of `why`, and sends nothing more.
    /// Call it after the last packet of the peer, as for a death.
    pub fn handle_cut_off(&mut self, by: Rank, why: String) {
        self.departures.note_reason(by, why);
        self.handle_gone(by, PeerEnd::CutOff);
    }

    /// Returns true if nothing can come from another rank any more, and all packets have been taken from the
    /// rail.
    #[inline]
    pub fn is_alone(&self) -> bool {
        self.departures.is_alone()
    }

    /// Returns true if a request is a receive from any source that has no message yet.
    pub fn is_from_any_source(&self, id: RequestId) -> bool {
        self.requests.get(id).is_some_and(State::is_any_source)
    }

    /// Ends a receive from any source because no sender is left; returns true if it was one.
    pub fn give_up(&mut self, id: RequestId) -> bool {
        let hopeless = self.is_from_any_source(id);
        if hopeless {
            self.fail(id, Failure::NoSenderLeft);
        }
        hopeless
    }

    /// Returns true if sends on a flow are under way, also those whose outcome no caller will take.
    pub fn is_sending_on(&self, flow: FlowId) -> bool {
        self.requests.any(|state| state.sends_on() == Some(flow))
    }

    /// Returns a number that changes whenever another peer is gone.
    #[inline]
    pub fn count_gone(&self) -> usize {
        self.departures.count_gone(self.peers.len())
    }

    /// Returns how a peer ended, if it is gone.
    pub fn gone(&self, peer: Rank) -> Option<PeerEnd> {
        self.peers[peer.0 as usize].gone()
    }

    /// Ends an operation on ordinary memory, in any state. The caller knows that the other end gives up, too.
    /// Later packets of it are dropped, and nothing answers for the rest. If the receiver may read the memory
    /// of a send, the send is asked back.
    pub fn abandon(&mut self, id: RequestId) {
        if self.cancel_here(id) {
            return;
        }
        let Some(state) = self.requests.leave(id) else { return };
        let cancelled = Err(Failure::Cancelled);
        match state {
            State::ExpectCts(s) if s.buffer.place().is_none() && !s.fetched => {
                self.requests.end(id, sent(s, cancelled))
            }
            State::Streaming(s, _, done) if s.buffer.place().is_none() => {
                self.peers[s.to.0 as usize].backlog().streamed(s.buffer.len() - done);
                self.requests.end(id, sent(s, cancelled));
            }
            State::ExpectPieces(r, _) if r.buffer.place().is_none() => {
                self.requests.end(id, received(r, cancelled))
            }
            other => {
                self.requests.enter(id, other);
                self.cancel(id);
            }
        }
    }

    /// Returns the peers that died so far, in the order in which it became known.
    #[inline(always)]
    pub fn deaths(&self) -> &[Rank] {
        self.departures.deaths()
    }

    /// Sets the ranks that send on a flow: the death of another rank does not matter to receives from any
    /// source there.
    pub fn set_senders(&mut self, flow: FlowId, senders: Arc<[Rank]>) {
        if let Some(flow) = self.flow(flow) {
            flow.senders = Some(senders);
        }
    }

    pub(crate) fn sends_on(&self, flow: FlowId, peer: Rank) -> bool {
        self.flows.has_sender(flow, peer)
    }

    /// Returns the requests that cannot end without the peer. If the peer died, this includes receives from
    /// any source, which may have waited for it.
    fn concerned(&self, peer: Rank, how: PeerEnd) -> Vec<RequestId> {
        let may_be_the_one = |state: &State| match state {
            State::ExpectMessage { want, flow, .. } => {
                want.source.is_none() && !self.acknowledges(*flow) && self.sends_on(*flow, peer)
            }
            _ => false,
        };
        let hit =
            |state: &State| state.peer() == Some(peer) || how != PeerEnd::Finished && may_be_the_one(state);
        self.requests.find(hit)
    }

    pub(crate) fn fail(&mut self, id: RequestId, failure: Failure) {
        let Some(state) = self.requests.leave(id) else { return };
        let died = !matches!(failure, Failure::Revoked { .. });
        let done = match state {
            State::ExpectRoom(s, _)
            | State::ExpectCts(s)
            | State::Streaming(s, ..)
            | State::Writing(s, ..) => sent(s, Err(failure)),
            State::SharingOut(s, ..) | State::ExpectFin(s) | State::ExpectSelf(s) => sent(s, Err(failure)),
            State::ExpectPieces(r, _)
            | State::Reading(r, ..)
            | State::ToShare(r, ..)
            | State::SharingIn(r, ..) => received(r, Err(failure)),
            State::ExpectMessage { want, flow, posted, buffer } => {
                let deaths = self.deaths().len();
                if let Some(flow) = self.flow(flow) {
                    flow.matcher.cancel(posted);
                    if want.source.is_none() && !flow.acknowledges && died {
                        flow.deaths_told = deaths;
                    }
                }
                State::Done(Outcome { result: Err(failure), buffer: Buffer::In(buffer) })
            }
            other => other,
        };
        self.requests.end(id, done);
    }

    /// Returns true if a death may have to be reported to the next receive from any source on a flow.
    #[inline]
    pub fn has_unreported_death(&self, flow: FlowId) -> bool {
        let deaths = self.deaths().len();
        deaths > 0 && deaths > self.flows.deaths_told(flow)
    }

    /// Returns the death to report to the next receive from any source on this flow: each flow gets each
    /// death once.
    pub(crate) fn unreported_death(&mut self, flow: FlowId) -> Option<Failure> {
        let deaths = self.deaths().len();
        let told = std::mem::replace(&mut self.flow(flow)?.deaths_told, deaths);
        let dead = self.departures.unreported(told, |dead| self.sends_on(flow, dead))?;
        self.why_gone(dead)
    }
}
