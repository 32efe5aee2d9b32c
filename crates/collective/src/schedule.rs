//! The schedule of a collective after the choice of its algorithm: rounds of sends and receives, each
//! followed by work on memory.
//!
//! ```text
//!   round: sends and receives, all at once ──▶ copies and reductions, in order ──▶ next round
//! ```
//! Within a round no other step touches the memory of a receive. A peer is sent to at most once and received
//! from at most once. A schedule holds no address and no tag, so blocking and non-blocking calls can use it
//! again.

use canele_sys::ids::Rank;

/// An area of a call's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Area {
    /// The user's input; only read.
    Input,
    /// The user's output.
    Output,
    /// Memory of the library, for blocks on their way.
    Scratch,
    /// This rank's shared buffer, from which the other members fetch; here it is only copied to.
    Shared,
}

/// A range of bytes of an area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The area.
    pub area: Area,
    /// Its start.
    pub at: usize,
    /// Its length.
    pub len: usize,
}

impl Span {
    /// The span of a message without content.
    pub(crate) const NOTHING: Span = Span { area: Area::Scratch, at: 0, len: 0 };

    pub(crate) fn input(at: usize, len: usize) -> Self {
        Self { area: Area::Input, at, len }
    }

    pub(crate) fn output(at: usize, len: usize) -> Self {
        Self { area: Area::Output, at, len }
    }

    pub(crate) fn scratch(at: usize, len: usize) -> Self {
        Self { area: Area::Scratch, at, len }
    }

    /// Returns true if both have bytes in common.
    pub(crate) fn overlaps(self, other: Span) -> bool {
        let meet = self.at < other.at + other.len && other.at < self.at + self.len;
        self.area == other.area && meet && self.len > 0 && other.len > 0
    }

    /// Returns its range within the area.
    #[inline(always)]
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.at..self.at + self.len
    }

    /// Returns `len` bytes of it, from `at` on.
    pub(crate) fn part(self, at: usize, len: usize) -> Span {
        debug_assert!(at + len <= self.len, "{len} bytes at {at} of {self:?}");
        Span { area: self.area, at: self.at + at, len }
    }

    /// Returns blocks as one span, if they are contiguous.
    pub(crate) fn joined(blocks: &[Span]) -> Option<Span> {
        let first = *blocks.first()?;
        let follows = |pair: &[Span]| pair[0].area == pair[1].area && pair[0].at + pair[0].len == pair[1].at;
        let len = blocks.iter().map(|block| block.len).sum();
        blocks.windows(2).all(follows).then_some(Span { len, ..first })
    }

    /// Splits it into contiguous blocks of these lengths.
    pub(crate) fn split(self, lens: impl IntoIterator<Item = usize>) -> Vec<Span> {
        let mut at = 0;
        let part = |len| {
            let part = self.part(at, len);
            at += len;
            part
        };
        lens.into_iter().map(part).collect()
    }
}

/// A message to or from a rank of the job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    pub(crate) peer: Rank,
    pub(crate) span: Span,
}

impl Transfer {
    /// Returns the other rank.
    pub fn peer(&self) -> Rank {
        self.peer
    }
}

/// Work on memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Local {
    Copy {
        from: Span,
        into: Span,
    },
    /// Copies several blocks, each a step behind the one before, into places a step apart, which lie apart
    /// from all blocks. Only the step of the places may be negative.
    Scatter(Blocks),
    /// `into` becomes `from ∘ into` if `from` comes first in the order of ranks, else `into ∘ from`. The
    /// order of operands matters to floating-point numbers (signed zeros, NaN), and perhaps to a user's
    /// operation. So every rank gets the same bits.
    Reduce {
        from: Span,
        into: Span,
        from_first: bool,
    },
    /// Copies data that a member publishes, or reduces it as above, in pieces as long as `through`.
    Fetch {
        from: Rank,
        published: Published,
        into: Span,
        reduced: Option<Reduced>,
    },
    /// Notes that this rank has read a member's shared buffer, for this call.
    HasRead {
        of: Rank,
        name: Span,
    },
}

/// Memory in another member's shared buffer, whose name has come from there before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Published {
    pub name: Span,
    pub at: usize,
}

/// The way in which fetched data is reduced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reduced {
    /// Scratch for fetched data, with room for whole elements.
    pub through: Span,
    pub from_first: bool,
}

/// Blocks at regular distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Blocks {
    /// The first block.
    pub from: Span,
    pub from_step: usize,
    /// The place of the first block.
    pub into: Span,
    pub into_step: isize,
    pub count: usize,
}

/// Transfers that need not wait for each other, and the work once all of them have ended.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Round {
    pub sends: Vec<Transfer>,
    pub receives: Vec<Transfer>,
    pub then: Vec<Local>,
}

impl Round {
    fn is_empty(&self) -> bool {
        self.sends.is_empty() && self.receives.is_empty() && self.then.is_empty()
    }
}

/// One rank's part of a collective.
#[derive(Default, PartialEq, Eq, Debug)]
pub struct Schedule {
    pub(crate) rounds: Vec<Round>,
    /// The bytes of scratch that it needs.
    pub scratch_bytes: usize,
    /// The shared buffer that it needs.
    pub shared_buffer: Option<SharedBufferNeed>,
    /// The length of the data in shared buffers, as this rank computes it; it is sent with the name of a
    /// shared buffer, because all must agree.
    pub(crate) published: usize,
}

/// A shared buffer that a schedule needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedBufferNeed {
    /// Its length.
    pub bytes: usize,
    /// The place in scratch of its name, which is there when the schedule begins.
    pub(crate) name: Span,
    /// The number of members that confirm that they have read it.
    pub readers: usize,
}

/// A schedule that is being made. Its methods take the numbers of peers among some members, and store ranks
/// of the job.
#[derive(Default)]
pub(crate) struct ScheduleDraft<'t> {
    made: Schedule,
    /// The ranks of all members; for `None` numbers are ranks.
    team: Option<&'t [Rank]>,
    /// The members that the numbers count now; `None` means all.
    group: Option<Vec<usize>>,
    /// True if no message is sent for an empty span.
    is_sparse: bool,
}

impl<'t> ScheduleDraft<'t> {
    /// Makes a draft for members that are these ranks.
    pub fn of(team: Option<&'t [Rank]>) -> Self {
        Self { team, ..Self::default() }
    }

    /// Returns the finished schedule.
    pub fn finish(mut self) -> Schedule {
        if self.made.rounds.last().is_some_and(Round::is_empty) {
            self.made.rounds.pop();
        }
        self.made
    }

    /// Makes numbers count these members from now on.
    pub fn among(&mut self, group: Option<Vec<usize>>) {
        self.group = group;
    }

    /// Omits messages of empty spans from now on: their receivers know that the spans are empty.
    pub fn be_sparse(&mut self) {
        self.is_sparse = true;
    }

    fn rank(&self, number: usize) -> Rank {
        let member = self.group.as_ref().map_or(number, |group| group[number]);
        self.team.map_or(Rank(member as u32), |team| team[member])
    }

    /// Starts the next round.
    pub fn round(&mut self) -> &mut Self {
        if !self.made.rounds.last().is_some_and(Round::is_empty) {
            self.made.rounds.push(Round::default());
        }
        self
    }

    fn last(&mut self) -> &mut Round {
        if self.made.rounds.is_empty() {
            self.made.rounds.push(Round::default());
        }
        let last = self.made.rounds.len() - 1;
        &mut self.made.rounds[last]
    }

    pub fn send(&mut self, to: usize, span: Span) -> &mut Self {
        if span.len > 0 || !self.is_sparse {
            let peer = self.rank(to);
            self.last().sends.push(Transfer { peer, span });
        }
        self
    }

    pub fn receive(&mut self, from: usize, span: Span) -> &mut Self {
        if span.len > 0 || !self.is_sparse {
            let peer = self.rank(from);
            self.last().receives.push(Transfer { peer, span });
        }
        self
    }

    /// Copies as much as both have room for, unless both are equal.
    pub fn copy(&mut self, from: Span, into: Span) -> &mut Self {
        let len = from.len.min(into.len);
        let (from, into) = (from.part(0, len), into.part(0, len));
        if from != into && len > 0 {
            self.last().then.push(Local::Copy { from, into });
        }
        self
    }

    pub fn scatter(&mut self, blocks: Blocks) -> &mut Self {
        self.last().then.push(Local::Scatter(blocks));
        self
    }

    pub fn reduce(&mut self, from: Span, into: Span, from_first: bool) -> &mut Self {
        if into.len > 0 {
            self.last().then.push(Local::Reduce { from, into, from_first });
        }
        self
    }

    /// Copies data that a member publishes.
    pub fn fetch(&mut self, from: usize, published: Published, into: Span) -> &mut Self {
        self.fetch_how(from, published, into, None)
    }

    /// Reduces data that a member publishes.
    pub fn fetch_and_reduce(
        &mut self,
        from: usize,
        published: Published,
        through: Span,
        into: Span,
        from_first: bool,
    ) -> &mut Self {
        self.fetch_how(from, published, into, Some(Reduced { through, from_first }))
    }

    fn fetch_how(
        &mut self,
        from: usize,
        published: Published,
        into: Span,
        reduced: Option<Reduced>,
    ) -> &mut Self {
        if into.len > 0 {
            let from = self.rank(from);
            self.last().then.push(Local::Fetch { from, published, into, reduced });
        }
        self
    }

    /// Sets the length of the data that will be published.
    pub fn publishes(&mut self, bytes: usize) {
        self.made.published = bytes;
    }

    /// Marks the end of this rank's reads from a member's shared buffer in this call.
    pub fn has_read(&mut self, of: usize, name: Span) -> &mut Self {
        let of = self.rank(of);
        self.last().then.push(Local::HasRead { of, name });
        self
    }

    /// Sets the needed shared buffer, whose name is put into scratch. Messages about it are empty, and are
    /// sent all the same.
    pub fn shared_buffer(&mut self, shared_buffer: SharedBufferNeed) {
        self.is_sparse = false;
        self.made.shared_buffer = Some(shared_buffer);
    }

    /// Reserves `len` bytes of scratch, aligned for any element.
    pub fn scratch(&mut self, len: usize) -> Span {
        let at = self.made.scratch_bytes;
        self.made.scratch_bytes += len.next_multiple_of(16);
        Span::scratch(at, len)
    }

    /// Returns the span itself or, if a part of it will be written over, a copy in scratch made at the end of
    /// this round.
    pub fn apart(&mut self, span: Span, written: Span) -> Span {
        if !span.overlaps(written) {
            return span;
        }
        let copy = self.scratch(span.len);
        self.copy(span, copy);
        copy
    }
}
