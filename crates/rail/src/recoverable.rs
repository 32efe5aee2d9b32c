//! Links that can be lost while their peers live.

use canele_sys::ids::LinkId;

use crate::{Lost, Rail, Unacked};

/// A rail whose links can be lost and made again. The defaults are those of a rail that loses none.
pub trait Recoverable: Rail {
    /// Returns the number of this link among the successive links over one rail to one peer.
    fn generation(&self, _link: LinkId) -> u32 {
        0
    }

    /// Takes a lost link, once per link. Packets that arrived before can still be polled; then the link must
    /// be closed or disconnected.
    fn take_lost(&mut self) -> Option<Lost> {
        None
    }

    /// Closes a link, lost or not, and returns its unacknowledged data. By it the two ends settle over
    /// another link what arrived. Nothing more is received on the link, so poll it before.
    fn close_link(&mut self, link: LinkId) -> Option<Unacked> {
        self.disconnect(link);
        None
    }
}
