//! The cost of an allreduce of one number between two ranks in one process.
//!
//! `target/release/examples/collective_cost BATCHES RANKS`: the best batch counts.

use std::time::Instant;

use canele_engine::collective::{Op, Operation, Reduction, Shape};
use canele_engine::{Engine, Error, FlowId};
use canele_sys::tunables::Tunables;

/// Makes the calls of one rank.
fn calls(engine: &Engine, count: u32) -> Result<(), Error> {
    let sum = Reduction::of::<u64>(Op::Sum);
    let shape = Shape { element: 8, ..Shape::new(Operation::Allreduce, 8) };
    let (one, mut all) = (1u64, [0u64]);
    for _ in 0..count {
        let (input, output) = (bytemuck::bytes_of(&one), bytemuck::cast_slice_mut(&mut all));
        engine.collective(FlowId(1), shape, Some(&sum), input, output)?;
    }
    assert_eq!(all[0], u64::from(engine.size()));
    Ok(())
}

/// Calls of a batch.
const BATCH: u32 = 1000;

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1).map(|n| n.parse().ok());
    let batches = arguments.next().flatten().unwrap_or(100);
    let most = arguments.next().flatten().unwrap_or(2);
    for ranks in 1..=most {
        let engines = canele_testing::start(ranks, &Tunables::default())?;
        let work = |engine: &Engine| -> Result<u128, Error> {
            let mut best = u128::MAX;
            for _ in 0..batches {
                let begin = Instant::now();
                calls(engine, BATCH)?;
                best = best.min(begin.elapsed().as_nanos());
            }
            Ok(best)
        };
        let best = std::thread::scope(|scope| {
            let others: Vec<_> = engines[1..].iter().map(|engine| scope.spawn(|| work(engine))).collect();
            let first = work(&engines[0]);
            others.into_iter().map(|thread| thread.join().expect("a rank works")).fold(first, Result::or)
        })?;
        println!("{ranks} ranks: {:.1} ns a call", best as f64 / f64::from(BATCH));
    }
    Ok(())
}
