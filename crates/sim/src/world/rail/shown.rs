//! Packets whose bulk comes after their head, so that the owner can give the bulk a place.
//!
//! Owns, for one link, the progress of the oldest packet. The bulk comes a number of looks after the head. If
//! the connection is lost before the bulk is in its place, the bulk never comes over that connection.

use canele_mem::buffer::InShare;
use canele_mem::window::Window;

use super::Front;

/// The number of looks after which a bulk is here if its owner gives no place. Showing the packet to its
/// owner counts as [`SHOWN`] looks.
const MOST_LOOKS: u8 = 4;
const SHOWN: u8 = 2;
/// Bulks shorter than this come with their head.
const LEAST_BULK: usize = 64;

/// The oldest packet of a link.
pub(super) struct Shown {
    number: u32,
    /// The number of looks that remain until the bulk is here.
    looks: u8,
    /// The place that the owner gave for the bulk.
    place: Option<InShare>,
    direct_bytes: usize,
}

impl Shown {
    /// Returns the state of packet `number`, which is the oldest. It replaces the state of an older packet.
    pub fn of<'a>(shown: &'a mut Option<Self>, number: u32, front: &Front) -> &'a mut Self {
        // The bulk of every third packet is here at once.
        let at_once = number.is_multiple_of(3) || front.bulk.len() < LEAST_BULK;
        let looks = if at_once { 0 } else { MOST_LOOKS };
        shown.take_if(|shown| shown.number != number);
        shown.get_or_insert(Self { number, looks, place: None, direct_bytes: 0 })
    }

    /// Returns true if the owner may still give the bulk a place.
    pub fn asks(&self) -> bool {
        self.looks > 0 && self.place.is_none()
    }

    /// Notes that the packet was shown to its owner.
    pub fn show(&mut self) {
        self.looks = self.looks.saturating_sub(SHOWN);
    }

    /// Notes the place that the owner gave for the bulk, which comes some looks later.
    pub fn put(&mut self, place: InShare) {
        self.looks = 1 + (self.number % 4) as u8;
        self.place = Some(place);
    }

    /// Makes one look; returns true if the oldest packet is complete. If the connection is `lost`, a bulk
    /// with a place does not come.
    pub fn look(&mut self, lost: bool, front: &mut Front) -> bool {
        if self.looks > 0 {
            self.looks -= u8::from(!lost || self.place.is_none());
            return false;
        }
        if let Some(place) = self.place.take() {
            self.direct_bytes = front.bulk.len();
            place.copy_from(Window::on(&mut front.bulk));
        }
        front.direct_bytes = self.direct_bytes;
        if self.direct_bytes > 0 {
            front.bulk.clear();
        }
        true
    }
}
