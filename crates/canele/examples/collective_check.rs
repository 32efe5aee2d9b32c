//! Compares the results of every collective with a reference, for many sizes and roots.
//!
//! - `canele run -n 5 collective_check` compares the results.
//! - `canele run -n 5 --on-failure continue collective_check die 2 1000` makes rank 2 die during collectives
//!   of 1000 numbers and checks that all others are informed.
//! - `canele run -n 5 collective_check leave 100000` ends rank 0 as soon as it has given so many numbers, and
//!   checks that late ranks get them.
//! - `canele run -n 5 collective_check disagree` checks that a rank that expects more than rank 0 gives gets
//!   an error.

use canele::{Error, Failure, Flow, Job, Op, Rank};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let job = Job::start()?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let other = job.world().duplicate()?;
            let third = job.endpoint().create_flow()?;
            check(&job.world(), 1, 80)?;
            check(&third, 2, 20)?;
            from_two_threads(&other, &third)?;
            wrong_lengths(&other)?;
        }
        ["die", victim, numbers] => die(&job.world(), Rank(victim.parse()?), numbers.parse()?)?,
        ["leave", numbers] => leave(&job.world(), numbers.parse()?)?,
        ["disagree"] => disagree(&job.world())?,
        _ => return Err("usage: collective_check [die RANK NUMBERS | leave NUMBERS | disagree]".into()),
    }
    Ok(job.finish()?)
}

/// Generates the same numbers on all ranks (Marsaglia's xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// Returns a length, mostly short and sometimes long.
    fn length(&mut self) -> usize {
        let limit = [1, 8, 100, 3000, 40_000][self.below(5)];
        self.below(limit + 1)
    }
}

/// Returns the input of rank `rank` in round `round`: small whole numbers, so that sums are exact in any
/// order.
fn given(rank: usize, round: usize, length: usize) -> Vec<f64> {
    (0..length).map(|at| ((rank * 31 + round * 7 + at) % 101) as f64).collect()
}

fn check(flow: &Flow, seed: u64, rounds: usize) -> Outcome {
    let mut dice = Dice(seed);
    for round in 0..rounds {
        let length = dice.length();
        let root = Rank(dice.below(flow.size() as usize) as u32);
        let op = [Op::Sum, Op::Min, Op::Max][dice.below(3)];
        reductions(flow, round, length, root, op)?;
        blocks(flow, round, length, root)?;
        if round % 8 == 0 {
            flow.barrier()?;
        }
    }
    Ok(())
}

fn reductions(flow: &Flow, round: usize, length: usize, root: Rank, op: Op) -> Outcome {
    let (me, ranks) = (flow.rank().0 as usize, flow.size() as usize);
    let combine = |a: f64, b: f64| match op {
        Op::Sum => a + b,
        Op::Min => a.min(b),
        _ => a.max(b),
    };
    let mut expected = given(0, round, length);
    for rank in 1..ranks {
        expected.iter_mut().zip(given(rank, round, length)).for_each(|(a, b)| *a = combine(*a, b));
    }
    let mine = given(me, round, length);
    let mut result = vec![-1.0; length];
    flow.allreduce(&mine, &mut result, op)?;
    same("allreduce", round, &result, &expected)?;
    result.fill(-1.0);
    flow.reduce(root, &mine, &mut result, op)?;
    let expected = if flow.rank() == root { expected } else { vec![-1.0; length] };
    same("reduce", round, &result, &expected)
}

fn blocks(flow: &Flow, round: usize, length: usize, root: Rank) -> Outcome {
    let (me, ranks) = (flow.rank().0 as usize, flow.size() as usize);
    let length = length / 4;
    let mine = given(me, round, length);
    let of_all: Vec<f64> = (0..ranks).flat_map(|rank| given(rank, round, length)).collect();
    let mut all = vec![-1.0; length * ranks];
    flow.gather(root, &mine, if flow.rank() == root { &mut all } else { &mut [] })?;
    same(
        "gather",
        round,
        &all,
        &if flow.rank() == root { of_all.clone() } else { vec![-1.0; length * ranks] },
    )?;
    flow.allgather(&mine, &mut all)?;
    same("allgather", round, &all, &of_all)?;
    let mut part = vec![-1.0; length];
    flow.scatter(root, if flow.rank() == root { &of_all } else { &[] }, &mut part)?;
    same("scatter", round, &part, &mine)?;
    let mut copy = if flow.rank() == root { mine.clone() } else { vec![-1.0; length] };
    flow.broadcast(root, &mut copy)?;
    same("broadcast", round, &copy, &given(root.0 as usize, round, length))?;
    let to_all = given(me, round, length * ranks);
    flow.alltoall(&to_all, &mut all)?;
    let expected: Vec<f64> = (0..ranks)
        .flat_map(|rank| given(rank, round, length * ranks)[me * length..(me + 1) * length].to_vec())
        .collect();
    same("alltoall", round, &all, &expected)
}

fn same(what: &str, round: usize, found: &[f64], expected: &[f64]) -> Outcome {
    match found.iter().zip(expected).position(|(a, b)| a.to_bits() != b.to_bits()) {
        None if found.len() == expected.len() => Ok(()),
        at => Err(format!("{what} of round {round} is wrong at {at:?} of {}", expected.len()).into()),
    }
}

/// Checks two threads, each with its own flow; both make further flows meanwhile.
fn from_two_threads(one: &Flow, two: &Flow) -> Outcome {
    let work = |flow: &Flow, seed: u64| -> Result<(), String> {
        check(flow, seed, 5).map_err(|error| error.to_string())?;
        let flow = flow.duplicate().map_err(|error| error.to_string())?;
        check(&flow, seed, 5).map_err(|error| error.to_string())
    };
    std::thread::scope(|scope| {
        let first = scope.spawn(|| work(one, 3));
        work(two, 4)?;
        first.join().map_err(|_| "a thread panicked")??;
        Ok(())
    })
}

fn wrong_lengths(flow: &Flow) -> Outcome {
    let (ranks, mut room) = (flow.size() as usize, vec![0u8; 3 * flow.size() as usize + 1]);
    let results = [
        flow.allreduce(&[1u8, 2], &mut room[..1], Op::Sum),
        flow.allgather(&[1u8, 2], &mut room[..2 * ranks + 1]),
        flow.gather(flow.rank(), &[1u8, 2], &mut room[..2 * ranks + 1]),
        flow.reduce(flow.rank(), &[1u8, 2], &mut room[..1], Op::Sum),
        flow.scatter(flow.rank(), &vec![1; ranks], &mut room[..2]),
        flow.alltoall(&vec![1; 2 * ranks], &mut room[..ranks]),
    ];
    if let Some(n) = results.iter().position(|result| !matches!(result, Err(Error::Lengths { .. }))) {
        return Err(format!("wrong lengths number {n} gave {:?}", results[n]).into());
    }
    let missing = Rank(flow.size());
    match flow.broadcast(missing, &mut room) {
        Err(Error::NoSuchRank { .. }) => {}
        other => return Err(format!("a root that does not exist gave {other:?}").into()),
    }
    // No message was sent, so the flow is still usable.
    Ok(flow.barrier()?)
}

fn die(flow: &Flow, victim: Rank, numbers: usize) -> Outcome {
    let (mine, mut result) = (vec![1.0; numbers], vec![0.0; numbers]);
    let mut failed = 0;
    for round in 0..1_000_000 {
        if round == 50 && flow.rank() == victim {
            std::process::abort();
        }
        match if round % 3 == 0 { flow.barrier() } else { flow.allreduce(&mine, &mut result, Op::Sum) } {
            Ok(()) if failed == 0 => {}
            Err(Error::Failed(Failure::PeerFailed(rank))) if rank == victim => failed += 1,
            other => return Err(format!("after {failed} failures, {other:?}").into()),
        }
        if failed == 3 {
            println!("{} was told", flow.rank());
            return Ok(());
        }
    }
    Err("the death was never told".into())
}

fn leave(flow: &Flow, numbers: usize) -> Outcome {
    let me = flow.rank().0;
    std::thread::sleep(std::time::Duration::from_millis(150 * u64::from(me)));
    let mut data = if me == 0 { given(0, 1, numbers) } else { vec![-1.0; numbers] };
    flow.broadcast(Rank(0), &mut data)?;
    same("broadcast", 0, &data, &given(0, 1, numbers))
}

fn disagree(flow: &Flow) -> Outcome {
    let is_giver = flow.rank() == Rank(0);
    let mut data = vec![0u8; if is_giver { 100_000 } else { 200_000 }];
    for round in 0..3 {
        match flow.broadcast(Rank(0), &mut data) {
            Ok(()) if is_giver => {}
            Err(Error::Lengths { given: 100_000, needed: 200_000, .. }) if !is_giver => {}
            other => return Err(format!("broadcast {round} gave {other:?}").into()),
        }
    }
    Ok(())
}
