//! The ranks' counters, brought up to date for an answer about the job, and their links.
//!
//! Each rank writes its counters when it is rung for, in its next progress pass, and tells its links; one that sleeps is woken
//! for it. A rank that computes outside of the library does not come by, so the site looks for a bounded time, between the
//! other things it does, and then answers with what there is.

use std::time::{Duration, Instant};

use canele_engine::control::Links;

use super::neighbours::{Neighbour, Neighbours};
use super::orders::Counts;

/// How long ranks may take.
pub const PATIENCE: Duration = Duration::from_millis(50);
/// Between two looks whether they have written.
const LOOK: Duration = Duration::from_millis(1);
/// The ranks have been asked for their counters.
#[derive(Debug)]
pub struct Counting {
    /// Who asked, in words of theirs.
    pub question: u32,
    until: Instant,
    /// Of each rank, the number of the ring.
    rings: Vec<Option<u32>>,
    /// Of each rank, if it has told them.
    links: Vec<Option<Links>>,
}

impl Counting {
    /// Asks every rank that can write.
    pub fn start(question: u32, neighbours: &Neighbours, now: Instant) -> Counting {
        let ask = |neighbour: &Neighbour| match neighbour.doorbell() {
            Some(doorbell) if neighbour.is_inside() => Some(doorbell.ring()),
            _ => None,
        };
        let rings: Vec<_> = neighbours.all().iter().map(ask).collect();
        Counting { question, until: now + PATIENCE, links: vec![None; rings.len()], rings }
    }

    /// The rank of this place has told its links.
    pub fn note_links(&mut self, place: usize, links: &Links) {
        self.links[place] = Some(links.clone());
    }

    /// When to look again.
    pub fn next_look(&self, now: Instant) -> Instant {
        self.until.min(now + LOOK)
    }

    /// Whether there is nothing to be waited for any more.
    pub fn is_over(&self, neighbours: &Neighbours, now: Instant) -> bool {
        let all = neighbours.all().iter().zip(&self.rings).zip(&self.links);
        let mut asked = all.filter(|((_, ring), _)| ring.is_some());
        let has_said = |((neighbour, ring), links): ((&Neighbour, &Option<u32>), &Option<Links>)| {
            !neighbour.is_inside() || links.is_some() && is_current(neighbour, *ring)
        };
        now >= self.until || asked.all(has_said)
    }

    /// What there is.
    pub fn counts(&self, neighbours: &Neighbours) -> Vec<Counts> {
        let count = |((neighbour, ring), links): ((&Neighbour, &Option<u32>), &Option<Links>)| Counts {
            current: is_current(neighbour, *ring),
            counters: neighbour
                .doorbell()
                .map(|doorbell| doorbell.counters())
                .unwrap_or_default()
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            links: links.clone().filter(|_| neighbour.is_inside()),
        };
        neighbours.all().iter().zip(&self.rings).zip(&self.links).map(count).collect()
    }
}

/// Whether the counters of a rank are of after the question, or its last.
fn is_current(neighbour: &Neighbour, ring: Option<u32>) -> bool {
    let wrote = || Some(neighbour.doorbell()?.has_counted(ring?));
    neighbour.finished || wrote().unwrap_or(false)
}
