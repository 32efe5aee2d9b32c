//! Packets whose head comes before their bulk: their owner may say where the bulk goes.
//!
//! Owns, for one link, how far the oldest packet has come. A bulk comes some looks after its head; one that is on its way to
//! its place when the connection is lost never comes over it.

use canele_mem::buffer::InShare;
use canele_mem::window::Window;

use super::Front;

/// After so many looks a bulk is here whose owner said nothing; one that is shown the packet counts as several.
const MOST_LOOKS: u8 = 4;
const SHOWN: u8 = 2;
/// Shorter ones come with their head.
const LEAST_BULK: usize = 64;

/// The oldest packet of a link.
pub(super) struct Shown {
    number: u32,
    /// So many more looks, and its bulk is here.
    looks: u8,
    /// Where its bulk goes.
    place: Option<InShare>,
    direct_bytes: usize,
}

impl Shown {
    /// The state of packet `number`, which is in front, of which `shown` may be that of one before.
    pub fn of<'a>(shown: &'a mut Option<Self>, number: u32, front: &Front) -> &'a mut Self {
        // One in three is here at once.
        let at_once = number.is_multiple_of(3) || front.bulk.len() < LEAST_BULK;
        let looks = if at_once { 0 } else { MOST_LOOKS };
        shown.take_if(|shown| shown.number != number);
        shown.get_or_insert(Self { number, looks, place: None, direct_bytes: 0 })
    }

    /// Whether its owner may still say where the bulk goes.
    pub fn asks(&self) -> bool {
        self.looks > 0 && self.place.is_none()
    }

    /// The owner is shown it.
    pub fn show(&mut self) {
        self.looks = self.looks.saturating_sub(SHOWN);
    }

    /// The owner has said where the bulk goes, which comes after some looks more.
    pub fn put(&mut self, place: InShare) {
        self.looks = 1 + (self.number % 4) as u8;
        self.place = Some(place);
    }

    /// A look of the owner, on a connection that is `lost` or not: whether all of the packet is here, which is in front.
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
