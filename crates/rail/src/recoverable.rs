//! Links that can be lost while their peers live.

use canele_sys::ids::LinkId;

use crate::{Lost, Rail, Unacked};

/// A rail whose links can be lost and made again. The defaults are those of a rail that loses none.
pub trait Recoverable: Rail {
    /// Returns which of the successive links over one rail to one peer this is.
    fn generation(&self, _link: LinkId) -> u32 {
        0
    }

    /// Takes a link that carries nothing more, once. What had come before can still be polled; then it is to be closed, or disconnected.
    fn take_lost(&mut self) -> Option<Lost> {
        None
    }

    /// Closes a link, lost or not, and returns what is left of it, so that the two ends can settle over another link what came
    /// over this one and what did not. Nothing more comes over it: poll it before.
    fn close_link(&mut self, link: LinkId) -> Option<Unacked> {
        self.disconnect(link);
        None
    }
}
