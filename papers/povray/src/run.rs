//! A whole run: check, render alone or through the farm, write, report.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use canele::Job;
use canele_show::{Moved, Progress, grouped, percent, print_table};

use crate::arguments::Arguments;
use crate::error::PovrayError;
use crate::master::{Master, Totals};
use crate::outcome::Outcome;
use crate::process::Processes;
use crate::rendering::Rendering;
use crate::slices::{Slice, Work};
use crate::worker::work;

/// Runs the program on this rank. Rank 0 checks, writes and reports.
///
/// # Errors
/// Rank 0 reports the error of any rank.
pub fn run(arguments: &Arguments, job: &Job) -> Result<(), PovrayError> {
    if job.rank().0 > 0 {
        return work(arguments, job);
    }
    let ranks = job.size() as usize;
    let mut master = match ranks {
        1 => None,
        _ => Some(Master::new(job, arguments.processes.into())?),
    };
    let start = Instant::now();
    let outcome = arguments.check().and_then(|()| render(arguments, ranks, master.as_mut()));
    let time = start.elapsed();
    // The workers wait for the dismissal in any case.
    let totals = master.map_or_else(|| Ok(Totals::default()), Master::dismiss);
    let (work, totals) = (outcome?, totals?);
    work.picture().write(&arguments.output)?;
    if !arguments.quiet {
        report(arguments, &work, time, &totals);
    }
    Ok(())
}

fn render(arguments: &Arguments, ranks: usize, master: Option<&mut Master>) -> Result<Work, PovrayError> {
    let (width, height) = (arguments.width as usize, arguments.height as usize);
    let mut work = Work::new(width, height, arguments.slice_rows as usize, ranks);
    let mut progress = Progress::new("povray-farm", !arguments.quiet);
    let mut seen = |work: &Work| progress.at(work.done(), format_args!("{} slices", grouped(work.slices)));
    if let Some(master) = master {
        master.run(&mut work, &mut seen)?;
    }
    // This also covers slices that dead workers have left.
    if !work.is_done() {
        alone(arguments, &mut work, &mut seen)?;
    }
    Ok(work)
}

/// Renders the remaining slices on this rank.
fn alone(arguments: &Arguments, work: &mut Work, seen: &mut dyn FnMut(&Work)) -> Result<(), PovrayError> {
    let mut processes = Processes::new(Rendering::new(arguments)?);
    let (tell, told) = mpsc::channel();
    let mut start = |work: &mut Work| -> Result<(), PovrayError> {
        let Some(slice) = work.next(0) else { return Ok(()) };
        let (of, tell) = (slice.clone(), tell.clone());
        // After an error the receiver is gone.
        processes.start(slice, move |outcome| drop(tell.send((of, outcome))))
    };
    for _ in 0..arguments.processes {
        start(work)?;
    }
    while !work.is_done() {
        let told: Result<(Slice, Outcome), _> = told.recv();
        let (slice, outcome) = told.expect("the sending end is kept here");
        match outcome {
            Outcome::Rows(samples) => {
                work.finished(0, &slice, &samples)?;
                seen(work);
            }
            Outcome::Killed(why) => work.lost(0, &slice, &why)?,
            Outcome::Failed(why) => return Err(PovrayError::Render(why)),
        }
        start(work)?;
    }
    Ok(())
}

fn report(arguments: &Arguments, work: &Work, time: Duration, totals: &Totals) {
    let seconds = time.as_secs_f64().max(f64::MIN_POSITIVE);
    let waited = percent(totals.waited / totals.workers.max(1), time);
    let workers = match totals.workers {
        0 => "rendered alone".to_string(),
        1 => format!("handed out to 1 worker, which waited {waited} of the time"),
        workers => format!("handed out to {workers} workers, which waited {waited} of the time"),
    };
    let lost = match work.losses() {
        0 => String::new(),
        lost => format!(", {} lost and rendered again", grouped(lost)),
    };
    let pixels = u64::from(arguments.width) * u64::from(arguments.height);
    let scene = match &arguments.scene {
        Some(file) => file.display().to_string(),
        None => "a plate of canelés".into(),
    };
    print_table(&[
        ("picture", format!("{scene}, {} x {} pixels", arguments.width, arguments.height)),
        ("slices", format!("{} of {} rows{lost}, {workers}", grouped(work.slices), arguments.slice_rows)),
        ("time", format!("{seconds:.3} s, {} pixels/s", grouped((pixels as f64 / seconds) as u64))),
        ("moved", sum(&totals.moved).to_string()),
        ("written", arguments.output.display().to_string()),
    ]);
}

fn sum(moved: &[Moved]) -> Moved {
    let mut sums = [0; Moved::NUMBERS];
    for numbers in moved.iter().map(Moved::numbers) {
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    Moved::from_numbers(sums)
}
