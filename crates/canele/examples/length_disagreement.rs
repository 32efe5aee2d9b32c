//! Collectives in which one rank passes another length than the others do: every rank comes back, with an error or without one.
//!
//! `CANELE_COLLECTIVE=shared-buffer canele run -n 4 length_disagreement BYTES OTHER` lets each rank in turn pass OTHER bytes where the others
//! pass BYTES. Both lengths are named where data is published in shared buffers.

use canele::{Error, Flow, Job, Op, Rank};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const OPERATIONS: [&str; 5] = ["broadcast", "reduce", "allreduce", "allgather", "alltoall"];

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [bytes, other] = &arguments[..] else { return Err("usage: length_disagreement BYTES OTHER".into()) };
    let [bytes, other] = [bytes, other].map(|bytes| bytes.parse::<usize>());
    let lengths = [bytes?, other?];
    let job = Job::start()?;
    let (flow, verdicts) = (job.world(), job.world().duplicate()?);
    for operation in OPERATIONS {
        for odd in 0..flow.size() {
            disagree(&flow, &verdicts, operation, lengths, odd)?;
        }
    }
    // The lengths agree again, so the calls succeed.
    for operation in OPERATIONS {
        call(&flow, operation, lengths[0])?;
    }
    Ok(job.finish()?)
}

fn disagree(flow: &Flow, verdicts: &Flow, operation: &str, lengths: [usize; 2], odd: u32) -> Outcome {
    let is_odd = flow.rank() == Rank(odd);
    let result = call(flow, operation, lengths[usize::from(is_odd)]);
    let wrong = |what: &str| format!("{operation} of {lengths:?}, {odd} is odd: {what}");
    let failed = match result {
        Ok(()) => 0u32,
        Err(Error::Disagreement { rank, given, needed })
            if rank.0 < flow.size() && ([given, needed] == lengths || [needed, given] == lengths) =>
        {
            1
        }
        Err(error) => return Err(wrong(&error.to_string()).into()),
    };
    let mut all = vec![0u32];
    verdicts.allreduce(&[failed], &mut all, Op::Sum)?;
    if all == [0] { Err(wrong("no rank was told").into()) } else { Ok(()) }
}

fn call(flow: &Flow, operation: &str, bytes: usize) -> Result<(), Error> {
    let (ranks, root) = (flow.size() as usize, Rank(flow.size() - 1));
    let (mine, mut one, mut all) = (vec![1u8; bytes], vec![0u8; bytes], vec![0u8; bytes * ranks]);
    match operation {
        "broadcast" => flow.broadcast(root, &mut one),
        "reduce" => flow.reduce(root, &mine, if flow.rank() == root { &mut one } else { &mut [] }, Op::Sum),
        "allreduce" => flow.allreduce(&mine, &mut one, Op::Sum),
        "allgather" => flow.allgather(&mine, &mut all),
        _ => flow.alltoall(&vec![1; bytes * ranks], &mut all),
    }
}
