//! Slices of the picture: their computation, and the master's record of finished ones.

use std::ops::Range;

use canele_show::Picture;

use crate::error::MandelbrotError;
use crate::escape::escape;
use crate::palette::colour;
use crate::view::View;

/// Neighbouring rows of the picture.
pub type Slice = Range<usize>;

/// A slice that has been computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its rows.
    pub slice: Slice,
    /// Number of iterations.
    pub iterations: u64,
    /// Red, green, blue of each pixel, row after row.
    pub samples: Vec<u8>,
}

/// Computes the pixels of a slice.
pub fn compute(view: &View, slice: Slice) -> Finished {
    let mut samples = Vec::with_capacity(slice.len() * view.columns * 3);
    let mut iterations = 0;
    for row in slice.clone() {
        for column in 0..view.columns {
            let (x, y) = view.number(column, row);
            let (fate, spent) = escape(x, y, view.limit);
            samples.extend(colour(fate));
            iterations += u64::from(spent);
        }
    }
    Finished { slice, iterations, samples }
}

/// The master's record: the picture so far, and the slice of each worker.
pub struct Work {
    picture: Picture,
    slice_rows: usize,
    /// The first row that was not distributed.
    next_row: usize,
    /// Number of rows in the picture so far.
    rows_done: usize,
    /// The slice of each worker that has not been returned.
    asked: Vec<Option<Slice>>,
    /// Number of slices in the picture.
    pub slices: u64,
    /// Number of iterations for them.
    pub iterations: u64,
}

impl Work {
    /// Makes the record of a fresh picture for `workers` workers.
    pub fn new(view: &View, slice_rows: usize, workers: usize) -> Self {
        let pixels = vec![[0, 0, 0, 255]; view.columns * view.rows];
        let picture = Picture { width: view.columns, height: view.rows, pixels };
        Self {
            picture,
            slice_rows,
            next_row: 0,
            rows_done: 0,
            asked: vec![None; workers],
            slices: 0,
            iterations: 0,
        }
    }

    /// Returns the next slice for `worker`, which has returned its last one; none when all are distributed.
    pub fn next(&mut self, worker: usize) -> Option<Slice> {
        let end = self.next_row.saturating_add(self.slice_rows).min(self.picture.height);
        let slice = self.next_row..end;
        self.next_row = end;
        self.asked[worker] = (!slice.is_empty()).then_some(slice);
        self.asked[worker].clone()
    }

    /// Puts a slice that `worker` has finished into the picture.
    ///
    /// # Errors
    /// Returns [`MandelbrotError::NotAsked`] if it is not the slice that the worker was asked for.
    pub fn finished(&mut self, worker: usize, finished: &Finished) -> Result<(), MandelbrotError> {
        let Slice { start, end } = finished.slice;
        let asked = self.asked.get_mut(worker).and_then(Option::take);
        let width = self.picture.width;
        if asked.as_ref() != Some(&finished.slice) || finished.samples.len() != (end - start) * width * 3 {
            return Err(MandelbrotError::NotAsked { worker, first: start, last: end });
        }
        let pixels = &mut self.picture.pixels[start * width..end * width];
        for (pixel, sample) in pixels.iter_mut().zip(finished.samples.chunks_exact(3)) {
            pixel[..3].copy_from_slice(sample);
        }
        self.rows_done += finished.slice.len();
        self.slices += 1;
        self.iterations += finished.iterations;
        Ok(())
    }

    /// Returns the finished part of the picture, 0 to 1.
    pub fn done(&self) -> f64 {
        self.rows_done as f64 / self.picture.height as f64
    }

    /// Returns the picture, which is complete once every slice has been returned.
    pub fn picture(&self) -> &Picture {
        &self.picture
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIEW: View = View { columns: 12, rows: 17, x: -0.6, y: 0.1, step: 0.2, limit: 200 };

    /// Computes all slices with workers that finish out of order.
    fn by_workers(slice_rows: usize, workers: usize) -> Work {
        let mut work = Work::new(&VIEW, slice_rows, workers + 1);
        let mut busy: Vec<(usize, Slice)> = vec![];
        for rank in 1..=workers {
            busy.extend(work.next(rank).map(|slice| (rank, slice)));
        }
        while let Some((rank, slice)) = (!busy.is_empty()).then(|| busy.swap_remove(busy.len() / 2)) {
            work.finished(rank, &compute(&VIEW, slice)).unwrap();
            busy.extend(work.next(rank).map(|slice| (rank, slice)));
        }
        work
    }

    #[test]
    fn the_picture_is_the_same_for_all_slices_and_workers() {
        let whole = by_workers(17, 1);
        assert_eq!((whole.slices, whole.done()), (1, 1.0));
        for slice_rows in [1, 2, 5, 16, 100] {
            for workers in [1, 2, 3, 16] {
                let work = by_workers(slice_rows, workers);
                assert_eq!(work.picture(), whole.picture(), "{slice_rows} rows, {workers} workers");
                assert_eq!(work.slices, 17_u64.div_ceil(slice_rows as u64));
                assert_eq!(work.iterations, whole.iterations);
            }
        }
    }

    #[test]
    fn pixels_come_in_rows_of_red_green_blue() {
        let finished = compute(&VIEW, 3..5);
        assert_eq!(finished.samples.len(), 2 * 12 * 3);
        let (x, y) = VIEW.number(7, 4);
        let expected = colour(escape(x, y, VIEW.limit).0);
        assert_eq!(finished.samples[(12 + 7) * 3..][..3], expected);
    }

    #[test]
    fn a_result_that_no_worker_was_asked_for_is_refused() {
        let mut work = Work::new(&VIEW, 4, 3);
        let slice = work.next(1).unwrap();
        let finished = compute(&VIEW, slice.clone());
        assert!(work.finished(2, &finished).is_err(), "another worker's slice");
        assert!(work.finished(9, &finished).is_err(), "no such worker");
        work.finished(1, &finished).unwrap();
        assert!(work.finished(1, &finished).is_err(), "twice");
        let mut short = compute(&VIEW, work.next(1).unwrap());
        short.samples.pop();
        assert!(work.finished(1, &short).is_err(), "a byte too few");
    }
}
