//! The lists of a rail's links that need attention.
//!
//! A pass checks only listed links, so an idle link costs nothing. Each link knows the lists that contain it.

use canele_sys::ids::LinkId;

use super::link::Link;

/// The lists that contain a link.
#[derive(Default)]
pub struct Listed {
    ready: bool,
    flush: bool,
    unrested: bool,
    unacknowledged: bool,
}

/// The links of a rail that need attention.
#[derive(Default)]
pub struct Worklists {
    /// Links with packets, or on which packets may have arrived.
    pub ready: Vec<LinkId>,
    /// Links to flush at the end of a pass.
    pub flush: Vec<LinkId>,
    /// Links to check before a sleep.
    pub unrested: Vec<LinkId>,
    /// Number of links with unacknowledged packets.
    pub unacknowledged: usize,
}

impl Worklists {
    /// Adds a link to the lists that its state requires. Call it after each change of a link.
    #[inline]
    pub fn note(&mut self, id: LinkId, link: &mut Link) {
        if link.may_deliver() && !std::mem::replace(&mut link.listed.ready, true) {
            self.ready.push(id);
        }
        if link.is_to_be_flushed() && !std::mem::replace(&mut link.listed.flush, true) {
            self.flush.push(id);
        }
        if link.is_unrested() && !std::mem::replace(&mut link.listed.unrested, true) {
            self.unrested.push(id);
        }
        let unacknowledged = link.outgoing.kept() > 0;
        if std::mem::replace(&mut link.listed.unacknowledged, unacknowledged) != unacknowledged {
            self.unacknowledged =
                if unacknowledged { self.unacknowledged + 1 } else { self.unacknowledged - 1 };
        }
    }

    /// Removes an ended link.
    pub fn remove(&mut self, id: LinkId, link: &Link) {
        for list in [&mut self.ready, &mut self.flush, &mut self.unrested] {
            list.retain(|other| *other != id);
        }
        self.unacknowledged -= usize::from(link.listed.unacknowledged);
    }

    /// Removes links that are no longer ready.
    pub fn prune_ready(&mut self, links: &mut [Option<Box<Link>>]) {
        self.ready.retain(|id| {
            let Some(link) = &mut links[id.peer().0 as usize] else { return false };
            link.listed.ready = link.may_deliver();
            link.listed.ready
        });
    }

    /// Flushes the listed links, and with `all` every link that owes anything. Returns true if any byte was
    /// sent or received since the last call.
    pub fn flush(&mut self, links: &mut [Option<Box<Link>>], all: bool) -> bool {
        let (mut moved, mut kept) = (false, 0);
        for at in 0..self.flush.len() {
            let id = self.flush[at];
            let Some(link) = links[id.peer().0 as usize].as_deref_mut() else { continue };
            moved |= link.flush(all);
            link.listed.flush = link.is_to_be_flushed();
            if link.listed.flush {
                self.flush[kept] = id;
                kept += 1;
            }
            self.note(id, link);
        }
        self.flush.truncate(kept);
        for at in 0..if all { self.unrested.len() } else { 0 } {
            let id = self.unrested[at];
            let Some(link) = links[id.peer().0 as usize].as_deref_mut() else { continue };
            moved |= link.flush(true);
            self.note(id, link);
        }
        moved
    }

    /// Returns true if there is room again for an owner that waits for it. It reports this once.
    pub fn room_came(&mut self, links: &mut [Option<Box<Link>>], pass: u32) -> bool {
        let mut came = false;
        self.unrested.retain(|id| {
            let Some(link) = links[id.peer().0 as usize].as_deref_mut() else { return false };
            came |= link.room_came(pass);
            link.listed.unrested = link.is_unrested();
            link.listed.unrested
        });
        came
    }
}
