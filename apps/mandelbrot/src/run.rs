//! A whole run: check, compute through the farm, write, report.

use std::time::{Duration, Instant};

use canele_show::picture::check_writable;
use canele_show::{Moved, Progress, grouped, percent, print_table};

use crate::arguments::Arguments;
use crate::error::MandelbrotError;
use crate::farm::Farm;
use crate::slices::{Work, compute};
use crate::view::View;

/// Runs the program on this rank. Rank 0 checks, writes and reports.
///
/// # Errors
/// Rank 0 says what is wrong; the others then get [`MandelbrotError::GivenUp`].
pub fn run(arguments: &Arguments, farm: &Farm) -> Result<(), MandelbrotError> {
    let view = arguments.view(farm.size());
    if farm.rank() > 0 {
        if !farm.agree(false)? {
            return Err(MandelbrotError::GivenUp);
        }
        let waited = farm.worker(&view?)?;
        return farm.tally(waited).map(drop);
    }
    let checked = view.and_then(|view| Ok(check_writable(&arguments.output).map(|()| view)?));
    farm.agree(checked.is_ok())?;
    let view = checked?;
    let start = Instant::now();
    let mut work = Work::new(&view, arguments.slice_rows as usize, farm.size());
    {
        let mut progress = Progress::new("mandelbrot", !arguments.quiet);
        let mut seen =
            |work: &Work| progress.at(work.done(), format_args!("{} slices", grouped(work.slices)));
        if farm.size() > 1 {
            farm.master(&mut work, &mut seen)?;
        } else {
            alone(&view, &mut work, &mut seen)?;
        }
    }
    let time = start.elapsed();
    let (moved, waited) = farm.tally(Duration::ZERO)?;
    work.picture().write(&arguments.output)?;
    if !arguments.quiet {
        report(arguments, &view, &work, farm.size(), time, &moved, waited);
    }
    Ok(())
}

fn alone(view: &View, work: &mut Work, seen: &mut dyn FnMut(&Work)) -> Result<(), MandelbrotError> {
    while let Some(slice) = work.next(0) {
        work.finished(0, &compute(view, slice))?;
        seen(work);
    }
    Ok(())
}

fn report(
    arguments: &Arguments,
    view: &View,
    work: &Work,
    ranks: usize,
    time: Duration,
    moved: &Moved,
    waited: Duration,
) {
    let seconds = time.as_secs_f64().max(f64::MIN_POSITIVE);
    let speed = work.iterations as f64 / seconds / 1e6;
    let waited = percent(waited, time);
    let workers = match ranks - 1 {
        0 => "computed alone".to_string(),
        1 => format!("handed out to 1 worker, which asked and waited {waited} of the time"),
        workers => format!("handed out to {workers} workers, which asked and waited {waited} of the time"),
    };
    print_table(&[
        (
            "picture",
            format!(
                "{} x {} pixels, up to {} iterations each",
                view.columns,
                view.rows,
                grouped(view.limit.into())
            ),
        ),
        ("slices", format!("{} of {} rows, {workers}", grouped(work.slices), arguments.slice_rows)),
        ("time", format!("{seconds:.3} s, {} iterations, {speed:.0} million/s", grouped(work.iterations))),
        ("moved", moved.to_string()),
        ("written", arguments.output.display().to_string()),
    ]);
}
