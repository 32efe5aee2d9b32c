//! The activity of each thread at each moment: it computes, is in the library, or waits.
//!
//! Cuts a thread's slices into pieces that follow each other without a gap, and sums the pieces of any
//! interval.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::recorded::{RankTrace, Slice, SliceKind, Trace};

/// The activity of a thread in a piece.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Activity {
    /// The thread is outside of the library.
    Computes,
    /// The thread is inside of the library, and does not wait.
    Library,
    /// The thread waits.
    Waits,
}

/// An interval in which a thread has one activity. Times are in µs.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    pub start: f64,
    pub end: f64,
    pub activity: Activity,
    /// The number of the place ([`Timeline::places`]).
    pub place: u32,
    /// The innermost slice around the piece, by its index among those of the thread.
    pub slice: Option<usize>,
    /// The outermost slice around the piece.
    pub call: Option<usize>,
    /// The number of the wait interval, if the piece is one ([`super::waits`]).
    pub wait: Option<usize>,
}

/// A place of the program: the call in which a thread is, or the call that ends a piece of computing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ProgramPlace {
    /// The call.
    pub call: Rc<str>,
    /// The place of the call in the source, if the trace has it.
    pub site: Option<Rc<str>>,
}

/// The pieces of a thread.
#[derive(Debug)]
pub struct ThreadTimeline {
    pub rank: u32,
    pub thread: u32,
    /// The pieces in the order of time, without gaps.
    pub pieces: Vec<Piece>,
    /// The slices, in the order of their starts, the outer one first.
    pub slices: Vec<Slice>,
    /// The time spent on each activity before each piece, and after the last one.
    sums: Vec<[f64; 3]>,
}

/// The threads of a job.
#[derive(Debug)]
pub struct Timeline {
    pub threads: Vec<ThreadTimeline>,
    pub places: Vec<ProgramPlace>,
    /// The threads that have slices or sends, by their ranks and numbers.
    by_number: HashMap<(u32, u32), usize>,
    /// The first thread of each rank.
    first_of_rank: HashMap<u32, usize>,
}

/// The numbers that places get in the order in which they are found.
#[derive(Default)]
struct PlaceNumbers {
    places: Vec<ProgramPlace>,
    numbers: HashMap<ProgramPlace, u32>,
}

impl PlaceNumbers {
    fn number(&mut self, call: &Rc<str>, site: Option<&Rc<str>>) -> u32 {
        let place = ProgramPlace { call: call.clone(), site: site.cloned() };
        if let Some(number) = self.numbers.get(&place) {
            return *number;
        }
        let number = self.places.len() as u32;
        self.places.push(place.clone());
        self.numbers.insert(place, number);
        number
    }
}

impl Timeline {
    /// Cuts the slices of all threads into pieces.
    pub fn of(trace: &Trace) -> Timeline {
        let mut numbers = PlaceNumbers::default();
        let mut threads = Vec::new();
        let (mut by_number, mut first_of_rank) = (HashMap::new(), HashMap::new());
        for (rank, recorded) in &trace.ranks {
            for (thread, slices) in slices_of_threads(recorded) {
                by_number.insert((*rank, thread), threads.len());
                first_of_rank.entry(*rank).or_insert(threads.len());
                threads.push(ThreadTimeline::of(*rank, thread, slices, &mut numbers));
            }
        }
        Timeline { threads, places: numbers.places, by_number, first_of_rank }
    }

    /// Returns the thread of a rank with this number; the rank's first thread if that thread has no slices.
    pub fn thread(&self, rank: u32, thread: u32) -> Option<usize> {
        self.by_number.get(&(rank, thread)).or_else(|| self.first_of_rank.get(&rank)).copied()
    }
}

/// Returns the slices of each thread in order. A send outside of any call is treated as a call that takes no
/// time.
fn slices_of_threads(rank: &RankTrace) -> BTreeMap<u32, Vec<Slice>> {
    let mut threads: BTreeMap<u32, Vec<Slice>> = BTreeMap::new();
    for slice in &rank.slices {
        threads.entry(slice.thread).or_default().push(slice.clone());
    }
    let name: Rc<str> = "send".into();
    for send in rank.sends.iter().filter(|send| send.collective.is_none()) {
        threads.entry(send.thread).or_default().push(Slice {
            kind: SliceKind::Call,
            name: name.clone(),
            thread: send.thread,
            start: send.at,
            end: send.at,
            peer: None,
            flow: None,
            site: send.site.clone(),
        });
    }
    for slices in threads.values_mut() {
        slices.sort_by(|a, b| a.start.total_cmp(&b.start).then(b.end.total_cmp(&a.end)));
    }
    threads
}

impl ThreadTimeline {
    fn of(rank: u32, thread: u32, slices: Vec<Slice>, numbers: &mut PlaceNumbers) -> Self {
        let mut pieces = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut now = slices.first().map_or(0.0, |slice| slice.start);
        for (at, slice) in slices.iter().enumerate() {
            while let Some(inner) = open.pop_if(|inner| slices[*inner].end <= slice.start) {
                let end = slices[inner].end;
                pieces.extend(inside(&slices, &open, inner, (now, end), numbers));
                now = now.max(end);
            }
            if slice.start > now {
                pieces.push(match open.last() {
                    Some(inner) => piece_in(&slices, &open, *inner, (now, slice.start), numbers),
                    None => computing(slice, (now, slice.start), numbers),
                });
                now = slice.start;
            }
            open.push(at);
        }
        while let Some(inner) = open.pop() {
            let end = slices[inner].end;
            pieces.extend(inside(&slices, &open, inner, (now, end), numbers));
            now = now.max(end);
        }
        let mut all = ThreadTimeline { rank, thread, pieces, slices, sums: Vec::new() };
        all.sum();
        all
    }

    /// Sums the pieces again, after they have changed.
    pub fn sum(&mut self) {
        let mut sum = [0.0; 3];
        self.sums = vec![sum];
        for piece in &self.pieces {
            sum[piece.activity as usize] += piece.end - piece.start;
            self.sums.push(sum);
        }
    }

    /// Returns the start of the thread's first piece.
    pub fn start(&self) -> f64 {
        self.pieces.first().map_or(0.0, |piece| piece.start)
    }

    /// Returns the time spent on each activity between two moments.
    pub fn spent(&self, (from, to): (f64, f64)) -> [f64; 3] {
        let (before, after) = (self.spent_until(from), self.spent_until(to));
        std::array::from_fn(|at| (after[at] - before[at]).max(0.0))
    }

    fn spent_until(&self, moment: f64) -> [f64; 3] {
        let at = self.pieces.partition_point(|piece| piece.end <= moment);
        let mut sum = self.sums[at];
        if let Some(piece) = self.pieces.get(at).filter(|piece| piece.start < moment) {
            sum[piece.activity as usize] += moment - piece.start;
        }
        sum
    }

    /// Returns the pieces between two moments, the last first, each with its time between them.
    pub fn backwards(&self, (from, to): (f64, f64)) -> impl Iterator<Item = (usize, f64)> {
        let end = self.pieces.partition_point(|piece| piece.start < to);
        let within = move |piece: &Piece| piece.end.min(to) - piece.start.max(from);
        (0..end).rev().map(move |at| (at, within(&self.pieces[at]))).take_while(|(_, spent)| *spent > 0.0)
    }
}

/// Returns the piece at the end of a slice; none if inner slices fill the slice up to its end.
fn inside(
    slices: &[Slice],
    outer: &[usize],
    inner: usize,
    (now, end): (f64, f64),
    numbers: &mut PlaceNumbers,
) -> Option<Piece> {
    (end > now).then(|| piece_in(slices, outer, inner, (now, end), numbers))
}

fn piece_in(
    slices: &[Slice],
    outer: &[usize],
    inner: usize,
    (start, end): (f64, f64),
    numbers: &mut PlaceNumbers,
) -> Piece {
    let slice = &slices[inner];
    let activity = if slice.kind == SliceKind::Wait { Activity::Waits } else { Activity::Library };
    // The outermost slice is the call that the program makes.
    let outermost = outer.first().copied().unwrap_or(inner);
    let call = &slices[outermost];
    let place = numbers.number(&call.name, call.site.as_ref().or(slice.site.as_ref()));
    Piece { start, end, activity, place, slice: Some(inner), call: Some(outermost), wait: None }
}

/// Returns a piece of computing, which the next call ends.
fn computing(next: &Slice, (start, end): (f64, f64), numbers: &mut PlaceNumbers) -> Piece {
    let place = numbers.number(&next.name, next.site.as_ref());
    Piece { start, end, activity: Activity::Computes, place, slice: None, call: None, wait: None }
}
