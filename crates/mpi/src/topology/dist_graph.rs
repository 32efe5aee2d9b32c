//! Graphs of which each rank knows its own neighbours (MPI 5.0, §8.5.4).

use super::checked_rank;
use crate::{Result, fail};

/// The checked edges that one rank passes in the general form.
#[derive(Clone, Copy, Debug)]
pub struct NamedEdges<'a> {
    sources: &'a [i32],
    degrees: &'a [i32],
    destinations: &'a [i32],
    weights: Option<&'a [i32]>,
}

/// The neighbours of one rank. Weights exist for both sides or for none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DistGraph {
    /// The ranks from which it receives.
    pub sources: Vec<usize>,
    /// The ranks to which it sends.
    pub destinations: Vec<usize>,
    /// The weights of the edges from the sources, and of those to the destinations.
    pub weights: Option<(Vec<i32>, Vec<i32>)>,
}

impl DistGraph {
    /// Makes the neighbours that a rank passes itself, among `ranks` ranks. A weight list may be missing only
    /// if it would be empty or both are missing.
    ///
    /// # Errors
    /// Fails if a neighbour does not exist or a weight is negative.
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

    /// Checks the edges that a rank passes in the general form, for any ranks. The next `degrees[i]` entries
    /// of `destinations` (and of `weights`) belong to `sources[i]`.
    ///
    /// # Errors
    /// Fails if a source or destination does not exist, or if a degree or weight is negative.
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

    /// Returns the number of destinations for a list of degrees.
    ///
    /// # Errors
    /// Fails if a degree is negative.
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

    /// Makes the neighbours of a rank from the messages of `ranks` ranks ([`NamedEdges::for_ends`]), which
    /// are checked.
    ///
    /// # Errors
    /// Fails if an end of an edge does not exist, or if only some ranks give weights.
    pub fn of<'a>(ranks: usize, told: impl IntoIterator<Item = &'a [i32]>, weighted: bool) -> Result<Self> {
        let (mut sources, mut destinations) = (Ends::default(), Ends::default());
        for (rank, told) in told.into_iter().enumerate() {
            let Some((&first, ends)) = told.split_first() else { continue };
            if (first < 0) != weighted {
                fail!(
                    Argument,
                    "rank {rank} and this one differ: either all give weights, or all give MPI_UNWEIGHTED"
                );
            }
            let coming = if weighted { !first } else { first } as usize;
            let Some((from, to)) = ends.split_at_checked(coming.saturating_mul(numbers_of_end(weighted)))
            else {
                fail!(Internal, "rank {rank} says that {coming} edges come here, and names fewer");
            };
            sources.extend("sources", from, ranks, weighted)?;
            destinations.extend("destinations", to, ranks, weighted)?;
        }
        let weights = weighted.then_some((sources.weights, destinations.weights));
        Ok(Self { sources: sources.ranks, destinations: destinations.ranks, weights })
    }
}

/// The other ends of one rank's edges.
#[derive(Default)]
struct Ends {
    ranks: Vec<usize>,
    weights: Vec<i32>,
}

impl Ends {
    /// Checks and adds the numbers that another rank has sent.
    fn extend(&mut self, name: &str, told: &[i32], ranks: usize, weighted: bool) -> Result<()> {
        if !weighted {
            check_ranks(name, told, ranks)?;
            self.ranks.extend(told.iter().map(|&rank| rank as usize));
            return Ok(());
        }
        let (pairs, rest) = told.as_chunks::<2>();
        if !rest.is_empty() {
            fail!(Internal, "an edge came without its weight");
        }
        let before = self.ranks.len();
        self.ranks.extend(pairs.iter().map(|&[rank, _]| rank as usize));
        self.weights.extend(pairs.iter().map(|&[_, weight]| weight));
        match self.ranks[before..].iter().all(|&rank| rank < ranks) {
            true => Ok(()),
            false => pairs
                .iter()
                .enumerate()
                .try_for_each(|(at, &[rank, _])| checked_rank(name, at, rank, ranks).map(drop)),
        }
    }
}

/// Returns the number of values per end in a message: its rank, and the weight of the edge.
fn numbers_of_end(weighted: bool) -> usize {
    1 + usize::from(weighted)
}

impl<'a> NamedEdges<'a> {
    /// Calls `each` for each source, with its destinations and their weights.
    fn for_each_source(&self, mut each: impl FnMut(i32, &'a [i32], Option<&'a [i32]>)) {
        let mut behind = 0;
        for (&source, &degree) in self.sources.iter().zip(self.degrees) {
            let range = behind..behind + degree as usize;
            behind = range.end;
            each(source, &self.destinations[range.clone()], self.weights.map(|weights| &weights[range]));
        }
    }

    /// Returns the messages of this rank to the ends of its edges, for rank 0, then rank 1 and so on, and
    /// their lengths. The message to an end names its neighbours:
    ///
    /// ```text
    ///   number of its incoming edges, all bits inverted if there are weights │ sources │ destinations
    ///   each source and destination is followed by its weight; a rank that is no end gets an empty message
    /// ```
    ///
    /// # Errors
    /// Fails if one rank has more edges than an `int` counts.
    pub fn for_ends(&self, ranks: usize) -> Result<(Vec<i32>, Vec<usize>)> {
        let (mut coming, mut going) = (vec![0usize; ranks], vec![0usize; ranks]);
        self.for_each_source(|source, destinations, _| {
            going[source as usize] += destinations.len();
            destinations.iter().for_each(|&to| coming[to as usize] += 1);
        });
        let (weighted, each) = (self.weights.is_some(), numbers_of_end(self.weights.is_some()));
        let ends = coming.iter().zip(&going).map(|(coming, going)| coming + going);
        let counts: Vec<usize> = ends.map(|ends| if ends == 0 { 0 } else { 1 + ends * each }).collect();
        let mut told = vec![0; counts.iter().sum()];
        // From here on, `coming` and `going` hold the positions of the next ends to write.
        let mut behind = 0;
        for (rank, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let Ok(first) = i32::try_from(coming[rank]) else {
                fail!(Count, "{} edges come to rank {rank}: at most {} can", coming[rank], i32::MAX);
            };
            told[behind] = if weighted { !first } else { first };
            (coming[rank], going[rank]) = (behind + 1, behind + 1 + coming[rank] * each);
            behind += count;
        }
        self.for_each_source(|source, destinations, weights| {
            let next = &mut going[source as usize];
            let leaving = &mut told[*next..][..destinations.len() * each];
            *next += leaving.len();
            match weights {
                None => {
                    leaving.copy_from_slice(destinations);
                    for &to in destinations {
                        told[coming[to as usize]] = source;
                        coming[to as usize] += 1;
                    }
                }
                Some(weights) => {
                    for (at, (&to, &weight)) in destinations.iter().zip(weights).enumerate() {
                        leaving[2 * at..][..2].copy_from_slice(&[to, weight]);
                    }
                    for (&to, &weight) in destinations.iter().zip(weights) {
                        told[coming[to as usize]..][..2].copy_from_slice(&[source, weight]);
                        coming[to as usize] += 2;
                    }
                }
            }
        });
        Ok((told, counts))
    }
}

/// Checks all ranks at once, and only then looks for the first one that does not exist.
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
