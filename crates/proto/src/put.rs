//! Small puts: data and notice in one cell, written into the region by its owner.

use canele_rail::{Accept, Class, Glance, Header, Rail, Window};
use canele_sys::buffer::Place;
use canele_sys::ids::{LinkId, Rank};

use crate::peer::Reply;
use crate::request::Failure;
use crate::wire::Put;
use crate::{Notice, Proto, Received, Sent};

impl Proto {
    /// Sends a put of at most [`crate::wire::MAX_PUT`] bytes straight to the rail, if nothing stands in its way.
    #[inline]
    pub fn try_put<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        place: Place,
        notice: u64,
        data: &[u8],
    ) -> Sent {
        let peer = &self.peers[to.0 as usize];
        // Where puts are numbered, all of them go one way.
        let straight = peer.gone.is_none() && peer.lines.is_none() && peer.replies.is_empty();
        let (Some(link), true) = (peer.link, straight) else { return Sent::NotHere };
        let Ok(slot) = rail.claim(link, 0, Class::Message) else { return Sent::NotHere };
        let header = Put::fill(slot.inline, place, notice, data);
        rail.commit(link, header);
        self.traffic.control += 1;
        Sent::Done
    }

    /// The general path of a small put: behind whatever waits to be sent to that peer.
    pub fn submit_put<R: Rail>(&mut self, rail: &mut R, to: Rank, put: Put) -> Result<(), Failure> {
        self.reply(rail, to, Reply::Put(put))
    }

    /// Takes the next packet of a link if it is a small put; gives its notice. Only while no older notice waits.
    #[inline]
    pub fn try_notice<R: Rail>(&mut self, rail: &mut R, link: LinkId) -> Received<Notice> {
        if self.peers[rail.peer(link).0 as usize].lines.is_some() {
            return Received::NotHere; // It may have to wait for its turn.
        }
        let mut came = Came(None);
        match (rail.glance(link, &mut came), came.0) {
            (Glance::Taken, Some(put)) => match self.land(rail, rail.peer(link), &put) {
                Some(notice) => Received::Done(notice),
                None => Received::Nothing,
            },
            (Glance::Nothing, _) => Received::Nothing,
            _ => Received::NotHere,
        }
    }

    /// Writes what a peer put into its place. A put to a region that is gone is dropped, as a late message to a closed
    /// door; its notice too.
    #[inline]
    pub(crate) fn land<R: Rail>(&mut self, rail: &mut R, from: Rank, put: &Put) -> Option<Notice> {
        rail.own(put.place, put.len)?.write(0, &put.data[..put.len]);
        self.ended += 1;
        Some(Notice { from, id: put.notice })
    }
}

/// Accepts small puts.
struct Came(Option<Put>);

impl Accept for Came {
    #[inline(always)]
    fn accept(&mut self, header: Header, inline: Window<'_>, bulk: Window<'_>) -> bool {
        if bulk.is_empty() {
            self.0 = Put::decode(header, inline);
        }
        self.0.is_some()
    }
}
