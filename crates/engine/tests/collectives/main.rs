//! Collectives of real engines, through the public interface.

mod algorithms;
mod flows;
mod parted;
mod team;
mod under_way;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use canele_engine::collective::{Buffers, CollectiveBuffer, Op, Operation, Reduction, Shape};
use canele_engine::{Engine, Error, Pending};
use canele_mem::buffer::Divided;
use canele_sys::tunables::{Tunables, Wait};
use canele_testing::LocalRank;

/// The longest duration of a test that works.
const DEADLINE: Duration = Duration::from_secs(120);

/// Runs a job whose ranks each do `work` on a thread of their own; returns the results.
fn job<T: Send + 'static>(
    ranks: u32,
    wait: Wait,
    work: impl Fn(&LocalRank) -> T + Send + Sync + Clone + 'static,
) -> Vec<T> {
    let (told, ends) = mpsc::channel();
    thread::spawn(move || {
        let engines = canele_testing::start(ranks, &Tunables { wait, ..Tunables::default() }).unwrap();
        let results = thread::scope(|scope| {
            let threads: Vec<_> = engines
                .iter()
                .map(|engine| {
                    let work = work.clone();
                    scope.spawn(move || work(engine))
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        told.send(results).unwrap();
    });
    ends.recv_timeout(DEADLINE).expect("a rank hangs, or has panicked")
}

fn own(words: &[u64]) -> CollectiveBuffer {
    CollectiveBuffer::Own(Box::new(Divided::from(bytemuck::cast_slice::<u64, u8>(words))))
}

fn sum() -> Reduction {
    Reduction::of::<u64>(Op::Sum)
}

fn shape(operation: Operation, words: usize) -> Shape {
    Shape { element: 8, ..Shape::new(operation, words * 8) }
}

/// Starts an operation on so many words in memory of the library's own.
fn start(engine: &Engine, flow: u32, operation: Operation, input: &[u64], output: usize) -> Pending {
    let buffers = Buffers { input: own(input), output: own(&vec![0; output]) };
    let block = match operation {
        Operation::Alltoall => input.len() / engine.size() as usize,
        _ => input.len(),
    };
    engine
        .start_collective(canele_engine::FlowId(flow), shape(operation, block), Some(sum()), buffers)
        .unwrap()
}

/// Returns the output of a collective that has ended.
fn output(ended: canele_engine::Completion) -> Result<Vec<u64>, Error> {
    ended.result?;
    let memory = ended.output.expect("memory of the library's own");
    Ok(bytemuck::cast_slice(memory.bytes()).to_vec())
}

/// Makes a blocking allreduce of one word.
fn add(engine: &Engine, flow: u32, word: u64) -> Result<u64, Error> {
    let (mut into, shape) = ([0u64], shape(Operation::Allreduce, 1));
    let output = bytemuck::cast_slice_mut(&mut into);
    let flow = canele_engine::FlowId(flow);
    engine.collective(flow, shape, Some(&sum()), bytemuck::bytes_of(&word), output)?;
    Ok(into[0])
}
