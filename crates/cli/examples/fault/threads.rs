//! Several threads of each of two ranks, each with its own tag, and receivers from any source beside them.

use std::thread;

use canele::{ANY_SOURCE, Flow, Job, Rank, Tag};

use crate::{Outcome, pattern};

const PLAYERS: u32 = 4;
const COLLECTORS: u32 = 2;
const FROM_ANY: Tag = Tag(100);
/// The value that ends a collector.
const STOP: u64 = u64::MAX;

/// Plays `rounds` rounds in each thread.
pub fn run(rounds: u64) -> Outcome {
    let job = Job::start()?;
    let (world, other) = (job.world(), Rank(1 - job.rank().0));
    let collected = thread::scope(|scope| {
        let play = |n| {
            let world = job.world();
            scope.spawn(move || play(&world, other, n, rounds))
        };
        let players: Vec<_> = (0..PLAYERS).map(play).collect();
        let collectors: Vec<_> = (0..COLLECTORS).map(|_| scope.spawn(|| collect(&job.world()))).collect();
        for number in 0..rounds {
            world.send(other, FROM_ANY, &[number]).map_err(|error| error.to_string())?;
        }
        for _ in 0..COLLECTORS {
            world.send(other, FROM_ANY, &[STOP]).map_err(|error| error.to_string())?;
        }
        for player in players {
            player.join().map_err(|_| "a player panicked")??;
        }
        let mut all = Vec::new();
        for collector in collectors {
            all.extend(collector.join().map_err(|_| "a collector panicked")??);
        }
        Ok::<_, String>(all)
    })?;
    let mut sorted = collected;
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..rounds) {
        return Err(format!("{} of {rounds} messages were collected, or some twice", sorted.len()).into());
    }
    println!("exact");
    job.finish()?;
    Ok(())
}

fn play(world: &Flow, other: Rank, tag: u32, rounds: u64) -> Result<(), String> {
    let me = world.rank();
    let send = |number| {
        let bytes = pattern::message(me, other, number, u64::from(tag));
        world.send(other, Tag(tag), &bytes).map_err(|error| format!("thread {tag}, {number}: {error}"))
    };
    for number in 0..rounds {
        if me < other {
            send(number)?;
        }
        let mut bytes = vec![0; pattern::length(other, me, number)];
        world
            .recv(other, Tag(tag), &mut bytes)
            .map_err(|error| format!("thread {tag}, {number}: {error}"))?;
        if pattern::check(other, me, number, &bytes)? != u64::from(tag) {
            return Err(format!("thread {tag} got a message of another one"));
        }
        if me > other {
            send(number)?;
        }
    }
    Ok(())
}

fn collect(world: &Flow) -> Result<Vec<u64>, String> {
    let mut all = Vec::new();
    loop {
        let mut number = [0];
        world.recv(ANY_SOURCE, FROM_ANY, &mut number).map_err(|error| format!("collector: {error}"))?;
        if number[0] == STOP {
            return Ok(all);
        }
        // Each receiver sees increasing numbers of one sender.
        if all.last().is_some_and(|last| *last >= number[0]) {
            return Err(format!("{} after {:?}", number[0], all.last()));
        }
        all.push(number[0]);
    }
}
