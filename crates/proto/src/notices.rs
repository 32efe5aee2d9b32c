//! Remote notifications: the identifiers that peers put beside their data, until the program polls them.
//!
//! Owns their order. `bounds.rs` bounds the number of waiting notices of one peer.

use std::collections::VecDeque;

use canele_rail::Corrupt;
use canele_sys::ids::Rank;

use crate::Proto;

/// A remote notification: the identifier a peer put beside its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Notice {
    /// The rank that issued the put.
    pub from: Rank,
    /// The identifier.
    pub id: u64,
}

/// The notices that the program has not polled yet, oldest first.
#[derive(Default)]
pub(crate) struct Notices(VecDeque<Notice>);

impl Proto {
    /// Adds a notice of this rank to itself.
    pub fn notice_self(&mut self, id: u64) {
        self.notices.0.push_back(Notice { from: self.me, id });
        self.requests.count_completion();
    }

    /// Keeps a notice of a peer until the program polls it.
    pub(crate) fn keep_notice(&mut self, notice: Notice) -> Result<(), Corrupt> {
        self.charge_notice(notice.from)?;
        self.notices.0.push_back(notice);
        Ok(())
    }

    /// Takes the oldest notice.
    #[inline]
    pub fn take_notice(&mut self) -> Option<Notice> {
        if self.notices.0.is_empty() { None } else { self.take_kept_notice() }
    }

    #[inline(never)]
    fn take_kept_notice(&mut self) -> Option<Notice> {
        let notice = self.notices.0.pop_front()?;
        self.discharge_notice(notice.from);
        Some(notice)
    }

    /// Drops the unpolled notices for which `keep` returns false.
    pub fn retain_notices(&mut self, mut keep: impl FnMut(Notice) -> bool) {
        let mut notices = std::mem::take(&mut self.notices);
        notices.0.retain(|notice| {
            let stays = keep(*notice);
            if !stays {
                self.discharge_notice(notice.from);
            }
            stays
        });
        self.notices = notices;
    }
}
