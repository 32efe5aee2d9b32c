//! Which of the links of a rail need attention.
//!
//! Owns the lists. A pass looks at the links that are listed and at no other, so an idle link costs nothing. Each link knows in
//! which lists it is.

use canele_sys::ids::LinkId;

use super::link::Link;

/// The lists that a link is in.
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
    /// Links on which packets are, or may have come.
    pub ready: Vec<LinkId>,
    /// Links that a pass flushes at its end.
    pub flush: Vec<LinkId>,
    /// Links that are looked at before a sleep.
    pub unrested: Vec<LinkId>,
    /// How many links have packets that are not acknowledged.
    pub unacknowledged: usize,
}

impl Worklists {
    /// Lists a link wherever its state wants it. To be called after each change of a link.
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

    /// Forgets a link that is no more.
    pub fn remove(&mut self, id: LinkId, link: &Link) {
        for list in [&mut self.ready, &mut self.flush, &mut self.unrested] {
            list.retain(|other| *other != id);
        }
        self.unacknowledged -= usize::from(link.listed.unacknowledged);
    }

    /// Keeps the ready links that still are.
    pub fn prune_ready(&mut self, links: &mut [Option<Box<Link>>]) {
        self.ready.retain(|id| {
            let Some(link) = &mut links[id.peer().0 as usize] else { return false };
            link.listed.ready = link.may_deliver();
            link.listed.ready
        });
    }

    /// Flushes the links that are listed for it, with `all` every one that owes anything. Says whether any byte has left or come
    /// since the last time.
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

    /// Says whether there is room again for an owner that waits for it. Reported once.
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
