//! Measures the exchange of one sample between three ranks, as `bench/programs/cestac.c` does over MPI.
//!
//! Run: `canele run -n 3 target/release/examples/exchange [BLOCK_MS QUICK]`.

#[path = "../../../bench/programs/measure.rs"]
mod measure;

use std::process::ExitCode;

use canele::{Error, Job};
use cestac::{Parallel, Real, Session};
use measure::Measure;

/// Exchanges that are compared before the measurement.
const CHECKED: u32 = 1000;

fn run(job: &Job) -> Result<(), String> {
    let session = Session::parallel(job, 1).map_err(|error| error.to_string())?;
    let own = job.rank().0;
    let sample = |exchange: u32, of: u32| f64::from(10 * exchange + of);
    for exchange in 0..CHECKED {
        let all = Parallel::from(sample(exchange, own)).samples();
        if all != [0, 1, 2].map(|of| sample(exchange, of)) {
            return Err(format!("rank {own}: exchange {exchange} gives {all:?}"));
        }
    }
    let (measure, number) = (Measure::new(job), Parallel::from(f64::from(own)));
    let exchanges = |count| {
        for _ in 0..count {
            std::hint::black_box(number.samples());
        }
        Ok(())
    };
    let each = measure.operation(exchanges).map_err(|error: Error| error.to_string())?;
    measure.tell("exchange", size_of::<f64>(), each, "ns");
    drop(session);
    Ok(())
}

fn main() -> ExitCode {
    let job = match Job::start() {
        Ok(job) => job,
        Err(error) => {
            eprintln!("exchange: {error}");
            return ExitCode::FAILURE;
        }
    };
    if let Err(error) = run(&job) {
        eprintln!("exchange: {error}");
        return ExitCode::FAILURE;
    }
    match job.finish() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("exchange: {error}");
            ExitCode::FAILURE
        }
    }
}
