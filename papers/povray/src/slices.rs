//! Slices of the picture: the master's record of waiting, assigned and finished ones.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use canele_show::Picture;

use crate::error::PovrayError;

/// Neighbouring rows of the picture, from 0.
pub type Slice = Range<usize>;

/// Returns the rows of a slice in POV-Ray's numbering, from 1.
pub fn row_names(slice: &Slice) -> String {
    match slice.len() {
        1 => format!("row {}", slice.end),
        _ => format!("rows {} to {}", slice.start + 1, slice.end),
    }
}

/// Losses after which a slice is not distributed again, because its content probably kills any process that
/// renders it.
const MOST_LOSSES: u32 = 3;

/// The master's record: the picture so far, and the slices of each rank.
pub struct Work {
    picture: Picture,
    /// Slices that no rank renders.
    waiting: VecDeque<Slice>,
    /// The slices of each rank that have not been returned.
    asked: Vec<Vec<Slice>>,
    /// Number of losses of each slice, by its first row.
    losses: HashMap<usize, u32>,
    /// Number of rows in the picture so far.
    rows_done: usize,
    /// Number of slices in the picture.
    pub slices: u64,
}

impl Work {
    /// Makes the record of a fresh picture for `ranks` ranks; sizes are in pixels.
    pub fn new(width: usize, height: usize, slice_rows: usize, ranks: usize) -> Self {
        let pixels = vec![[0, 0, 0, 255]; width * height];
        let slice = |first: usize| first..height.min(first.saturating_add(slice_rows));
        Self {
            picture: Picture { width, height, pixels },
            waiting: (0..height).step_by(slice_rows).map(slice).collect(),
            asked: vec![Vec::new(); ranks],
            losses: HashMap::new(),
            rows_done: 0,
            slices: 0,
        }
    }

    /// Returns the next slice for `rank`; none when all are distributed.
    pub fn next(&mut self, rank: usize) -> Option<Slice> {
        let slice = self.waiting.pop_front()?;
        self.asked[rank].push(slice.clone());
        Some(slice)
    }

    /// Puts the rows of a slice that `rank` has rendered into the picture: red, green, blue of each pixel.
    ///
    /// # Errors
    /// Returns [`PovrayError::NotAsked`] if that rank was not asked for the slice.
    pub fn finished(&mut self, rank: usize, slice: &Slice, samples: &[u8]) -> Result<(), PovrayError> {
        self.take(rank, slice)?;
        let width = self.picture.width;
        if samples.len() != slice.len() * width * 3 {
            return Err(not_asked(rank, slice));
        }
        let pixels = &mut self.picture.pixels[slice.start * width..slice.end * width];
        for (pixel, sample) in pixels.iter_mut().zip(samples.chunks_exact(3)) {
            pixel[..3].copy_from_slice(sample);
        }
        self.rows_done += slice.len();
        self.slices += 1;
        Ok(())
    }

    /// Notes that a slice of `rank` is lost: the next request gets it. An error for too many losses contains
    /// `why`.
    ///
    /// # Errors
    /// Returns [`PovrayError::LostTooOften`], or [`PovrayError::NotAsked`] if that rank was not asked for it.
    pub fn lost(&mut self, rank: usize, slice: &Slice, why: &str) -> Result<(), PovrayError> {
        let slice = self.take(rank, slice)?;
        let times = self.losses.entry(slice.start).or_default();
        *times += 1;
        if *times >= MOST_LOSSES {
            let (rows, times, why) = (row_names(&slice), *times, why.to_owned());
            return Err(PovrayError::LostTooOften { rows, times, rank, why });
        }
        self.waiting.push_front(slice);
        Ok(())
    }

    /// Notes that `rank` died: all of its slices are lost.
    ///
    /// # Errors
    /// Returns [`PovrayError::LostTooOften`].
    pub fn lost_rank(&mut self, rank: usize) -> Result<(), PovrayError> {
        let slices = self.asked[rank].clone();
        slices.iter().try_for_each(|slice| self.lost(rank, slice, "it died"))
    }

    fn take(&mut self, rank: usize, slice: &Slice) -> Result<Slice, PovrayError> {
        let asked = self.asked.get_mut(rank).ok_or_else(|| not_asked(rank, slice))?;
        let place = asked.iter().position(|other| other == slice).ok_or_else(|| not_asked(rank, slice))?;
        Ok(asked.swap_remove(place))
    }

    /// Returns true if the picture is complete.
    pub fn is_done(&self) -> bool {
        self.rows_done == self.picture.height
    }

    /// Returns the finished part of the picture, 0 to 1.
    pub fn done(&self) -> f64 {
        self.rows_done as f64 / self.picture.height as f64
    }

    /// Returns the number of losses.
    pub fn losses(&self) -> u64 {
        self.losses.values().copied().map(u64::from).sum()
    }

    /// Returns the picture so far.
    pub fn picture(&self) -> &Picture {
        &self.picture
    }
}

fn not_asked(rank: usize, slice: &Slice) -> PovrayError {
    PovrayError::NotAsked { rank, rows: row_names(slice) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the samples of a slice in a picture of two pixels width, each with the row's number.
    fn samples(slice: &Slice) -> Vec<u8> {
        slice.clone().flat_map(|row| [row as u8; 6]).collect()
    }

    fn is_right(picture: &Picture) -> bool {
        let expected = |place: usize| [place as u8 / 2, place as u8 / 2, place as u8 / 2, 255];
        picture.pixels.iter().enumerate().all(|(place, pixel)| *pixel == expected(place))
    }

    #[test]
    fn slices_cover_the_picture_in_any_order() {
        for slice_rows in [1, 2, 5, 16, 17, 1000] {
            let mut work = Work::new(2, 17, slice_rows, 4);
            let mut busy: Vec<(usize, Slice)> =
                (0..40).filter_map(|n| work.next(1 + n % 3).map(|slice| (1 + n % 3, slice))).collect();
            assert!(work.next(1).is_none());
            while let Some((rank, slice)) = (!busy.is_empty()).then(|| busy.swap_remove(busy.len() / 2)) {
                assert!(!work.is_done());
                work.finished(rank, &slice, &samples(&slice)).unwrap();
            }
            assert!(work.is_done() && is_right(work.picture()), "{slice_rows}");
            assert_eq!(work.slices, 17_u64.div_ceil(slice_rows as u64));
        }
    }

    #[test]
    fn what_a_dead_rank_had_is_handed_out_again() {
        let mut work = Work::new(2, 10, 3, 3);
        let lost = [work.next(1).unwrap(), work.next(1).unwrap()];
        let kept = work.next(2).unwrap();
        work.lost_rank(1).unwrap();
        assert_eq!(work.losses(), 2);
        work.finished(2, &kept, &samples(&kept)).unwrap();
        assert!(work.finished(1, &lost[0], &samples(&lost[0])).is_err(), "a dead rank returns nothing");
        while let Some(slice) = work.next(2) {
            work.finished(2, &slice, &samples(&slice)).unwrap();
        }
        assert!(work.is_done() && is_right(work.picture()));
    }

    #[test]
    fn what_is_lost_again_and_again_is_given_up() {
        let mut work = Work::new(2, 10, 5, 3);
        for _ in 1..MOST_LOSSES {
            let slice = work.next(1).unwrap();
            assert_eq!(slice, 0..5);
            work.lost(1, &slice, "killed").unwrap();
        }
        let slice = work.next(2).unwrap();
        let error = work.lost(2, &slice, "killed by signal 9").unwrap_err().to_string();
        assert_eq!(
            error,
            "3 attempts to render rows 1 to 5 were lost, the last one on rank 2: killed by signal 9"
        );
    }

    #[test]
    fn slices_that_were_not_asked_for_are_refused() {
        let mut work = Work::new(2, 10, 4, 3);
        let slice = work.next(1).unwrap();
        assert!(work.finished(2, &slice, &samples(&slice)).is_err(), "another rank's slice");
        assert!(work.finished(9, &slice, &samples(&slice)).is_err(), "no such rank");
        assert!(work.lost(2, &slice, "").is_err(), "another rank's slice");
        work.finished(1, &slice, &samples(&slice)).unwrap();
        assert!(work.finished(1, &slice, &samples(&slice)).is_err(), "twice");
        let slice = work.next(1).unwrap();
        assert!(work.finished(1, &slice, &[0; 5]).is_err(), "too few samples");
    }
}
