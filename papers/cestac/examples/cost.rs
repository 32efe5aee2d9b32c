//! Measures what an operation of the sequential form costs against one of plain numbers, in nanoseconds.
//!
//! Run: `cargo run --release -p cestac --example cost`
//!
//! Two programs for each operation: a loop over arrays, which the compiler computes plainly with vectors, and a chain
//! in which each operation waits for the one before, as in a sum or a Horner scheme.

use std::hint::black_box;
use std::time::Instant;

use cestac::{Real, Sequential, Session};

/// Numbers in an array; three arrays of samples lie in the first cache.
const LENGTH: usize = 256;
/// Operations in a timed run.
const OPERATIONS: usize = 1 << 20;
/// Runs, of which the fastest counts.
const RUNS: usize = 7;

fn main() {
    let session = Session::sequential(1);
    println!("{:<18} {:>9} {:>12} {:>7}", "operation", "plain ns", "stochastic", "ratio");
    compare::<f64>("f64");
    compare::<f32>("f32");
    drop(session);
}

fn compare<F: Real<Float = F> + cestac::rounding::Float>(name: &str) {
    row(&format!("{name} + array"), array(|a: F, b| a + b), array(|a: Sequential<F>, b| a + b));
    row(&format!("{name} - array"), array(|a: F, b| a - b), array(|a: Sequential<F>, b| a - b));
    row(&format!("{name} * array"), array(|a: F, b| a * b), array(|a: Sequential<F>, b| a * b));
    row(&format!("{name} / array"), array(|a: F, b| a / b), array(|a: Sequential<F>, b| a / b));
    row(&format!("{name} sqrt array"), array(|a: F, _| a.sqrt()), array(|a: Sequential<F>, _| a.sqrt()));
    row(&format!("{name} + chain"), chain(|a: F, b| a + b), chain(|a: Sequential<F>, b| a + b));
    row(&format!("{name} * chain"), chain(|a: F, b| a * b), chain(|a: Sequential<F>, b| a * b));
    row(&format!("{name} / chain"), chain(|a: F, b| a / b), chain(|a: Sequential<F>, b| a / b));
    row(&format!("{name} a*x+y chain"), chain(|a: F, b| a * b + b), chain(|a: Sequential<F>, b| a * b + b));
}

fn row(name: &str, plain: f64, stochastic: f64) {
    println!("{name:<18} {plain:>9.2} {stochastic:>12.2} {:>7.1}", stochastic / plain);
}

/// Numbers between 0.7 and 1.4, whose products stay in range.
fn numbers<R: Real>(shift: usize) -> Vec<R>
where
    R::Float: cestac::rounding::Float,
{
    use cestac::rounding::Float;
    let number = |n: usize| 0.7 + 0.7 * ((n * 37 + shift) % LENGTH) as f64 / LENGTH as f64;
    (0..LENGTH).map(|n| R::from(R::Float::from_f64(number(n)))).collect()
}

/// Nanoseconds of one operation on arrays.
fn array<R: Real>(operation: impl Fn(R, R) -> R) -> f64 {
    let (a, b, mut c) = (numbers::<R>(1), numbers::<R>(100), numbers::<R>(0));
    fastest(|| {
        for _ in 0..OPERATIONS / LENGTH {
            for ((a, b), c) in black_box(&a).iter().zip(&b).zip(&mut c) {
                *c = operation(*a, *b);
            }
            black_box(&mut c);
        }
    })
}

/// Nanoseconds of one operation whose left operand is the result of the one before.
fn chain<R: Real>(operation: impl Fn(R, R) -> R) -> f64 {
    let b = numbers::<R>(100);
    fastest(|| {
        for _ in 0..OPERATIONS / LENGTH {
            black_box(b.iter().fold(black_box(b[0]), |a, b| operation(a, *b)));
        }
    })
}

fn fastest(mut run: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_nanos() as f64 / OPERATIONS as f64
    };
    (0..RUNS).map(time).fold(f64::INFINITY, f64::min)
}
