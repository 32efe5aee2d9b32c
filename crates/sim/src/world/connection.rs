//! The successive connections of two ranks over one network, and their ends.
//!
//! A connection has a direction from each rank, opened by that rank. When the connection is lost, everything
//! under way is lost in both directions. Each end notices in its own time, closes its end, and may open the
//! next generation. An end that is still with the old one notices when it hears of the new one.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use canele_sys::ids::Rank;

use super::Model;
use super::direction::Direction;

/// Two ranks, the lower first.
pub type Pair = (Rank, Rank);

pub fn pair(a: Rank, b: Rank) -> Pair {
    (a.min(b), a.max(b))
}

/// One connection.
pub struct Connection {
    pub network: u8,
    pub pair: Pair,
    pub generation: u32,
    lost: Cell<bool>,
    /// True if a rank that has finished closed it.
    finished: Cell<bool>,
    /// The direction from the lower rank, and that from the higher.
    ways: RefCell<[Option<Rc<Direction>>; 2]>,
}

impl Connection {
    pub fn new(network: u8, pair: Pair, generation: u32) -> Self {
        Self {
            network,
            pair,
            generation,
            lost: Cell::new(false),
            finished: Cell::new(false),
            ways: RefCell::default(),
        }
    }

    /// Returns the direction out of a rank, if it is open.
    pub fn way_from(&self, rank: Rank) -> Option<Rc<Direction>> {
        self.ways.borrow()[self.side(rank)].clone()
    }

    pub fn open(&self, from: Rank, model: &Model) -> Rc<Direction> {
        let way = self.ways.borrow_mut()[self.side(from)]
            .get_or_insert_with(|| Rc::new(Direction::new(model)))
            .clone();
        if self.is_lost() {
            way.cut(0); // An end that has not noticed opens it in vain.
        }
        way
    }

    pub fn other(&self, rank: Rank) -> Rank {
        if rank == self.pair.0 { self.pair.1 } else { self.pair.0 }
    }

    fn side(&self, rank: Rank) -> usize {
        usize::from(rank != self.pair.0)
    }

    pub fn is_lost(&self) -> bool {
        self.lost.get()
    }

    /// Returns true if it ended because a rank has finished.
    pub fn is_finished(&self) -> bool {
        self.finished.get()
    }

    /// Notes that a rank has finished: the end of the connection is no loss.
    pub fn finish(&self) {
        self.finished.set(true);
    }

    /// Cuts both directions: the connection carries nothing more.
    pub fn cut(&self, now_ns: u64) {
        self.lost.set(true);
        self.ways.borrow().iter().flatten().for_each(|way| way.cut(now_ns));
    }
}

/// The moment at which a connection is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// The connection is lost at this time.
    At(u64),
    /// The connection is lost with this packet of the two ranks, counted from one in both directions
    /// together.
    Packets(u64),
    /// The connection is lost with the packet that makes it so many bytes, headers included.
    Bytes(u64),
}

/// The loss of the connection that two ranks have over a network at that moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The number of the network.
    pub network: u8,
    /// The two ranks.
    pub ends: [Rank; 2],
    /// The moment at which it happens. Packets and bytes are counted from now on.
    pub when: When,
    /// The time from then until each end notices. An end with `None` notices when the other opens the next
    /// connection, or when it is asked to close its end.
    pub notices_ns: [Option<u64>; 2],
}
