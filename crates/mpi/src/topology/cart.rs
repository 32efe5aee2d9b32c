//! Grids (MPI 5.0, §8.5) in row-major order: the last coordinate varies fastest.

use crate::{Result, fail};

/// A grid of ranks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cart {
    dims: Vec<usize>,
    periods: Vec<bool>,
}

impl Cart {
    /// Makes a grid with these sizes, periodic in some dimensions, for a communicator of `ranks` ranks.
    ///
    /// # Errors
    /// Fails if a size is not positive or there are too few ranks.
    pub fn new(dims: &[i32], periods: &[bool], ranks: usize) -> Result<Self> {
        assert_eq!(dims.len(), periods.len(), "each dimension is periodic or not");
        let mut places = 1usize;
        for (index, &dim) in dims.iter().enumerate() {
            match usize::try_from(dim) {
                Ok(dim) if dim > 0 => places = places.saturating_mul(dim),
                _ => fail!(Dimensions, "dims[{index}] is {dim}; a dimension has at least size 1"),
            }
        }
        if places > ranks {
            fail!(
                Topology,
                "dims is {dims:?}, a grid of {places} places, but the communicator has {ranks} ranks"
            );
        }
        Ok(Self { dims: dims.iter().map(|&dim| dim as usize).collect(), periods: periods.to_vec() })
    }

    /// Returns the number of ranks in the grid.
    pub fn size(&self) -> usize {
        self.dims.iter().product()
    }

    /// Returns the size of each dimension.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Returns for each dimension true if it is periodic.
    pub fn periods(&self) -> &[bool] {
        &self.periods
    }

    /// Returns the rank in the grid of a rank of the old communicator, if it is in the grid.
    pub fn map(&self, rank: usize) -> Option<usize> {
        (rank < self.size()).then_some(rank)
    }

    /// Returns the coordinates of a rank.
    ///
    /// # Errors
    /// Fails if the rank is not in the grid.
    pub fn coords(&self, rank: i32) -> Result<Vec<usize>> {
        match usize::try_from(rank) {
            Ok(place) if place < self.size() => Ok(self.coords_of(place)),
            _ => fail!(Rank, "rank {rank} is not in a grid of {} places", self.size()),
        }
    }

    /// Returns the rank at these coordinates, which wrap around in periodic dimensions.
    ///
    /// # Errors
    /// Fails if a coordinate is outside of a dimension that is not periodic.
    pub fn rank_of(&self, coords: &[i32]) -> Result<usize> {
        assert_eq!(coords.len(), self.dims.len(), "each dimension has a coordinate");
        let mut rank = 0;
        for (index, (&coord, &dim)) in coords.iter().zip(&self.dims).enumerate() {
            let Some(inside) = self.inside(index, i64::from(coord)) else {
                fail!(
                    Argument,
                    "coords[{index}] is {coord}, outside of a dimension of size {dim} that is no ring"
                );
            };
            rank = rank * dim + inside;
        }
        Ok(rank)
    }

    /// Returns source and destination of a shift by `by` steps along a dimension.
    ///
    /// # Errors
    /// Fails if there is no such dimension.
    ///
    /// # Panics
    /// Panics if the rank is not in the grid.
    pub fn shift(&self, rank: usize, direction: i32, by: i32) -> Result<(Option<usize>, Option<usize>)> {
        match usize::try_from(direction) {
            Ok(dim) if dim < self.dims.len() => {
                Ok((self.step(rank, dim, -i64::from(by)), self.step(rank, dim, i64::from(by))))
            }
            _ => fail!(
                Argument,
                "direction is {direction}; the grid's dimensions are {} from 0",
                self.dims.len()
            ),
        }
    }

    /// Returns for each dimension the lower and the higher neighbour, in the order of neighbourhood
    /// collectives.
    ///
    /// # Panics
    /// Panics if the rank is not in the grid.
    pub fn neighbours(&self, rank: usize) -> Vec<Option<usize>> {
        (0..self.dims.len()).flat_map(|dim| [self.step(rank, dim, -1), self.step(rank, dim, 1)]).collect()
    }

    /// Returns the subgrid of the remaining dimensions that contains `rank`, and its ranks in order.
    ///
    /// # Panics
    /// Panics if the rank is not in the grid.
    pub fn sub(&self, rank: usize, remain: &[bool]) -> (Cart, Vec<usize>) {
        assert_eq!(remain.len(), self.dims.len(), "each dimension remains or not");
        let kept = || remain.iter().enumerate().filter(|&(_, &remains)| remains).map(|(dim, _)| dim);
        let sub = Cart {
            dims: kept().map(|dim| self.dims[dim]).collect(),
            periods: kept().map(|dim| self.periods[dim]).collect(),
        };
        let mut coords = self.coords_of(rank);
        let members = (0..sub.size()).map(|place| {
            kept().zip(sub.coords_of(place)).for_each(|(dim, coord)| coords[dim] = coord);
            coords.iter().zip(&self.dims).fold(0, |rank, (coord, dim)| rank * dim + coord)
        });
        let members = members.collect();
        (sub, members)
    }

    fn coords_of(&self, rank: usize) -> Vec<usize> {
        assert!(rank < self.size(), "rank {rank} is not in a grid of {} places", self.size());
        let mut rest = rank;
        let mut coords: Vec<usize> = self.dims.iter().rev().map(|dim| (rest % dim, rest /= dim).0).collect();
        coords.reverse();
        coords
    }

    fn step(&self, rank: usize, dim: usize, by: i64) -> Option<usize> {
        let below: usize = self.dims[dim + 1..].iter().product();
        let here = self.coords_of(rank)[dim];
        let there = self.inside(dim, here as i64 + by)?;
        Some(rank - here * below + there * below)
    }

    fn inside(&self, dim: usize, coord: i64) -> Option<usize> {
        let size = self.dims[dim] as i64;
        let coord = if self.periods[dim] { coord.rem_euclid(size) } else { coord };
        (0..size).contains(&coord).then_some(coord as usize)
    }
}
