//! Small puts: data and notice in one cell, written into the region by its owner.

use canele_mem::buffer::RegionAddress;
use canele_mem::window::Window;
use canele_rail::{Class, FullRail, Header, Rail, TakeIf, TryTake};
use canele_sys::ids::{LinkId, Rank};

use crate::peer::{Reply, SendPath};
use crate::peers::Peers;
use crate::request::Failure;
use crate::wire::Put;
use crate::{Notice, Proto, Received, Sent};

impl Proto {
    /// Sends a put of at most [`crate::wire::MAX_PUT`] bytes straight to the rail, if it need not wait.
    #[inline]
    pub fn try_put<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        place: RegionAddress,
        notice: u64,
        data: &[u8],
    ) -> Sent {
        let peer = &self.peers[to.0 as usize];
        let link = match peer.send_path() {
            SendPath::Short(link) | SendPath::Plain(link) => Some(link),
            // A put may overtake messages.
            SendPath::Queued if !peer.is_numbered() => peer.first_link(),
            // Numbered puts all take the general path.
            _ => None,
        };
        let Some(link) = link.filter(|_| peer.replies.is_empty()) else { return Sent::Busy };
        let Ok(slot) = rail.claim(link, 0, Class::Message) else { return Sent::Busy };
        let header = Put::fill(slot.inline, place, notice, data);
        rail.commit(link, header);
        self.traffic.control += 1;
        Sent::Done
    }

    /// Sends a small put by the general path: behind all packets that wait for that peer.
    pub fn submit_put<R: FullRail>(&mut self, rail: &mut R, to: Rank, put: Put) -> Result<(), Failure> {
        self.reply(rail, to, Reply::Put(put))
    }

    /// Takes the next packet of a link if it is a small put; returns its notice. Only while no older notice
    /// waits.
    #[inline(always)]
    pub fn try_notice<R: FullRail>(&mut self, rail: &mut R, link: LinkId) -> Received<Notice> {
        let from = link.peer();
        let mut came = WantedPut { peers: &self.peers, from, put: None };
        match (rail.try_take(link, &mut came), came.put) {
            (TryTake::Taken, Some(put)) => match self.apply_put(rail, from, &put) {
                Some(notice) => Received::Done(notice),
                None => Received::Nothing,
            },
            (TryTake::Nothing, _) => Received::Nothing,
            _ => Received::NotHere,
        }
    }

    /// Writes the data of a put into its place. A put to a region that is gone is dropped, with its notice.
    #[inline(always)]
    pub(crate) fn apply_put<R: FullRail>(&mut self, rail: &mut R, from: Rank, put: &Put) -> Option<Notice> {
        rail.own(put.place, put.len)?.write(0, &put.data().as_flattened()[..put.len]);
        self.requests.count_completion();
        Some(Notice { from, id: put.notice })
    }
}

/// Accepts small puts of a peer, unless they may have to wait for their turn.
struct WantedPut<'a> {
    peers: &'a Peers,
    from: Rank,
    put: Option<Put>,
}

impl TakeIf for WantedPut<'_> {
    #[inline(always)]
    fn accept(&mut self, header: Header, inline: Window<'_>, bulk: Window<'_>) -> bool {
        if bulk.is_empty() && !self.peers[self.from.0 as usize].is_numbered() {
            self.put = Put::decode(header, inline);
        }
        self.put.is_some()
    }
}
