//! A rank of an experiment's job: `canele paper-rank …`, started by `canele paper`, never by a user. Rank 0
//! prints a JSON object.

use std::process::ExitCode;

use canele::{Counter, Flow, Job, Rank, Snapshot, Tag};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use crate::PaperError;
use crate::console;

/// `canele paper-rank …`
#[derive(Debug, clap::Args)]
pub struct RankArguments {
    #[command(subcommand)]
    measurement: Measurement,
}

#[derive(Debug, clap::Subcommand)]
enum Measurement {
    /// Time stamps along the way of a message
    Steps { messages: usize },
    /// Changes of the counters in a ping-pong
    Counts { messages: usize, bytes: usize },
}

const TAG: Tag = Tag(1);

/// Measures as one rank of the job.
pub fn main(arguments: &RankArguments) -> ExitCode {
    let run = || -> Result<(), PaperError> {
        let job = Job::start()?;
        match arguments.measurement {
            Measurement::Steps { messages } => steps(&job, messages)?,
            Measurement::Counts { messages, bytes } => counts(&job, messages, bytes)?,
        }
        Ok(job.finish()?)
    };
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            console::say(&failure.to_string());
            ExitCode::FAILURE
        }
    }
}

/// Returns the time of the clock that all processes of a machine share, in nanoseconds.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Takes time stamps of messages of 8 bytes from rank 0 to rank 1: call and return of the send, the poll that
/// finds the message, and the return of the receive. Prints medians in nanoseconds, and the cost of reading
/// the clock.
fn steps(job: &Job, messages: usize) -> Result<(), PaperError> {
    let world = job.world();
    let mut stamps = Vec::with_capacity(messages);
    for number in 0..messages as u64 {
        if job.rank() == Rank(0) {
            // The receiver polls before the message leaves.
            wait_ns(2000);
            let before = now_ns();
            world.send(Rank(1), TAG, &[number])?;
            let sent = now_ns();
            let mut there = [0_u64; 4];
            world.recv(Rank(1), TAG, &mut there)?;
            let [polls, began, found, received] = there;
            stamps.push([before, sent, found, received, (found - began) / polls]);
        } else {
            world.send(Rank(0), TAG, &poll(&world, number)?)?;
        }
    }
    if job.rank() == Rank(0) {
        let median = |part: fn(&[u64; 5]) -> i64| {
            let mut all: Vec<i64> = stamps.iter().map(part).collect();
            all.sort_unstable();
            all[all.len() / 2]
        };
        let figures = json!({
            "send": median(|s| (s[1] - s[0]) as i64),
            "way": median(|s| s[2] as i64 - s[1] as i64),
            "receive": median(|s| (s[3] - s[2]) as i64),
            "whole": median(|s| s[3] as i64 - s[0] as i64),
            "poll": median(|s| s[4] as i64),
            "clock": clock_ns(),
        });
        console::print(&figures.to_string());
    }
    Ok(())
}

/// Polls until the message is there, and receives it. Returns the number of polls, the start of the polls,
/// the end of the last one, and the end of the receive.
fn poll(world: &Flow, number: u64) -> Result<[u64; 4], PaperError> {
    let began = now_ns();
    let mut polls = 1;
    while world.iprobe(Rank(0), TAG)?.is_none() {
        polls += 1;
    }
    let found = now_ns();
    let mut word = [0];
    world.recv(Rank(0), TAG, &mut word)?;
    let received = now_ns();
    if word != [number] {
        return Err(format!("message {number} has the number {}", word[0]).into());
    }
    Ok([polls, began, found, received])
}

fn wait_ns(ns: u64) {
    let start = now_ns();
    while now_ns() - start < ns {
        std::hint::spin_loop();
    }
}

fn clock_ns() -> u64 {
    const READINGS: u64 = 1000;
    let start = now_ns();
    for _ in 0..READINGS {
        std::hint::black_box(now_ns());
    }
    (now_ns() - start) / READINGS
}

/// Runs a ping-pong, and prints the change of both ranks' counters for each message.
fn counts(job: &Job, messages: usize, bytes: usize) -> Result<(), PaperError> {
    let world = job.world();
    let mut data = vec![job.rank().0 as u8; bytes];
    ping_pong(&world, 1, &mut data)?;
    let before = job.endpoint().counters()?;
    ping_pong(&world, messages, &mut data)?;
    let after = job.endpoint().counters()?;
    let moved = [Counter::SystemCalls, Counter::Sleeps, Counter::Wakeups, Counter::Copies]
        .map(|counter| moved(&before, &after, counter));
    let mut sums = [0_u64; 4];
    world.reduce(Rank(0), &moved, &mut sums, canele::Op::Sum)?;
    if job.rank() == Rank(0) {
        let each = sums.map(|sum| sum as f64 / (2 * messages) as f64);
        let [system_calls, sleeps, wakeups, copies] = each;
        let figures =
            json!({ "system_calls": system_calls, "sleeps": sleeps, "wakeups": wakeups, "copies": copies });
        console::print(&figures.to_string());
    }
    Ok(())
}

fn moved(before: &Snapshot, after: &Snapshot, counter: Counter) -> u64 {
    after[counter] - before[counter]
}

fn ping_pong(world: &Flow, messages: usize, data: &mut [u8]) -> Result<(), PaperError> {
    let other = Rank(1 - world.rank().0);
    for _ in 0..messages {
        if other == Rank(1) {
            world.send(other, TAG, data)?;
            world.recv(other, TAG, data)?;
        } else {
            world.recv(other, TAG, data)?;
            world.send(other, TAG, data)?;
        }
    }
    Ok(())
}
