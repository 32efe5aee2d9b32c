//! A whole run on one rank: read, solve, print.

use std::fmt::Write;
use std::time::Instant;

use canele::{Job, Rank};
use canele_show::Progress;
use cestac::{Instabilities, Parallel, Real, SAMPLES, Sequential, Session, Watch};

use crate::arguments::{Arguments, Source};
use crate::eliminate::solve;
use crate::error::GaussError;
use crate::market;
use crate::matrix::{self, Matrix};
use crate::report::{Outcome, report};

/// The form of numbers that needs three ranks.
const PARALLEL: &str = "parallel";

/// Runs the program on this rank. Rank 0 reads files, writes and reports.
///
/// # Errors
/// Rank 0 reports its error; the others then get [`GaussError::GivenUp`].
pub fn run(arguments: &Arguments, job: &Job) -> Result<(), GaussError> {
    let result = run_in_form(arguments, job);
    match result {
        // All ranks fail alike; rank 0 reports the error.
        Err(error) if job.rank() != Rank(0) && !matches!(error, GaussError::Communication(_)) => {
            Err(GaussError::GivenUp)
        }
        result => result,
    }
}

fn run_in_form(arguments: &Arguments, job: &Job) -> Result<(), GaussError> {
    if job.size() != 1 && job.size() != 3 {
        return Err(GaussError::Ranks { ranks: job.size() });
    }
    let numbers = read_for_all(arguments, job)?;
    let is_parallel = job.size() == 3 && !arguments.sequential && !arguments.plain;
    if is_parallel {
        let session = Session::parallel(job, arguments.seed)?;
        return run_with::<Parallel<f64>>(arguments, numbers.as_ref(), PARALLEL, &session, job);
    }
    if job.rank() != Rank(0) {
        return Ok(());
    }
    let session = Session::sequential(arguments.seed);
    if arguments.plain {
        run_with::<f64>(arguments, numbers.as_ref(), "plain", &session, job)
    } else {
        run_with::<Sequential<f64>>(arguments, numbers.as_ref(), "sequential", &session, job)
    }
}

/// Returns the matrix of numbers that all ranks know; none for a Hilbert matrix, whose entries are computed.
fn read_for_all(arguments: &Arguments, job: &Job) -> Result<Option<Matrix<f64>>, GaussError> {
    let file = match &arguments.matrix {
        Source::Hilbert => return Ok(None),
        Source::Random => return Ok(Some(matrix::random(arguments.size as usize, arguments.seed))),
        Source::File(file) => file,
    };
    let world = job.world();
    let read = (job.rank() == Rank(0)).then(|| market::read(file)).transpose();
    // A size of 0 tells the others that there is no matrix.
    let mut size = [read.as_ref().ok().and_then(Option::as_ref).map_or(0, |matrix| matrix.size as u64)];
    world.broadcast(Rank(0), &mut size)?;
    let size = size[0] as usize;
    if size == 0 {
        return read.and(Err(GaussError::GivenUp));
    }
    let mut matrix = read?.unwrap_or_else(|| Matrix { size, entries: vec![0.0; size * size] });
    world.broadcast(Rank(0), &mut matrix.entries)?;
    Ok(Some(matrix))
}

fn run_with<R: Real<Float = f64>>(
    arguments: &Arguments,
    numbers: Option<&Matrix<f64>>,
    form: &'static str,
    session: &Session,
    job: &Job,
) -> Result<(), GaussError> {
    session.time_exchanges(true);
    if arguments.log.is_some() {
        session.watch(Watch::Operations);
    }
    let is_shown = job.rank() == Rank(0);
    let outcome = compute::<R>(arguments, numbers, form, session, is_shown && !arguments.quiet);
    if is_shown {
        // The log is written even without a solution, because it shows the reason.
        write_log(arguments, &session.instabilities())?;
    }
    let outcome = outcome?;
    if is_shown {
        report(arguments, &outcome);
    }
    Ok(())
}

fn compute<R: Real<Float = f64>>(
    arguments: &Arguments,
    numbers: Option<&Matrix<f64>>,
    form: &'static str,
    session: &Session,
    shows_progress: bool,
) -> Result<Outcome, GaussError> {
    let matrix = numbers.map_or_else(|| Matrix::hilbert(arguments.size as usize), Matrix::<R>::exactly);
    let (size, right_side) = (matrix.size, matrix.row_sums());
    let mut progress = Progress::new("gauss", shows_progress);
    let start = Instant::now();
    let solution = solve(matrix, right_side, arguments.pivoting, |step| {
        // The remaining work of a step is proportional to the third power of its size.
        let left = (size - step) as f64 / size as f64;
        progress.at(1.0 - left * left * left, format_args!("step {} of {size}", step + 1));
    })?;
    let (time, exchanges) = (start.elapsed(), session.exchanges());
    drop(progress);
    let mut components = String::new();
    let mut means = Vec::new();
    for (place, value) in solution.iter().enumerate().take(arguments.show) {
        // Writing to a text cannot fail.
        let _ = writeln!(components, "x[{place}] = {value}");
        means.push(value.mean());
    }
    let digits = solution
        .iter()
        .map(|value| value.digits())
        .fold((u32::MAX, 0), |(fewest, most), digits| (fewest.min(digits), most.max(digits)));
    let ranks = if form == PARALLEL { SAMPLES } else { 1 };
    Ok(Outcome { size, form, ranks, components, solution: means, digits, time, exchanges })
}

fn write_log(arguments: &Arguments, instabilities: &Instabilities) -> Result<(), GaussError> {
    let Some(file) = &arguments.log else { return Ok(()) };
    std::fs::write(file, instabilities.to_string())
        .map_err(|error| GaussError::Write { file: file.display().to_string(), error })
}
