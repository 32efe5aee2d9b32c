//! A whole run: check, compute through the farm, write, report.

use std::ops::Range;
use std::panic::resume_unwind;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use canele_show::picture::check_writable;
use canele_show::{Progress, grouped};

use crate::arguments::Arguments;
use crate::error::MandelbrotError;
use crate::farm::Farm;
use crate::report::Run;
use crate::slices::{Work, compute};
use crate::view::View;

/// Runs the program on this rank. Rank 0 checks, writes and reports.
///
/// # Errors
/// Rank 0 reports its error; the others then get [`MandelbrotError::GivenUp`].
pub fn run(arguments: &Arguments, farm: &Farm) -> Result<(), MandelbrotError> {
    let view = arguments.view(farm.size());
    if farm.rank() > 0 {
        if !farm.agree(false)? {
            return Err(MandelbrotError::GivenUp);
        }
        let (view, mut workers) = (view?, farm.crew.of_rank(farm.rank()));
        // The first worker of a rank is its main thread.
        let first = workers.next().expect("a rank that has no master has a worker");
        let (own, others) = with_workers(farm, &view, workers, || farm.worker(first, &view))?;
        return farm.sum_up(own + others).map(drop);
    }
    let checked = view.and_then(|view| Ok(check_writable(&arguments.output).map(|()| view)?));
    farm.agree(checked.is_ok())?;
    let view = &checked?;
    let start = Instant::now();
    let (work, waited) = with_workers(farm, view, farm.crew.of_rank(0), || draw(arguments, farm, view))?;
    let time = start.elapsed();
    let (moved, waited) = farm.sum_up(waited)?;
    work.picture().write(&arguments.output)?;
    let (work, ranks, crew) = (&work, farm.size(), farm.crew);
    Run { view, work, ranks, crew, time, moved, waited }.report(arguments);
    Ok(())
}

/// Runs `own` while workers of this rank compute, each in a thread. Returns also the sum of their times spent
/// asking.
fn with_workers<T>(
    farm: &Farm,
    view: &View,
    workers: Range<usize>,
    own: impl FnOnce() -> Result<T, MandelbrotError>,
) -> Result<(T, Duration), MandelbrotError> {
    std::thread::scope(|scope| {
        let work = |worker| scope.spawn(move || farm.worker(worker, view));
        let workers: Vec<_> = workers.map(work).collect();
        let own = own();
        let join =
            |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        // All threads end before an error is returned.
        let waited: Vec<Result<Duration, _>> = workers.into_iter().map(join).collect();
        let value = own?;
        Ok((value, waited.into_iter().sum::<Result<Duration, _>>()?))
    })
}

/// Rank 0: returns the picture, computed by the workers or alone.
fn draw(arguments: &Arguments, farm: &Farm, view: &View) -> Result<Work, MandelbrotError> {
    let mut work = Work::new(view, arguments.slice_rows as usize, farm.crew.workers().max(1));
    let mut progress = Progress::new("mandelbrot", !arguments.quiet);
    let mut seen = |work: &Work| progress.at(work.done(), format_args!("{} slices", grouped(work.slices)));
    if farm.crew.workers() > 0 {
        farm.master(&mut work, &mut seen)?;
    } else {
        alone(view, &mut work, &mut seen)?;
    }
    Ok(work)
}

fn alone(view: &View, work: &mut Work, seen: &mut dyn FnMut(&Work)) -> Result<(), MandelbrotError> {
    while let Some(slice) = work.next(0) {
        work.finished(0, &compute(view, slice))?;
        seen(work);
    }
    Ok(())
}
