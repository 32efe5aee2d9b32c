//! Measures the cost of an operation of the sequential form and of plain numbers in nanoseconds, with each
//! kind of instructions of the processor.
//!
//! Run: `cargo run --release -p cestac --example cost`
//!
//! Two programs measure each operation. One is a loop over arrays, which the compiler vectorises for plain
//! numbers. The other is a chain in which each operation waits for the previous one, as in a sum or a Horner
//! scheme.

use std::hint::black_box;
use std::time::Instant;

use cestac::rounding::Instructions;
use cestac::{Real, Sequential, Session};

/// Length of an array; three arrays of samples fit in the first-level cache.
const LENGTH: usize = 256;
/// Operations in a timed run.
const OPERATIONS: usize = 1 << 14;
/// Number of runs of each program in turn; the fastest counts.
const RUNS: usize = 400;

fn main() {
    for instructions in Instructions::detect() {
        let session = Session::sequential_with(1, instructions);
        println!(
            "{instructions:?}\n{:<18} {:>9} {:>12} {:>7}",
            "operation", "plain ns", "stochastic", "ratio"
        );
        compare::<f64>("f64");
        compare::<f32>("f32");
        drop(session);
    }
}

fn compare<F: Real<Float = F> + cestac::rounding::Float>(name: &str) {
    let row = |operation: &str, plain: &mut dyn FnMut() -> f64, stochastic: &mut dyn FnMut() -> f64| {
        let (mut one, mut other) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..RUNS {
            (one, other) = (one.min(plain()), other.min(stochastic()));
        }
        println!("{:<18} {one:>9.2} {other:>12.2} {:>7.1}", format!("{name} {operation}"), other / one);
    };
    row("+ array", &mut array(|a: F, b| a + b), &mut array(|a: Sequential<F>, b| a + b));
    row("- array", &mut array(|a: F, b| a - b), &mut array(|a: Sequential<F>, b| a - b));
    row("* array", &mut array(|a: F, b| a * b), &mut array(|a: Sequential<F>, b| a * b));
    row("/ array", &mut array(|a: F, b| a / b), &mut array(|a: Sequential<F>, b| a / b));
    row("sqrt array", &mut array(|a: F, _| a.sqrt()), &mut array(|a: Sequential<F>, _| a.sqrt()));
    row("+ chain", &mut chain(|a: F, b| a + b), &mut chain(|a: Sequential<F>, b| a + b));
    row("* chain", &mut chain(|a: F, b| a * b), &mut chain(|a: Sequential<F>, b| a * b));
    row("/ chain", &mut chain(|a: F, b| a / b), &mut chain(|a: Sequential<F>, b| a / b));
    row("a*x+y chain", &mut chain(|a: F, b| a * b + b), &mut chain(|a: Sequential<F>, b| a * b + b));
}

/// Returns numbers between 0.7 and 1.4 whose product is 1.
fn numbers<R: Real>(shift: usize) -> Vec<R>
where
    R::Float: cestac::rounding::Float,
{
    use cestac::rounding::Float;
    let number = |n: usize| (((n * 37 + shift) % LENGTH) as f64 + 0.5) / LENGTH as f64 - 0.5;
    (0..LENGTH).map(|n| R::from(R::Float::from_f64(number(n).exp2()))).collect()
}

/// Returns a run that measures the nanoseconds of one operation on arrays.
fn array<R: Real>(operation: impl Fn(R, R) -> R) -> impl FnMut() -> f64
where
    R::Float: cestac::rounding::Float,
{
    let (a, b, mut c) = (numbers::<R>(1), numbers::<R>(100), numbers::<R>(0));
    move || {
        time(|| {
            for _ in 0..OPERATIONS / LENGTH {
                for ((a, b), c) in black_box(&a).iter().zip(&b).zip(&mut c) {
                    *c = operation(*a, *b);
                }
                black_box(&mut c);
            }
        })
    }
}

/// Returns a run that measures the nanoseconds of one operation whose left operand is the previous result.
/// All are one chain, because the processor would compute several short ones at once.
fn chain<R: Real>(operation: impl Fn(R, R) -> R) -> impl FnMut() -> f64
where
    R::Float: cestac::rounding::Float,
{
    let b = numbers::<R>(100);
    move || {
        time(|| {
            let mut a = black_box(b[0]);
            for _ in 0..OPERATIONS / LENGTH {
                a = black_box(&b).iter().fold(a, |a, b| operation(a, *b));
            }
            black_box(a);
        })
    }
}

/// Returns the nanoseconds of one operation of a program. Each program has all registers of the processor.
#[inline(never)]
fn time(program: impl FnOnce()) -> f64 {
    let start = Instant::now();
    program();
    start.elapsed().as_nanos() as f64 / OPERATIONS as f64
}
