//! The table of this rank's mailboxes for ranks of other hosts. Those cannot access the books, so they ask
//! for slots. They deposit here the data that the owner cannot read from their regions.
//!
//! It is called from within the engine, where one thread is at a time. Never calls the library.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use canele_engine::{AmHandler, RegionId, Tag, Tell};
use canele_sys::atomic::{AtomicU64, Ordering::Relaxed};

use super::WAKES;
use super::slots::Slots;
use crate::Rank;

/// Asks for a slot of the mailbox with a number. If there is none and the third word is not 0, also asks for
/// a wake-up when there may be one.
pub const TAKE: u64 = 0;
/// Gives such a slot back, because no thread waits for it any more.
pub const GIVE_BACK: u64 = 1;
/// Asks for the number of the mailbox whose books are a region: its index and its generation.
pub const FIND: u64 = 2;

/// The answer if there is no free slot.
pub const FULL: u64 = 0;
/// The answer if a slot was taken.
pub const TAKEN: u64 = 1;

/// An offset added to the number of a mailbox in an answer, so that the answer is not 0.
pub const FOUND: u64 = 1 << 32;

/// The mailboxes of this rank, and the data deposited for them.
#[derive(Default)]
pub struct MailboxTable(Mutex<Open>);

#[derive(Default)]
struct Open {
    /// The mailboxes by number.
    boxes: HashMap<u64, Entry>,
    /// The deposits by mailbox and rank; none for one that did not arrive as announced. A rank deposits only
    /// for messages that hold a slot, so its deposits never exceed the mailbox's depth.
    deposits: HashMap<(u64, Rank), Deposits>,
}

/// Deposits by the numbers that their rank chose.
type Deposits = HashMap<u32, Option<Vec<u8>>>;

struct Entry {
    books: RegionId,
    slots: Slots,
    /// Number of messages received from each sender.
    got: Arc<[AtomicU64]>,
}

/// The state of a deposit.
pub enum Deposited {
    /// The deposit has arrived.
    Here(Vec<u8>),
    /// The deposit has not arrived yet.
    Expected,
    /// The deposit will not arrive: it was not as announced, or the mailbox is closed.
    Lost,
}

impl MailboxTable {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a mailbox, with the books that posting ranks see.
    pub fn add(&self, number: Tag, books: RegionId, slots: Slots, got: Arc<[AtomicU64]>) {
        self.open().boxes.insert(number.0.into(), Entry { books, slots, got });
    }

    /// Removes a closed mailbox and its deposits.
    pub fn remove(&self, number: Tag) {
        let open = &mut *self.open();
        open.boxes.remove(&number.0.into());
        open.deposits.retain(|(of, _), _| *of != u64::from(number.0));
    }

    /// Removes the deposits of `from` for a mailbox: the messages that they belong to will not arrive.
    pub fn forget(&self, number: Tag, from: Rank) {
        self.open().deposits.remove(&(number.0.into(), from));
    }

    /// Takes a deposit of `from` for a mailbox.
    pub fn take(&self, number: Tag, from: Rank, deposit: u32) -> Deposited {
        let open = &mut *self.open();
        let of_poster = open.deposits.get_mut(&(number.0.into(), from));
        match of_poster.and_then(|deposits| deposits.remove(&deposit)) {
            Some(Some(data)) => Deposited::Here(data),
            None if open.boxes.contains_key(&number.0.into()) => Deposited::Expected,
            _ => Deposited::Lost,
        }
    }
}

impl AmHandler for MailboxTable {
    fn ask(&self, from: Rank, [what, which, more]: [u64; 3], tell: &mut Vec<Tell>) -> u64 {
        let open = self.open();
        if what == FIND {
            let books = RegionId { index: which as u32, generation: more as u32 };
            let found = open.boxes.iter().find(|(_, entry)| entry.books == books);
            return found.map_or(0, |(number, _)| FOUND + number);
        }
        // Any other answer says that the mailbox is closed.
        let Some(Entry { slots, got, .. }) = open.boxes.get(&which) else { return u64::MAX };
        match what {
            TAKE => match slots.try_take(from) {
                Ok(true) => TAKEN,
                Ok(false) => {
                    if more != 0 {
                        // The owner gives slots back from within the engine, so none is given back meanwhile.
                        slots.may_sleep(from);
                    }
                    FULL
                }
                Err(_) => u64::MAX,
            },
            GIVE_BACK => {
                // A rank that has taken no slot must not give back slots of others.
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
        // A deposit for a mailbox that was closed meanwhile is lost, like its message.
        let Some(Entry { slots, .. }) = open.boxes.get(&number) else { return };
        let deposits = open.deposits.entry((number, from)).or_default();
        if (deposits.len() as u64) < slots.depth() {
            deposits.insert(deposit as u32, data);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of deposits that the table holds.
    fn held(table: &MailboxTable) -> usize {
        table.open().deposits.values().map(HashMap::len).sum()
    }

    /// Makes a table with one mailbox of number 7 and this depth; returns also its books and its counters.
    fn with_a_box(depth: u64) -> (MailboxTable, Slots, Arc<[AtomicU64]>) {
        let engine = canele_engine::Engine::start().unwrap();
        let far = engine.create_region(Slots::bytes(3)).unwrap().far();
        let slots = Slots::create(far.clone(), Rank(0), depth, Tag(7));
        let (books, number) = Slots::open(far, Rank(0), 3).unwrap();
        let got: Arc<[AtomicU64]> = (0..3).map(|_| AtomicU64::new(0)).collect();
        let table = MailboxTable::default();
        table.add(number, RegionId { index: 0, generation: 1 }, books, got.clone());
        (table, slots, got)
    }

    #[test]
    fn what_a_rank_deposited_goes_with_it_and_nothing_else() {
        let (table, ..) = with_a_box(2);
        for (from, deposit) in [(1, 1), (1, 2), (2, 1)] {
            table.deposit(Rank(from), [7, deposit], Some(vec![from as u8]));
        }
        table.deposit(Rank(1), [8, 3], Some(vec![1]));
        assert_eq!(held(&table), 3, "there is no box 8");
        table.forget(Tag(8), Rank(1));
        table.forget(Tag(7), Rank(1));
        assert!(matches!(table.take(Tag(7), Rank(1), 1), Deposited::Expected));
        assert!(matches!(table.take(Tag(7), Rank(2), 1), Deposited::Here(data) if data == [2]));
        assert_eq!(held(&table), 0);
    }

    #[test]
    fn a_poster_has_no_more_deposits_here_than_the_box_is_deep() {
        let (table, ..) = with_a_box(2);
        (0..1000).for_each(|deposit| table.deposit(Rank(1), [7, deposit], Some(vec![1; 100])));
        assert_eq!(held(&table), 2);
        table.deposit(Rank(2), [7, 5], Some(vec![2]));
        assert!(matches!(table.take(Tag(7), Rank(2), 5), Deposited::Here(_)), "another is not held up");
        assert!(matches!(table.take(Tag(7), Rank(1), 0), Deposited::Here(_)));
        table.deposit(Rank(1), [7, 2000], None);
        assert!(matches!(table.take(Tag(7), Rank(1), 2000), Deposited::Lost), "what is taken makes room");
    }

    #[test]
    fn only_a_rank_that_has_taken_a_place_gives_one_back() {
        let (table, slots, got) = with_a_box(1);
        let mut tell = Vec::new();
        let mut ask = |rank, what| table.ask(Rank(rank), [what, 7, 0], &mut tell);
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
