//! Computes the same numbers in both forms and compares all samples and texts.
//!
//! Run: `canele run -n 3 target/release/examples/both [EXCHANGES]`. With a number, rank 0 also prints the
//! time of an exchange.

use std::process::ExitCode;
use std::time::Instant;

use canele::{Job, Rank};
use cestac::{Parallel, Real, Sequential, Session, Watch};

/// Numbers computed in one form: their samples, texts and decisions.
type Results = (Vec<[u64; 3]>, Vec<String>);

/// Computes with every operation of a form.
fn compute<R: Real<Float = f64>>() -> Results {
    let of = R::from;
    let mut numbers = vec![of(0.3) * of(3.675) * of(4.0) - of(2.1) * of(2.1)];
    let (mut before, mut last) = (of(5.5), of(61.0) / of(11.0));
    for _ in 0..40 {
        (before, last) = (last, of(111.0) - of(1130.0) / last + of(3000.0) / (last * before));
        numbers.push(last);
        numbers.push(last.sqrt() / -before);
    }
    let mut texts: Vec<_> = numbers.iter().map(ToString::to_string).collect();
    for pair in numbers.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        texts.push(format!("{:?} {} {} {}", a.partial_cmp(&b), a < b, a >= b, a == b));
        texts.push(format!("{} {:?} {}", a.abs(), a.mean(), a.digits()));
    }
    (numbers.iter().map(|number| number.samples().map(f64::to_bits)).collect(), texts)
}

/// Computes in single precision, in which a message has 4 bytes.
fn compute_single<R: Real<Float = f32>>() -> String {
    let tenth = R::from(1.0) / R::from(10.0);
    let sum = (0..1000).fold(R::from(0.0), |sum, _| sum + tenth);
    format!("{sum} {} {:?}", sum > tenth, sum.samples())
}

fn run(job: &Job, exchanges: u64) -> Result<(), String> {
    for seed in 0..20 {
        let sequential = Session::sequential(seed);
        let parallel = Session::parallel(job, seed).map_err(|error| error.to_string())?;
        parallel.watch(Watch::Tests);
        let one = compute::<Sequential<f64>>();
        let counted = parallel.instabilities();
        let other = compute::<Parallel<f64>>();
        if one != other {
            return Err(format!("seed {seed}: the forms differ: {one:?} {other:?}"));
        }
        // Both forms find the same instabilities in the same places.
        let again = parallel.instabilities();
        let is_doubled = |(a, b): (&cestac::Instability, &cestac::Instability)| 2 * a.count == b.count;
        if counted.0.is_empty() || !counted.0.iter().zip(&again.0).all(is_doubled) {
            return Err(format!("seed {seed}: the logs differ:\n{counted}{again}"));
        }
        let (one, other) = (compute_single::<Sequential<f32>>(), compute_single::<Parallel<f32>>());
        if one != other {
            return Err(format!("seed {seed}: the forms differ: {one} {other}"));
        }
        drop((sequential, parallel));
    }
    let session = Session::parallel(job, 1).map_err(|error| error.to_string())?;
    let (start, two, three) = (Instant::now(), Parallel::from(2.0), Parallel::from(3.0));
    for _ in 0..exchanges {
        std::hint::black_box(two < three);
    }
    if job.rank() == Rank(0) {
        println!("both forms agree");
        let nanoseconds = start.elapsed().as_nanos() as u64;
        if let Some(each) = nanoseconds.checked_div(exchanges) {
            println!("{each} ns an exchange");
        }
    }
    drop(session);
    Ok(())
}

fn main() -> ExitCode {
    let exchanges = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    let job = match Job::start() {
        Ok(job) => job,
        Err(error) => {
            eprintln!("both: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = run(&job, exchanges);
    // Each rank prints its error, because the first rank that exits with a failure ends the others.
    if let Err(error) = &result {
        eprintln!("both: {error}");
    }
    match job.finish() {
        Ok(()) if result.is_ok() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
