//! Sends messages of 8 bytes between two ranks. Callgrind counts the instructions of one end inside
//! `measured`: `scripts/instructions`. `crates/capi/tests/instructions/messages.c` is the same program in C.
//!
//! ```text
//!   messages FILE MESSAGES
//! ```
//! The count excludes waiting. The ranks take turns by the length of FILE, which is empty at first. So
//! messages have arrived before their receiver asks for them, and there is room before they are sent. The
//! answer of each turn is not counted.

use std::fs::{OpenOptions, metadata};
use std::io::Write;
use std::time::Duration;

use canele::{Error, Flow, Job, Rank, Tag};

const WINDOW: usize = 64;
const TAG: Tag = Tag(7);

#[inline(never)]
fn measured(world: &Flow, messages: &mut [i64; WINDOW]) -> Result<(), Error> {
    turn(world, messages)
}

#[inline(always)]
fn turn(world: &Flow, messages: &mut [i64; WINDOW]) -> Result<(), Error> {
    match world.rank() {
        Rank(0) => messages.iter().try_for_each(|message| world.send(Rank(1), TAG, &[*message])),
        _ => messages
            .iter_mut()
            .try_for_each(|message| world.recv(Rank(0), TAG, std::slice::from_mut(message)).map(drop)),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [file, count] =
        std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "FILE MESSAGES")?;
    let job = Job::start()?;
    let (world, me) = (job.world(), job.rank());
    for n in 0..count.parse::<usize>()? / WINDOW + 3 {
        while metadata(&file)?.len() != 2 * n as u64 + u64::from(me.0) {
            std::thread::sleep(Duration::from_micros(10));
        }
        let expected: [i64; WINDOW] = std::array::from_fn(|at| (1000 * n + at) as i64);
        let mut messages = if me == Rank(0) { expected } else { [-1; WINDOW] };
        // The first turns make the link and other state that is made once.
        if n < 3 {
            turn(&world, &mut messages)?
        } else {
            measured(&world, &mut messages)?
        }
        assert_eq!(messages, expected);
        OpenOptions::new().append(true).open(&file)?.write_all(b".")?;
        match me {
            Rank(0) => drop(world.recv(Rank(1), TAG, &mut messages[..1])?),
            _ => world.send(Rank(0), TAG, &messages[..1])?,
        }
    }
    Ok(job.finish()?)
}
