//! Packets whose head comes before their bulk: their owner may say where the bulk goes.
//!
//! Owns, for one link, the progress of the oldest packet. A bulk comes some looks after its head. If the
//! connection is lost while the bulk is on its way to its place, it never comes over that connection.

use canele_mem::buffer::InShare;
use canele_mem::window::Window;

use super::Front;

/// The number of looks until a bulk is here whose owner gives no place. A packet that is shown to its owner
/// counts as [`SHOWN`] looks.
const MOST_LOOKS: u8 = 4;
const SHOWN: u8 = 2;
/// Bulks shorter than this come with their head.
const LEAST_BULK: usize = 64;

/// The oldest packet of a link.
pub(super) struct Shown {
    number: u32,
    /// The number of looks until its bulk is here.
    looks: u8,
    /// The place for its bulk.
    place: Option<InShare>,
    direct_bytes: usize,
}

impl Shown {
    /// Returns the state of packet `number`, which is in front. `shown` may be that of one before.
    pub fn of<'a>(shown: &'a mut Option<Self>, number: u32, front: &Front) -> &'a mut Self {
        // One packet in three is here at once.
        let at_once = number.is_multiple_of(3) || front.bulk.len() < LEAST_BULK;
        let looks = if at_once { 0 } else { MOST_LOOKS };
        shown.take_if(|shown| shown.number != number);
        shown.get_or_insert(Self { number, looks, place: None, direct_bytes: 0 })
    }

    /// Returns true if its owner may still say where the bulk goes.
    pub fn asks(&self) -> bool {
        self.looks > 0 && self.place.is_none()
    }

    /// Notes that the packet is shown to its owner.
    pub fn show(&mut self) {
        self.looks = self.looks.saturating_sub(SHOWN);
    }

    /// Notes the owner's place for the bulk, which comes after some more looks.
    pub fn put(&mut self, place: InShare) {
        self.looks = 1 + (self.number % 4) as u8;
        self.place = Some(place);
    }

    /// Makes one look; returns true if all of the packet in front is here. A connection that is `lost`
    /// brings nothing more to a place.
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
