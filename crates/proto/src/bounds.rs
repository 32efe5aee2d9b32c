//! Bounds on the state, beside payload, that a peer can make this rank hold: announcements without a receive,
//! notices that were not polled, fences. Credit bounds payload. Each bound holds for each peer and is far
//! beyond the needs of programs. A peer that passes it is cut off with an error that names it.

use canele_rail::Corrupt;
use canele_sys::ids::Rank;

use crate::Proto;
use crate::peer::Reply;

/// The most announced messages without a receive. The sender holds as many requests.
pub(crate) const MOST_ANNOUNCED: u32 = 1 << 22;
/// The most notices that were not polled.
const MOST_NOTICES: u32 = 1 << 24;
/// The most fences whose answers wait for room.
const MOST_FENCES: usize = 4096;

/// Counts of the state, beside payload, that one peer makes this rank hold.
#[derive(Clone, Copy, Default)]
pub struct BoundedCounts {
    announced: u32,
    notices: u32,
    /// Fences that the peer has not answered.
    fences: u32,
}

impl Proto {
    fn held(&mut self, peer: Rank) -> &mut BoundedCounts {
        &mut self.peers[peer.0 as usize].held
    }

    /// Counts an announced message that is kept.
    pub(crate) fn charge_announced(&mut self, from: Rank) -> Result<(), Corrupt> {
        let held = self.held(from);
        if held.announced >= MOST_ANNOUNCED {
            return Err(Corrupt(format!(
                "{from} announced {MOST_ANNOUNCED} messages that no receive has taken"
            )));
        }
        held.announced += 1;
        Ok(())
    }

    /// Subtracts an announced message that is no longer kept.
    pub(crate) fn discharge_announced(&mut self, from: Rank) {
        let held = self.held(from);
        held.announced = held.announced.saturating_sub(1);
    }

    /// Counts a notice that is kept.
    pub(crate) fn charge_notice(&mut self, from: Rank) -> Result<(), Corrupt> {
        let held = self.held(from);
        if held.notices >= MOST_NOTICES {
            return Err(Corrupt(format!("{from} sent {MOST_NOTICES} notices that were not polled")));
        }
        held.notices += 1;
        Ok(())
    }

    /// Subtracts a notice that is no longer kept. Notices of this rank to itself are not counted.
    pub(crate) fn discharge_notice(&mut self, from: Rank) {
        if from != self.me {
            let held = self.held(from);
            held.notices = held.notices.saturating_sub(1);
        }
    }

    /// Counts a fence that this rank sends to a peer.
    pub(crate) fn charge_fence(&mut self, to: Rank) {
        self.held(to).fences += 1;
    }

    /// Handles the answer to a fence, which this rank must have sent.
    pub(crate) fn on_fenced(&mut self, from: Rank, ticket: u64) -> Result<(), Corrupt> {
        let held = self.held(from);
        let Some(left) = held.fences.checked_sub(1) else {
            return Err(Corrupt(format!("{from} answered a fence that was not asked for")));
        };
        held.fences = left;
        self.reports.fence_answered(from, ticket);
        self.requests.count_completion();
        Ok(())
    }

    /// Handles a fence of a peer, by an answer.
    pub(crate) fn on_fence(&mut self, from: Rank, ticket: u64) -> Result<(), Corrupt> {
        let replies = &self.peers[from.0 as usize].replies;
        // They are counted only where many answers of any kind wait, so that an ordinary fence costs nothing.
        let is_fenced = |reply: &&Reply| matches!(reply, Reply::Fenced(_));
        if replies.len() >= MOST_FENCES && replies.iter().filter(is_fenced).count() >= MOST_FENCES {
            return Err(Corrupt(format!("{from} has {MOST_FENCES} fences under way and takes no answers")));
        }
        self.answer(from, Reply::Fenced(ticket));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use canele_sys::ids::{FlowId, RequestId, Tag};

    use super::*;
    use crate::wire::Rts;
    use crate::{Notice, Settings};

    const PEER: Rank = Rank(1);

    fn proto() -> Proto {
        Proto::new(Rank(0), 2, Settings { eager_bytes: 2048, piece_bytes: 4096, unexpected_bytes: 64 << 10 })
    }

    fn announce(proto: &mut Proto) -> Result<(), Corrupt> {
        let rts = Rts {
            len: 1 << 20,
            request: RequestId { index: 0, generation: 0 },
            place: None,
            lacks_credit: false,
        };
        proto.on_rts(PEER, FlowId(0), Tag(7), rts)
    }

    #[test]
    fn announcements_without_a_receive_are_bounded() {
        let mut proto = proto();
        proto.held(PEER).announced = MOST_ANNOUNCED - 1;
        announce(&mut proto).unwrap();
        let refused = announce(&mut proto).unwrap_err();
        assert!(refused.0.contains(&PEER.to_string()), "{}", refused.0);
        assert_eq!(proto.holding().unexpected, 1, "what is refused is not kept");
    }

    #[test]
    fn announcements_that_are_taken_count_no_more() {
        let mut proto = proto();
        for _ in 0..3 {
            announce(&mut proto).unwrap();
        }
        proto.on_withdraw(PEER, FlowId(0), Tag(7), RequestId { index: 0, generation: 0 });
        assert_eq!(proto.held(PEER).announced, 2);
        proto.drop_flow(FlowId(0));
        assert_eq!((proto.held(PEER).announced, proto.holding().unexpected), (0, 0));
    }

    #[test]
    fn notices_that_are_not_polled_are_bounded() {
        let mut proto = proto();
        proto.held(PEER).notices = MOST_NOTICES - 2;
        let notice = |id| Notice { from: PEER, id };
        proto.keep_notice(notice(1)).unwrap();
        proto.keep_notice(notice(2)).unwrap();
        assert!(proto.keep_notice(notice(3)).unwrap_err().0.contains("notices"));
        proto.retain_notices(|notice| notice.id != 1);
        proto.keep_notice(notice(4)).unwrap();
        assert_eq!([(); 3].map(|()| proto.take_notice().map(|notice| notice.id)), [Some(2), Some(4), None]);
        assert_eq!(proto.held(PEER).notices, MOST_NOTICES - 2);
    }

    #[test]
    fn answers_to_fences_are_those_that_were_asked_for() {
        let mut proto = proto();
        assert!(proto.on_fenced(PEER, 1).is_err());
        proto.charge_fence(PEER);
        proto.on_fenced(PEER, 1).unwrap();
        assert!(proto.on_fenced(PEER, 1).is_err());
        assert_eq!((proto.take_fenced(), proto.take_fenced()), (Some((PEER, 1)), None));
    }

    #[test]
    fn fences_whose_answers_are_not_taken_are_bounded() {
        let mut proto = proto();
        let answered = (0..2 * MOST_FENCES as u64).take_while(|ticket| proto.on_fence(PEER, *ticket).is_ok());
        assert_eq!(answered.count(), MOST_FENCES);
        assert_eq!(proto.holding().replies, MOST_FENCES);
    }
}
