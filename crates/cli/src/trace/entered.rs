//! Which ranks have entered a collective when.
//!
//! The n-th collective of a name on a communicator is the same call on all members. Non-blocking ones have the same tag on all members, too;
//! a rank enters them where it starts them.

use std::collections::HashMap;
use std::rc::Rc;

use super::recorded::{Slice, SliceKind, Trace};
use super::timeline::{Piece, Timeline};

/// What the calls of a series have in common: the name, the communicator, and the tag of a non-blocking one.
type Series = (Rc<str>, Option<Rc<str>>, Option<u32>);

/// The collectives of all ranks.
pub struct EnteredCollectives {
    /// Of each: when which thread entered it, in the order of time.
    entered: Vec<Vec<(f64, usize)>>,
    /// Of each slice of each thread: the collective that it waits for, or the innermost one that it lies in.
    of_slices: Vec<Vec<Option<usize>>>,
}

/// Numbers of collectives, while they are counted.
#[derive(Default)]
struct CollectiveNumbers {
    entered: Vec<Vec<(f64, usize)>>,
    numbers: HashMap<(Series, usize), usize>,
    /// How many calls of a series a rank has made.
    calls: HashMap<(u32, Series), usize>,
}

impl CollectiveNumbers {
    /// Adds an entry of a thread of a rank into its next collective of a series; returns the number of the collective.
    fn enter(&mut self, rank: u32, series: Series, entry: (f64, usize)) -> usize {
        let count = self.calls.entry((rank, series.clone())).or_default();
        let next = self.numbers.len();
        let number = *self.numbers.entry((series, *count)).or_insert(next);
        *count += 1;
        if number == self.entered.len() {
            self.entered.push(Vec::new());
        }
        self.entered[number].push(entry);
        number
    }
}

impl EnteredCollectives {
    /// Finds the collectives of a trace.
    pub fn of(trace: &Trace, timeline: &Timeline) -> Self {
        let mut numbers = CollectiveNumbers::default();
        let started = StartedCollectives::of(trace, timeline, &mut numbers);
        let mut of_slices = Vec::with_capacity(timeline.threads.len());
        for (number, thread) in timeline.threads.iter().enumerate() {
            let mut open: Vec<(f64, usize)> = Vec::new();
            let mut of_thread = Vec::with_capacity(thread.slices.len());
            for slice in &thread.slices {
                while open.pop_if(|(end, _)| *end <= slice.start).is_some() {}
                if slice.kind == SliceKind::Collective {
                    let series = (slice.name.clone(), slice.flow.clone(), None);
                    open.push((slice.end, numbers.enter(thread.rank, series, (slice.start, number))));
                }
                let around = open.last().map(|(_, collective)| *collective);
                of_thread.push(started.of_wait(thread.rank, slice).or(around));
            }
            of_slices.push(of_thread);
        }
        let mut entered = numbers.entered;
        entered.iter_mut().for_each(|list| list.sort_by(|a, b| a.0.total_cmp(&b.0)));
        Self { entered, of_slices }
    }

    /// The last other thread that entered the collective in which a thread waits, and when, if it did so during the wait.
    /// Another communicator may have the same number on other ranks, so other entries explain nothing.
    pub fn last_to_enter(&self, thread: usize, piece: &Piece) -> Option<(usize, f64)> {
        let entered = &self.entered[self.of_slices[thread][piece.slice?]?];
        let before = entered.partition_point(|(start, _)| *start < piece.end);
        let (start, other) = entered[..before].iter().rev().find(|(_, other)| *other != thread)?;
        (*start > piece.start).then_some((*other, *start))
    }
}

/// The non-blocking collectives of each rank, by what they have in common: when each was started, and its number.
struct StartedCollectives(HashMap<(u32, Series), Vec<(f64, usize)>>);

impl StartedCollectives {
    fn of(trace: &Trace, timeline: &Timeline, numbers: &mut CollectiveNumbers) -> Self {
        let mut all: HashMap<_, Vec<_>> = HashMap::new();
        for (rank, recorded) in &trace.ranks {
            for operation in recorded.operations.iter().filter(|operation| operation.tag.is_some()) {
                let Some(thread) = timeline.thread(*rank, operation.thread) else { continue };
                let series = (operation.name.clone(), operation.flow.clone(), operation.tag);
                let number = numbers.enter(*rank, series.clone(), (operation.start, thread));
                all.entry((*rank, series)).or_default().push((operation.start, number));
            }
        }
        all.values_mut().for_each(|list| list.sort_by(|a, b| a.0.total_cmp(&b.0)));
        Self(all)
    }

    /// The number of the non-blocking collective that a slice waits for.
    fn of_wait(&self, rank: u32, slice: &Slice) -> Option<usize> {
        if self.0.is_empty() || slice.kind != SliceKind::Wait || slice.tag.is_none() {
            return None;
        }
        let name = slice.name.strip_prefix("wait in ")?;
        let series: Series = (name.into(), slice.flow.clone(), slice.tag);
        let started = self.0.get(&(rank, series))?;
        let before = started.partition_point(|(start, _)| *start <= slice.start);
        started[..before].last().map(|(_, number)| *number)
    }
}
