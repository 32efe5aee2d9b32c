//! The successive connections of two ranks over one network, and their ends.
//!
//! A connection has one direction from each rank, which that rank opens. When the connection is lost, both
//! directions lose everything under way. Each end notices the loss at a time of its own, closes its end, and
//! may open the next connection, with a new generation. An end that has not noticed the loss does so when it
//! hears of the new connection.

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

    /// Returns true if the connection ended because a rank has finished.
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
    /// The connection is lost with this packet. Packets of both ranks are counted together, from one.
    Packets(u64),
    /// The connection is lost with the packet that reaches this number of bytes, headers included.
    Bytes(u64),
}

/// A planned loss of the connection that two ranks have over a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// The number of the network.
    pub network: u8,
    /// The two ranks.
    pub ends: [Rank; 2],
    /// The moment at which the connection is lost. Packets and bytes are counted from the call of
    /// [`super::World::cut`].
    pub when: When,
    /// For each end, the time from the loss until that end notices it. An end with `None` notices when the
    /// other end opens the next connection, or when it is asked to close its end.
    pub notices_ns: [Option<u64>; 2],
}
