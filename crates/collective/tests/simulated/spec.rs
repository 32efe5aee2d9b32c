//! Random collectives: the calls of each member, and their memory.

use canele_collective::{Block, Operation, Root, Shape, Uneven};
use canele_sim::world::Random;

/// Bytes of an element: the map x ↦ a·x + b.
pub const ELEMENT: usize = 16;

/// The amounts that a collective moves, in elements, for all members together.
#[derive(Clone, Debug)]
pub enum Kind {
    Barrier,
    Broadcast {
        root: usize,
        len: usize,
    },
    Reduce {
        root: usize,
        len: usize,
    },
    Allreduce {
        len: usize,
    },
    Scan {
        len: usize,
    },
    Exscan {
        len: usize,
    },
    ReduceScatter {
        lens: Vec<usize>,
        even: bool,
    },
    Gather {
        root: usize,
        lens: Vec<usize>,
        even: bool,
    },
    Scatter {
        root: usize,
        lens: Vec<usize>,
        even: bool,
    },
    Allgather {
        lens: Vec<usize>,
        even: bool,
    },
    /// The lengths, as `lens[from][to]`.
    Alltoall {
        lens: Vec<Vec<usize>>,
        even: bool,
    },
    /// Messages as (from, to, elements), in the order in which both list them.
    Exchange {
        messages: Vec<(usize, usize, usize)>,
    },
}

/// One collective of a team.
#[derive(Clone, Debug)]
pub struct Case {
    pub kind: Kind,
    /// The number of members of the first group; all, unless there are two.
    pub split: usize,
    pub members: usize,
    pub commutative: bool,
    pub in_place: bool,
}

/// The call of one member.
pub struct Call {
    pub shape: Option<Shape>,
    pub lists: [Vec<Block>; 2],
    pub neighbours: [Vec<(u32, Block)>; 2],
    pub lens: Vec<usize>,
    pub mine: Option<Block>,
}

fn len(random: &mut Random) -> usize {
    let most = random.pick(&[0, 1, 3, 3, 40, 300, 3000, 12_000]);
    random.below(most + 1)
}

fn lens(random: &mut Random, count: usize, even: bool) -> Vec<usize> {
    let first = len(random);
    (0..count).map(|_| if even { first } else { random.below(2) * len(random) / 2 }).collect()
}

impl Case {
    /// Draws a valid case of so many members.
    pub fn draw(random: &mut Random, members: usize) -> Self {
        let split = if members > 1 && random.chance(30) { 1 + random.below(members - 1) } else { members };
        let is_between = split < members;
        let (even, root) = (random.chance(50), random.below(members));
        let kind = match random.below(if is_between { 9 } else { 12 }) {
            0 => Kind::Barrier,
            1 => Kind::Broadcast { root, len: len(random) },
            2 => Kind::Reduce { root, len: len(random) },
            3 => Kind::Allreduce { len: len(random) },
            4 => Kind::Gather { root, lens: lens(random, members, even), even },
            5 => Kind::Scatter { root, lens: lens(random, members, even), even },
            6 => Kind::Allgather { lens: lens(random, members, even), even },
            7 => {
                let block = len(random) / 4;
                let some = |random: &mut Random| if even { block } else { len(random) / 4 };
                let lens = (0..members).map(|_| (0..members).map(|_| some(random)).collect()).collect();
                Kind::Alltoall { lens, even }
            }
            8 => Kind::ReduceScatter { lens: reduced_lens(random, members, split, even), even },
            9 => Kind::Scan { len: len(random) },
            10 => Kind::Exscan { len: len(random) },
            _ => {
                let some =
                    |random: &mut Random| (random.below(members), random.below(members), len(random) / 2);
                Kind::Exchange { messages: (0..random.below(4 * members)).map(|_| some(random)).collect() }
            }
        };
        let in_place = !is_between && random.chance(40);
        let mut case = Self { kind, split, members, commutative: random.chance(50), in_place };
        case.settle();
        case
    }

    /// Makes blocks that are exchanged in place as long in both directions.
    fn settle(&mut self) {
        if let (Kind::Alltoall { lens, .. }, true) = (&mut self.kind, self.in_place) {
            let drawn = lens.clone();
            for (from, row) in lens.iter_mut().enumerate() {
                row.iter_mut().enumerate().take(from).for_each(|(to, len)| *len = drawn[to][from]);
            }
        }
    }

    pub fn is_between(&self) -> bool {
        self.split < self.members
    }

    /// Returns the members of the other group than a member's, or all.
    pub fn others(&self, member: usize) -> std::ops::Range<usize> {
        match (self.is_between(), member < self.split) {
            (false, _) => 0..self.members,
            (true, true) => self.split..self.members,
            (true, false) => 0..self.split,
        }
    }

    /// Returns the members of a member's own group.
    pub fn own(&self, member: usize) -> std::ops::Range<usize> {
        match (self.is_between(), member < self.split) {
            (false, _) => 0..self.members,
            (true, true) => 0..self.split,
            (true, false) => self.split..self.members,
        }
    }

    /// Returns the root as a member names it.
    pub fn root(&self, member: usize, root: usize) -> Root {
        match (self.is_between(), member == root, self.own(member).contains(&root)) {
            (true, true, _) => Root::Here,
            (true, false, true) => Root::Elsewhere,
            _ => Root::At((root - self.others(member).start) as u32),
        }
    }

    /// Returns true if a member's input lies in its output.
    pub fn in_place_at(&self, member: usize) -> bool {
        let at_root = match self.kind {
            Kind::Reduce { root, .. } | Kind::Gather { root, .. } | Kind::Scatter { root, .. } => {
                member == root
            }
            Kind::Barrier | Kind::Broadcast { .. } | Kind::Exchange { .. } => false,
            _ => true,
        };
        self.in_place && at_root
    }
}

/// Draws the lengths of a reduction; between two groups both reduce as much.
fn reduced_lens(random: &mut Random, members: usize, split: usize, even: bool) -> Vec<usize> {
    if split == members {
        return lens(random, members, even).into_iter().map(|len| len / 4).collect();
    }
    let each = len(random) / 4;
    (0..members).map(|n| each * if n < split { members - split } else { split }).collect()
}

/// Makes blocks of so many elements, the last first, with an element between them.
pub fn scattered(lens: impl DoubleEndedIterator<Item = usize>) -> Vec<Block> {
    let mut at = ELEMENT;
    let mut blocks: Vec<Block> = lens
        .rev()
        .map(|len| {
            let block = Block { at, len: len * ELEMENT };
            at += block.len + ELEMENT;
            block
        })
        .collect();
    blocks.reverse();
    blocks
}

/// Makes contiguous blocks.
pub fn packed(lens: impl Iterator<Item = usize>) -> Vec<Block> {
    let mut at = 0;
    lens.map(|len| {
        let block = Block { at, len: len * ELEMENT };
        at += block.len;
        block
    })
    .collect()
}

/// Makes messages with so many elements, to or from neighbours.
fn neighbours(list: impl Iterator<Item = (usize, usize)>) -> Vec<(u32, Block)> {
    let (peers, lens): (Vec<u32>, Vec<usize>) = list.map(|(peer, len)| (peer as u32, len)).unzip();
    peers.into_iter().zip(scattered(lens.into_iter())).collect()
}

impl Case {
    /// Returns the call of a member.
    pub fn call(&self, me: usize) -> Call {
        let others = self.others(me);
        let mut call = Call {
            shape: None,
            lists: Default::default(),
            neighbours: Default::default(),
            lens: Vec::new(),
            mine: None,
        };
        let in_place = self.in_place_at(me);
        let shape = |operation, len| {
            let shape = Shape::new(operation, len * ELEMENT);
            Some(Shape { element: ELEMENT, commutative: self.commutative, in_place, ..shape })
        };
        let lay = |lens: &[usize], even: bool| {
            if even { packed(lens.iter().copied()) } else { scattered(lens.iter().copied()) }
        };
        let own = |len: usize| Block { at: 0, len: len * ELEMENT };
        match &self.kind {
            Kind::ReduceScatter { lens, even } => {
                call.lens = lens[self.own(me)].iter().map(|len| len * ELEMENT).collect();
                call.shape = shape(Operation::ReduceScatter, lens[me]).filter(|_| *even);
            }
            Kind::Gather { root, lens, even } => {
                call.shape = shape(Operation::Gather(self.root(me, *root)), lens[me]).filter(|_| *even);
                call.lists[1] = if me == *root { lay(&lens[others], *even) } else { Vec::new() };
                call.mine = (!in_place).then(|| own(lens[me]));
            }
            Kind::Scatter { root, lens, even } => {
                call.shape = shape(Operation::Scatter(self.root(me, *root)), lens[me]).filter(|_| *even);
                call.lists[0] = if me == *root { lay(&lens[others], *even) } else { Vec::new() };
                call.mine = (!in_place).then(|| own(lens[me]));
            }
            Kind::Allgather { lens, even } => {
                call.shape = shape(Operation::Allgather, lens[me]).filter(|_| *even);
                call.lists[1] = lay(&lens[others], *even);
                call.mine = (!in_place).then(|| own(lens[me]));
            }
            Kind::Alltoall { lens, even } => {
                let to: Vec<usize> = others.clone().map(|to| lens[me][to]).collect();
                let from: Vec<usize> = others.map(|from| lens[from][me]).collect();
                call.shape = shape(Operation::Alltoall, lens[me][me]).filter(|_| *even);
                call.lists = [lay(&to, *even), lay(&from, *even)];
            }
            Kind::Exchange { messages } => {
                call.neighbours = [
                    neighbours(messages.iter().filter(|m| m.0 == me).map(|m| (m.1, m.2))),
                    neighbours(messages.iter().filter(|m| m.1 == me).map(|m| (m.0, m.2))),
                ];
            }
            _ => call.shape = self.of_one_block(me).and_then(|(operation, len)| shape(operation, len)),
        }
        call
    }

    /// Returns the operation if each member gives or gets one block.
    fn of_one_block(&self, me: usize) -> Option<(Operation, usize)> {
        match &self.kind {
            Kind::Barrier => Some((Operation::Barrier, 0)),
            Kind::Broadcast { root, len } => Some((Operation::Broadcast(self.root(me, *root)), *len)),
            Kind::Reduce { root, len } => Some((Operation::Reduce(self.root(me, *root)), *len)),
            Kind::Allreduce { len } => Some((Operation::Allreduce, *len)),
            Kind::Scan { len } => Some((Operation::Scan, *len)),
            Kind::Exscan { len } => Some((Operation::Exscan, *len)),
            _ => None,
        }
    }

    /// Returns the collective of blocks of any length.
    pub fn uneven<'a>(&self, me: usize, call: &'a Call) -> Uneven<'a> {
        let (lists, mine) = (&call.lists, call.mine);
        match &self.kind {
            Kind::Gather { root, .. } => Uneven::Gather { root: self.root(me, *root), mine, all: &lists[1] },
            Kind::Scatter { root, .. } => {
                Uneven::Scatter { root: self.root(me, *root), all: &lists[0], mine }
            }
            Kind::Allgather { .. } => Uneven::Allgather { mine, all: &lists[1] },
            Kind::Alltoall { .. } => {
                Uneven::Alltoall { from: (!self.in_place).then_some(&lists[0]), into: &lists[1] }
            }
            Kind::ReduceScatter { .. } => Uneven::ReduceScatter {
                lens: &call.lens,
                element: ELEMENT,
                commutative: self.commutative,
                in_place: self.in_place,
            },
            Kind::Exchange { .. } => {
                Uneven::Exchange { sends: &call.neighbours[0], receives: &call.neighbours[1] }
            }
            even => panic!("{even:?} has no blocks of different lengths"),
        }
    }
}
