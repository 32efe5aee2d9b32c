//! The mailboxes of this rank, for posters of other hosts: they cannot reach the books, so they ask for places, and what they
//! cannot have read from a region of theirs they deposit here.
//!
//! Called from within the engine, where one thread is at a time. Never calls the library.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use canele_engine::{Clerk, RegionId, Tag, Tell};
use canele_sys::atomic::{AtomicU64, Ordering::Relaxed};

use super::WAKES;
use super::slots::Slots;
use crate::Rank;

/// Asks for a place in the box with a number; if there is none, and the third word is not 0, to be woken when there may be one.
pub const TAKE: u64 = 0;
/// Gives such a place back, because nobody waits for it any more.
pub const GIVE_BACK: u64 = 1;
/// Asks for the number of the box whose books are a region: its index and its generation.
pub const FIND: u64 = 2;

/// The answer if there is no place.
pub const FULL: u64 = 0;
/// The answer if one was taken.
pub const TAKEN: u64 = 1;

/// A number of a box is told with this added, so that it is not 0.
pub const FOUND: u64 = 1 << 32;

/// All of them.
#[derive(Default)]
pub struct Register(Mutex<Open>);

#[derive(Default)]
struct Open {
    /// By number.
    boxes: HashMap<u64, Entry>,
    /// What was deposited, by poster and its number for it.
    deposits: HashMap<(Rank, u32), Parcel>,
}

/// Data for a box, if it came as announced.
struct Parcel {
    number: u64,
    data: Option<Vec<u8>>,
}

struct Entry {
    books: RegionId,
    slots: Slots,
    /// Messages that came, by sender.
    got: Arc<[AtomicU64]>,
}

/// What is known of a deposit.
pub enum Deposited {
    /// It is here.
    Here(Vec<u8>),
    /// It has not come.
    Expected,
    /// It will not come: it did not as announced, or the box is closed.
    Lost,
}

impl Register {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A box is there from now on, with books as its posters see them.
    pub fn add(&self, number: Tag, books: RegionId, slots: Slots, got: Arc<[AtomicU64]>) {
        self.open().boxes.insert(number.0.into(), Entry { books, slots, got });
    }

    /// A box is closed; what was deposited for it goes.
    pub fn remove(&self, number: Tag) {
        let open = &mut *self.open();
        open.boxes.remove(&number.0.into());
        open.deposits.retain(|_, parcel| parcel.number != u64::from(number.0));
    }

    /// What `from` deposited for a box goes: its messages will not come.
    pub fn forget(&self, number: Tag, from: Rank) {
        let of_it = |poster: Rank, parcel: &Parcel| poster == from && parcel.number == u64::from(number.0);
        self.open().deposits.retain(|(poster, _), parcel| !of_it(*poster, parcel));
    }

    /// Takes what `from` deposited for a box.
    pub fn take(&self, number: Tag, from: Rank, deposit: u32) -> Deposited {
        let open = &mut *self.open();
        match open.deposits.remove(&(from, deposit)) {
            Some(Parcel { data: Some(data), .. }) => Deposited::Here(data),
            None if open.boxes.contains_key(&number.0.into()) => Deposited::Expected,
            _ => Deposited::Lost,
        }
    }
}

impl Clerk for Register {
    fn ask(&self, from: Rank, [what, which, more]: [u64; 3], tell: &mut Vec<Tell>) -> u64 {
        let open = self.open();
        if what == FIND {
            let books = RegionId { index: which as u32, generation: more as u32 };
            let found = open.boxes.iter().find(|(_, entry)| entry.books == books);
            return found.map_or(0, |(number, _)| FOUND + number);
        }
        // Any other answer says that the box is closed.
        let Some(Entry { slots, got, .. }) = open.boxes.get(&which) else { return u64::MAX };
        match what {
            TAKE => match slots.try_take(from) {
                Ok(true) => TAKEN,
                Ok(false) => {
                    if more != 0 {
                        // The owner gives places back from within the engine, so none comes in between.
                        slots.may_sleep(from);
                    }
                    FULL
                }
                Err(_) => u64::MAX,
            },
            GIVE_BACK => {
                // A rank that has taken nothing must not give back what others took.
                let came = got[from.0 as usize].load(Relaxed);
                if slots.left_by(from, came) == 0 {
                    return u64::MAX;
                }
                slots.give_up(from);
                let mut note = |rank| {
                    tell.push((rank, WAKES, Tag(which as u32)));
                    Ok(())
                };
                slots.wake(got.len() as u32, &mut note).map_or(u64::MAX, |()| FULL)
            }
            _ => u64::MAX,
        }
    }

    fn deposit(&self, from: Rank, [number, deposit]: [u64; 2], data: Option<Vec<u8>>) {
        let open = &mut *self.open();
        // One for a box that was closed meanwhile is lost, as its message is.
        if open.boxes.contains_key(&number) {
            open.deposits.insert((from, deposit as u32), Parcel { number, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A register with one box, of number 7 and depth 1, its books, and what came for it.
    fn with_a_box() -> (Register, Slots, Arc<[AtomicU64]>) {
        let engine = canele_engine::Engine::start().unwrap();
        let far = engine.create_region(Slots::bytes(3)).unwrap().far();
        let slots = Slots::create(far.clone(), Rank(0), 1, Tag(7));
        let (books, number) = Slots::open(far, Rank(0), 3).unwrap();
        let got: Arc<[AtomicU64]> = (0..3).map(|_| AtomicU64::new(0)).collect();
        let register = Register::default();
        register.add(number, RegionId { index: 0, generation: 1 }, books, got.clone());
        (register, slots, got)
    }

    #[test]
    fn what_a_rank_deposited_goes_with_it_and_nothing_else() {
        let (register, ..) = with_a_box();
        for (from, deposit) in [(1, 1), (1, 2), (2, 1)] {
            register.deposit(Rank(from), [7, deposit], Some(vec![from as u8]));
        }
        register.deposit(Rank(1), [8, 3], Some(vec![1]));
        assert_eq!(register.open().deposits.len(), 3, "there is no box 8");
        register.forget(Tag(8), Rank(1));
        register.forget(Tag(7), Rank(1));
        assert!(matches!(register.take(Tag(7), Rank(1), 1), Deposited::Expected));
        assert!(matches!(register.take(Tag(7), Rank(2), 1), Deposited::Here(data) if data == [2]));
        assert!(register.open().deposits.is_empty());
    }

    #[test]
    fn only_a_rank_that_has_taken_a_place_gives_one_back() {
        let (register, slots, got) = with_a_box();
        let mut tell = Vec::new();
        let mut ask = |rank, what| register.ask(Rank(rank), [what, 7, 0], &mut tell);
        assert_eq!(ask(1, GIVE_BACK), u64::MAX, "it has taken none");
        assert_eq!(ask(2, TAKE), TAKEN);
        assert_eq!(ask(1, GIVE_BACK), u64::MAX, "another has");
        assert_eq!(ask(1, TAKE), FULL);
        got[2].store(1, Relaxed);
        assert_eq!(ask(2, GIVE_BACK), u64::MAX, "its message came");
        slots.free(1);
        assert_eq!((ask(1, TAKE), ask(1, GIVE_BACK), ask(1, TAKE)), (TAKEN, FULL, TAKEN));
    }
}
