//! The division of a plate into blocks, one for each rank, and the neighbours of each block.
//!
//! The ranks form a grid with blocks as near to squares as their number allows. Of all divisions into columns
//! × rows the one with the shortest cuts is chosen, since messages carry the edges.

use std::ops::Range;

use crate::error::LaplaceError;

/// The pixels of a plate that one rank owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// Its rows in the plate; never empty.
    pub rows: Range<usize>,
    /// Its columns in the plate; never empty.
    pub columns: Range<usize>,
}

impl Extent {
    /// Returns the number of pixels in a row.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Returns the number of rows.
    pub fn height(&self) -> usize {
        self.rows.len()
    }
}

/// A side of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Towards row 0.
    Top,
    /// Away from row 0.
    Bottom,
    /// Towards column 0.
    Left,
    /// Away from column 0.
    Right,
}

impl Side {
    /// All four sides.
    pub const ALL: [Self; 4] = [Self::Top, Self::Bottom, Self::Left, Self::Right];
}

/// The division of a plate of `width` × `height` pixels into `across` × `down` blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    width: usize,
    height: usize,
    /// Number of blocks side by side.
    pub across: usize,
    /// Number of blocks one above the other.
    pub down: usize,
}

impl Layout {
    /// Cuts a plate into as many blocks as there are ranks.
    ///
    /// # Errors
    /// Returns [`LaplaceError::MoreRanksThanRows`]; with at most one rank per row a division always exists.
    pub fn new(width: usize, height: usize, ranks: usize) -> Result<Self, LaplaceError> {
        if ranks > height {
            return Err(LaplaceError::MoreRanksThanRows { ranks, rows: height });
        }
        // One block across always fits, so the search starts with plain strips.
        let mut best = Self { width, height, across: 1, down: ranks };
        for across in 2..=ranks.min(width) {
            let other = Self { width, height, across, down: ranks / across };
            if ranks.is_multiple_of(across) && other.cut_length() < best.cut_length() {
                best = other;
            }
        }
        Ok(best)
    }

    /// Returns the number of pixels along all cuts.
    fn cut_length(&self) -> usize {
        (self.across - 1) * self.height + (self.down - 1) * self.width
    }

    /// Returns the pixels that `rank` owns. Ranks are numbered row by row of blocks.
    pub fn extent(&self, rank: usize) -> Extent {
        let share =
            |length: usize, parts: usize, nth: usize| length * nth / parts..length * (nth + 1) / parts;
        Extent {
            rows: share(self.height, self.down, rank / self.across),
            columns: share(self.width, self.across, rank % self.across),
        }
    }

    /// Returns the extents of all ranks, in the order of ranks.
    pub fn extents(&self) -> impl Iterator<Item = Extent> + '_ {
        (0..self.across * self.down).map(|rank| self.extent(rank))
    }

    /// Returns the rank on that side of `rank`, unless the plate ends there.
    pub fn neighbour(&self, rank: usize, side: Side) -> Option<usize> {
        let (column, row) = (rank % self.across, rank / self.across);
        match side {
            Side::Top => (row > 0).then(|| rank - self.across),
            Side::Bottom => (row + 1 < self.down).then(|| rank + self.across),
            Side::Left => (column > 0).then(|| rank - 1),
            Side::Right => (column + 1 < self.across).then(|| rank + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use canele_show::program::Failure;

    #[test]
    fn blocks_cover_every_pixel_once() {
        for (width, height) in [(1, 64), (64, 48), (7, 61), (512, 384), (3, 97)] {
            for ranks in (1..=height.min(61)).step_by(if height > 100 { 7 } else { 1 }) {
                let layout = Layout::new(width, height, ranks).unwrap();
                let mut owners = vec![0; width * height];
                for extent in layout.extents() {
                    assert!(extent.width() > 0 && extent.height() > 0);
                    for row in extent.rows {
                        owners[row * width..][extent.columns.clone()].iter_mut().for_each(|n| *n += 1);
                    }
                }
                assert!(owners.iter().all(|n| *n == 1), "{width} x {height} on {ranks}");
            }
        }
    }

    #[test]
    fn the_grid_is_near_square_where_the_number_allows() {
        let grid = |width, height, ranks| {
            let layout = Layout::new(width, height, ranks).unwrap();
            (layout.across, layout.down)
        };
        assert_eq!(grid(512, 384, 1), (1, 1));
        assert_eq!(grid(512, 384, 4), (2, 2));
        assert_eq!(grid(512, 384, 6), (3, 2));
        assert_eq!(grid(384, 512, 6), (2, 3));
        assert_eq!(grid(512, 384, 16), (4, 4));
        assert_eq!(grid(512, 384, 7), (7, 1));
        assert_eq!(grid(384, 512, 7), (1, 7));
        assert_eq!(grid(4, 512, 8), (1, 8));
    }

    #[test]
    fn neighbours_share_their_whole_side() {
        for ranks in 1..=24 {
            let layout = Layout::new(50, 40, ranks).unwrap();
            for rank in 0..ranks {
                let mine = layout.extent(rank);
                for side in Side::ALL {
                    let Some(theirs) = layout.neighbour(rank, side).map(|peer| layout.extent(peer)) else {
                        continue;
                    };
                    match side {
                        Side::Top => assert_eq!(
                            (theirs.rows.end, theirs.columns),
                            (mine.rows.start, mine.columns.clone())
                        ),
                        Side::Bottom => assert_eq!(
                            (theirs.rows.start, theirs.columns),
                            (mine.rows.end, mine.columns.clone())
                        ),
                        Side::Left => assert_eq!(
                            (theirs.columns.end, theirs.rows),
                            (mine.columns.start, mine.rows.clone())
                        ),
                        Side::Right => assert_eq!(
                            (theirs.columns.start, theirs.rows),
                            (mine.columns.end, mine.rows.clone())
                        ),
                    }
                }
            }
        }
    }

    #[test]
    fn more_ranks_than_rows_are_refused() {
        assert!(Layout::new(100, 4, 4).is_ok());
        let error = Layout::new(100, 4, 5).unwrap_err();
        assert_eq!(error.exit_status(), 2);
        assert!(error.to_string().starts_with("more ranks than rows: the job has 5, the plate 4;"));
    }
}
