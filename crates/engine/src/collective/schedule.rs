//! What a collective is once its algorithm is chosen: rounds of sends and receives, each followed by work on memory.
//!
//! ```text
//!   round: sends and receives, all at once ──▶ copies and reductions, in order ──▶ next round
//! ```
//! Within a round the memory that is received into is touched by nothing else. A schedule holds no address and no tag,
//! so it can be used again, by a call that blocks or by one that does not.

use canele_sys::ids::Rank;

/// Which memory of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Area {
    /// What the user gives; only read.
    Input,
    /// What the user gets.
    Output,
    /// The library's own, for blocks on their way.
    Scratch,
}

/// A range of bytes of an area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub area: Area,
    pub at: usize,
    pub len: usize,
}

impl Span {
    /// What a message without content carries.
    pub const NOTHING: Span = Span { area: Area::Scratch, at: 0, len: 0 };

    pub fn input(at: usize, len: usize) -> Self {
        Self { area: Area::Input, at, len }
    }

    pub fn output(at: usize, len: usize) -> Self {
        Self { area: Area::Output, at, len }
    }

    pub fn scratch(at: usize, len: usize) -> Self {
        Self { area: Area::Scratch, at, len }
    }
}

/// A message to or from a peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Transfer {
    pub peer: Rank,
    pub span: Span,
}

/// Work on memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Local {
    Copy {
        from: Span,
        into: Span,
    },
    /// Several blocks, each a step behind the one before, into places a step apart; places lie apart from all blocks. A
    /// step back is one into the places only.
    Scatter(Blocks),
    /// `into` becomes `from ∘ into` if `from` comes first in the order of ranks, else `into ∘ from`. Operands have an
    /// order because floating-point numbers notice (signed zeros, NaN): so every rank gets the same bits.
    Reduce {
        from: Span,
        into: Span,
        from_first: bool,
    },
}

/// Blocks at regular distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Blocks {
    /// The first block.
    pub from: Span,
    pub from_step: usize,
    /// Where the first goes.
    pub into: Span,
    pub into_step: isize,
    pub count: usize,
}

/// Transfers that need not wait for each other, and what is done once all of them have ended.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Round {
    pub sends: Vec<Transfer>,
    pub receives: Vec<Transfer>,
    pub then: Vec<Local>,
}

/// One rank's part of a collective.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Schedule {
    pub rounds: Vec<Round>,
    /// Bytes of scratch it needs.
    pub scratch_bytes: usize,
}

impl Schedule {
    /// Starts the next round.
    pub fn round(&mut self) -> &mut Self {
        self.rounds.push(Round::default());
        self
    }

    fn last(&mut self) -> &mut Round {
        if self.rounds.is_empty() {
            self.rounds.push(Round::default());
        }
        let last = self.rounds.len() - 1;
        &mut self.rounds[last]
    }

    pub fn send(&mut self, to: usize, span: Span) -> &mut Self {
        self.last().sends.push(Transfer { peer: Rank(to as u32), span });
        self
    }

    pub fn receive(&mut self, from: usize, span: Span) -> &mut Self {
        self.last().receives.push(Transfer { peer: Rank(from as u32), span });
        self
    }

    pub fn copy(&mut self, from: Span, into: Span) -> &mut Self {
        self.last().then.push(Local::Copy { from, into });
        self
    }

    pub fn scatter(&mut self, blocks: Blocks) -> &mut Self {
        self.last().then.push(Local::Scatter(blocks));
        self
    }

    pub fn reduce(&mut self, from: Span, into: Span, from_first: bool) -> &mut Self {
        self.last().then.push(Local::Reduce { from, into, from_first });
        self
    }

    /// Room for `len` bytes of scratch, aligned for any number.
    pub fn scratch(&mut self, len: usize) -> Span {
        let at = self.scratch_bytes;
        self.scratch_bytes += len.next_multiple_of(8);
        Span::scratch(at, len)
    }
}
