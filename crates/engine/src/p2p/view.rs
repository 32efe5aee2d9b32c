//! The view of messages and peers for a layer above while it is in the engine.

use canele_proto::matching::Want;
use canele_proto::{Matched, Proto};
use canele_sys::ids::{FlowId, Rank};

use crate::{Failure, PeerEnd};

/// Messages and peers, for a question ([`Engine::ask`](crate::Engine::ask)) or a wait
/// ([`Engine::wait_until`](crate::Engine::wait_until)). While one exists, no other thread is in the engine.
pub struct EngineView<'a> {
    pub(crate) proto: &'a mut Proto,
}

impl EngineView<'_> {
    /// Returns the number of ranks that this process knows.
    pub fn ranks(&self) -> usize {
        self.proto.ranks()
    }

    /// Returns the peers that died, in the order in which it became known here.
    #[inline(always)]
    pub fn deaths(&self) -> &[Rank] {
        self.proto.deaths()
    }

    /// Returns the number of peers that died or have finished; it only grows.
    #[inline]
    pub fn count_gone(&self) -> usize {
        self.proto.count_gone()
    }

    /// Returns how a peer ended, if it is gone.
    pub fn gone(&self, peer: Rank) -> Option<PeerEnd> {
        self.proto.gone(peer)
    }

    /// Returns why nothing can be sent to a peer any more, if that is so.
    pub fn why_gone(&self, peer: Rank) -> Option<Failure> {
        self.proto.why_gone(peer)
    }

    /// Returns the failure of operations on a flow, if it is revoked.
    pub fn why_revoked(&self, flow: FlowId) -> Option<Failure> {
        self.proto.why_revoked(flow)
    }

    /// Returns the name of the strategy.
    pub fn strategy(&self) -> &str {
        self.proto.strategy()
    }

    /// Takes an unexpected message out of matching; [`Engine::recv_matched`](crate::Engine::recv_matched)
    /// receives it.
    pub fn probe_matched(&mut self, flow: FlowId, want: Want) -> Option<Matched> {
        self.proto.probe_matched(flow, want)
    }

    /// Drops a message that [`EngineView::probe_matched`] took.
    pub fn discard(&mut self, matched: Matched) {
        self.proto.discard(matched);
    }
}
