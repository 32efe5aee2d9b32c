//! Graphs of which each rank knows its own neighbours (MPI 5.0, §8.5.4).

use super::checked_rank;
use crate::{Result, fail};

/// An edge as ranks tell each other of it: source, destination and weight, which is 0 in a graph without weights.
pub type Edge = [i32; 3];

/// The edges that one rank names in the general form, checked.
#[derive(Clone, Copy, Debug)]
pub struct NamedEdges<'a> {
    sources: &'a [i32],
    degrees: &'a [i32],
    destinations: &'a [i32],
    weights: Option<&'a [i32]>,
}

/// The neighbours of one rank. Weights are there for both sides or for none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DistGraph {
    /// Whom it receives from.
    pub sources: Vec<usize>,
    /// Whom it sends to.
    pub destinations: Vec<usize>,
    /// The weights of the edges from the sources and of those to the destinations.
    pub weights: Option<(Vec<i32>, Vec<i32>)>,
}

impl DistGraph {
    /// The neighbours that a rank itself names, among `ranks` ranks. A weight list may be missing only if it would be empty or
    /// the other is missing too.
    ///
    /// # Errors
    /// A neighbour does not exist, or a weight is negative.
    pub fn adjacent(
        ranks: usize,
        (sources, source_weights): (&[i32], Option<&[i32]>),
        (destinations, destination_weights): (&[i32], Option<&[i32]>),
    ) -> Result<Self> {
        let ranked = |name, list: &[i32]| -> Result<Vec<usize>> {
            check_ranks(name, list, ranks)?;
            Ok(list.iter().map(|&rank| rank as usize).collect())
        };
        let weights = match (source_weights, destination_weights) {
            (None, None) => None,
            (Some(from), Some(to)) => Some((from, to)),
            (Some(from), None) if destinations.is_empty() => Some((from, &[][..])),
            (None, Some(to)) if sources.is_empty() => Some((&[][..], to)),
            _ => fail!(
                Argument,
                "only one of sourceweights and destweights is MPI_UNWEIGHTED; give both or none"
            ),
        };
        if let Some((from, to)) = weights {
            assert_eq!((from.len(), to.len()), (sources.len(), destinations.len()), "each edge has a weight");
            check_weights("sourceweights", from)?;
            check_weights("destweights", to)?;
        }
        Ok(Self {
            sources: ranked("sources", sources)?,
            destinations: ranked("destinations", destinations)?,
            weights: weights.map(|(from, to)| (from.to_vec(), to.to_vec())),
        })
    }

    /// The edges that a rank names in the general form, which any rank may do for any other: `degrees[i]` of `destinations` (and
    /// of `weights`) belong to `sources[i]`.
    ///
    /// # Errors
    /// A source or a destination does not exist, a degree or a weight is negative.
    pub fn edges<'a>(
        ranks: usize,
        sources: &'a [i32],
        degrees: &'a [i32],
        destinations: &'a [i32],
        weights: Option<&'a [i32]>,
    ) -> Result<NamedEdges<'a>> {
        let count = Self::edge_count(degrees)?;
        assert_eq!(
            (sources.len(), count),
            (degrees.len(), destinations.len()),
            "each source has its destinations"
        );
        if let Some(weights) = weights {
            assert_eq!(weights.len(), count, "each edge has a weight");
            check_weights("weights", weights)?;
        }
        check_ranks("sources", sources, ranks)?;
        check_ranks("destinations", destinations, ranks)?;
        Ok(NamedEdges { sources, degrees, destinations, weights })
    }

    /// How many destinations a list of degrees says there are.
    ///
    /// # Errors
    /// A degree is negative.
    pub fn edge_count(degrees: &[i32]) -> Result<usize> {
        let mut count = 0;
        for (at, &degree) in degrees.iter().enumerate() {
            match usize::try_from(degree) {
                Ok(degree) => count += degree,
                Err(_) => fail!(Argument, "degrees[{at}] is {degree}; a degree is at least 0"),
            }
        }
        Ok(count)
    }

    /// The neighbours of a rank, from edges that ranks named, in their order; only those of which it is an end matter.
    ///
    /// # Errors
    /// An end of such an edge does not exist.
    pub fn of(rank: usize, ranks: usize, edges: &[Edge], weighted: bool) -> Result<Self> {
        let here = |end: i32| usize::try_from(end) == Ok(rank);
        let (coming, going) = edges.iter().fold((0, 0), |(coming, going), &[source, destination, _]| {
            (coming + usize::from(here(destination)), going + usize::from(here(source)))
        });
        let list = |len, wanted: bool| Vec::with_capacity(if wanted { len } else { 0 });
        let (mut from, mut to) = (list(coming, weighted), list(going, weighted));
        let (sources, destinations) = (Vec::with_capacity(coming), Vec::with_capacity(going));
        let mut graph = Self { sources, destinations, weights: None };
        for (at, &[source, destination, weight]) in edges.iter().enumerate() {
            if here(destination) {
                graph.sources.push(checked_rank("sources", at, source, ranks)?);
                from.extend(weighted.then_some(weight));
            }
            if here(source) {
                graph.destinations.push(checked_rank("destinations", at, destination, ranks)?);
                to.extend(weighted.then_some(weight));
            }
        }
        graph.weights = weighted.then_some((from, to));
        Ok(graph)
    }
}

impl NamedEdges<'_> {
    /// Calls `each` for each of them, in their order.
    pub fn for_each(&self, mut each: impl FnMut(Edge)) {
        let mut behind = 0;
        for (&source, &degree) in self.sources.iter().zip(self.degrees) {
            let range = behind..behind + degree as usize;
            behind = range.end;
            let destinations = self.destinations[range.clone()].iter();
            match self.weights {
                None => destinations.for_each(|&to| each([source, to, 0])),
                Some(weights) => {
                    destinations.zip(&weights[range]).for_each(|(&to, &weight)| each([source, to, weight]));
                }
            }
        }
    }

    /// Copies them for their ends, among `ranks` ranks: those for rank 0, those for rank 1 and so on, each in the order in which they were
    /// named, and how many for each.
    pub fn for_ends(&self, ranks: usize) -> (Vec<Edge>, Vec<usize>) {
        let mut counts = vec![0; ranks];
        self.for_each(|edge| for_each_end(edge, |end| counts[end] += 1));
        let mut next: Vec<usize> = counts
            .iter()
            .scan(0, |before, count| {
                *before += count;
                Some(*before - count)
            })
            .collect();
        let mut sorted = vec![Edge::default(); counts.iter().sum()];
        self.for_each(|edge| {
            for_each_end(edge, |end| {
                sorted[next[end]] = edge;
                next[end] += 1;
            });
        });
        (sorted, counts)
    }
}

/// Calls `each` for the ends of an edge, once if they are one rank.
#[inline(always)]
fn for_each_end([source, destination, _]: Edge, mut each: impl FnMut(usize)) {
    each(source as usize);
    if destination != source {
        each(destination as usize);
    }
}

/// Looks at all of them at once, and then for the first that does not exist.
fn check_ranks(name: &str, list: &[i32], ranks: usize) -> Result<()> {
    let highest = i32::try_from(ranks).map_or(i32::MAX, |ranks| ranks.saturating_sub(1));
    let exist = |list: &[i32]| list.iter().fold(true, |all, &rank| all & (rank >= 0) & (rank <= highest));
    if ranks > 0 && exist(list) {
        return Ok(());
    }
    list.iter().enumerate().try_for_each(|(at, &rank)| checked_rank(name, at, rank, ranks).map(drop))
}

fn check_weights(name: &str, weights: &[i32]) -> Result<()> {
    match weights.iter().position(|&weight| weight < 0) {
        Some(at) => fail!(Argument, "{name}[{at}] is {}; a weight is at least 0", weights[at]),
        None => Ok(()),
    }
}
