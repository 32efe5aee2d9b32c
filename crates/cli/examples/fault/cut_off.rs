//! Rank 1 overwrites the cells that it writes for rank 0, which then accepts nothing more from it. Both
//! continue with all others.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use canele::{ANY_SOURCE, Error, Failure, Flow, Job, Mailbox, Message, PostError, Rank, Tag};

use crate::{Outcome, pattern};

const A: Rank = Rank(0);
const B: Rank = Rank(1);
/// A rank that is not affected.
const C: Rank = Rank(2);
const MARK: Tag = Tag(1);
const DATA: Tag = Tag(2);
const NEVER: Tag = Tag(3);
/// The tag of messages to and from the third rank.
const DONE: Tag = Tag(5);
/// The tag of the last message before the corrupt cell.
const LAST: Tag = Tag(4);
/// The content of a cell after its first 16 bytes, which are the header.
const MARKER: &[u8; 40] = b"a cell that is to be found in the memory";
/// A timeout that only a hang exceeds.
const LONG: Duration = Duration::from_secs(60);
/// Bytes of the longest message.
const ROOM: usize = 300_000;

/// Checks that the job continues: everything between the two ranks fails and names the reason. Each exchanges
/// `count` messages with every other rank.
pub fn goes_on(count: u64) -> Outcome {
    let job = Job::start()?;
    let (me, world, endpoint) = (job.rank(), job.world(), job.endpoint());
    let region = endpoint.region(4096)?;
    region.publish(&format!("region {}", me.0))?;
    let mailbox = endpoint.create_mailbox(&format!("box {}", me.0), 1)?;
    let others = [A, B, C].into_iter().filter(|rank| *rank != me);
    let mut boxes = Vec::new();
    for other in others.clone() {
        boxes.push(endpoint.find_mailbox(&format!("box {}", other.0), LONG)?);
    }
    let far = endpoint.find_region(&format!("region {}", B.0.saturating_sub(me.0)), LONG)?;
    world.barrier()?;
    corrupt(&world)?;
    let why = match me {
        A => format!("{B} is gone"),
        _ => format!("{A} accepts nothing more from {B}: {B} wrote stamp"),
    };
    if me == A {
        fails("recv", world.recv(B, NEVER, &mut [1u8]), &why)?;
    }
    if me == B {
        // Without the notification this call would wait for ever.
        fails("send_sync", world.send_sync(A, LAST, &[1u8]), &why)?;
        fails("put", far.put_notify(0, &[1u8; 100], 1), &why)?;
        fails("short put", far.put_notify(0, &[1u8], 1), &why)?;
    }
    if me == A || me == B {
        let other = Rank(1 - me.0);
        refused(&world, other, &why)?;
        let channel = endpoint.channel(other, 1)?;
        fails("channel", channel.recv(&mut [0u8]), &why)?;
        // Repeated attempts do not use up places of the mailbox.
        for _ in 0..10 {
            fails("post", boxes[0].post(Message::new()), &why)?;
        }
        fails("any source", world.recv(ANY_SOURCE, NEVER, &mut [0u8]), &why)?;
    }
    fails("barrier", world.barrier(), &why)?;
    if me == C {
        // No rank ends before both have tried everything.
        for rank in [A, B, A, B] {
            world.recv(rank, DONE, &mut [0u8])?;
            world.send(rank, DONE, &[0u8])?;
        }
        for sender in &boxes {
            post(sender.post_deadline(Message::new(), LONG))?;
        }
        mailbox.retrieve()?;
        mailbox.retrieve()?;
        exchange(&world, A, count)?;
        exchange(&world, B, count)?;
    } else {
        for _ in 0..2 {
            world.send(C, DONE, &[0u8])?;
            world.recv(C, DONE, &mut [0u8])?;
        }
        retrieve_one(&mailbox, &why)?;
        post(boxes[1].post_deadline(Message::new(), LONG))?;
        exchange(&world, C, count)?;
    }
    println!("{count} messages");
    job.finish()?;
    Ok(())
}

/// Waits for a rank that is cut off without reacting: the launcher must react.
pub fn waits() -> Outcome {
    let job = Job::start()?;
    let world = job.world();
    corrupt(&world)?;
    if job.rank() == A {
        let _ = world.recv(B, NEVER, &mut [1u8]);
    }
    if job.rank() == B {
        let _ = world.send_sync(A, LAST, &[1u8]);
    }
    // The message never arrives: the sender waits too.
    let next = Rank((job.rank().0 + 1) % job.size());
    world.recv(if next == B { C } else { next }, NEVER, &mut [1u8])?;
    Err("a message that no rank sent".into())
}

/// Corrupts a cell as rank 1, once the third rank is idle. Rank 0 reads it after it has received one more
/// message, [`LAST`].
fn corrupt(world: &Flow) -> Outcome {
    if world.rank() == C {
        world.send(A, DONE, &[0u8])?;
    }
    if world.rank() == A {
        world.recv(C, DONE, &mut [0u8])?;
        world.recv(B, MARK, &mut [0u8; 40])?;
        world.send(B, MARK, &[0u8])?;
        world.recv(B, DATA, &mut [0u8])?;
    }
    if world.rank() == B {
        world.send(A, MARK, MARKER)?;
        world.recv(A, MARK, &mut [0u8])?;
        let (memory, at) = cell_of_marker()?;
        memory.write_all_at(&[0x5a; 8], at + 3 * 64)?;
        world.send(A, DATA, &[0u8])?;
    }
    Ok(())
}

/// Returns this process's memory, and the position of the cell that brought the marker to rank 0.
fn cell_of_marker() -> Result<(File, u64), Box<dyn std::error::Error>> {
    let memory = OpenOptions::new().read(true).write(true).open("/proc/self/mem")?;
    for line in BufReader::new(File::open("/proc/self/maps")?).lines() {
        let line = line?;
        let Some((from, rest)) = line.split_once('-') else { continue };
        if !line.contains(&format!("canele-inbox-{}", A.0)) {
            continue;
        }
        let to = rest.split(' ').next().unwrap_or_default();
        let (from, to) = (u64::from_str_radix(from, 16)?, u64::from_str_radix(to, 16)?);
        let mut bytes = vec![0; (to - from) as usize];
        memory.read_exact_at(&mut bytes, from)?;
        let found = bytes.windows(MARKER.len()).position(|window| window == MARKER);
        if let Some(at) = found {
            return Ok((memory, from + at as u64 - 16));
        }
    }
    Err("the inbox of rank 0 is not mapped".into())
}

fn fails<T>(what: &str, result: Result<T, Error>, why: &str) -> Outcome {
    match result {
        Err(error) if error.to_string().contains(why) => Ok(()),
        Err(error) => Err(format!("{what}: {error:?}: {error}, instead of {why}").into()),
        Ok(_) => Err(format!("{what} succeeded").into()),
    }
}

fn refused(world: &Flow, other: Rank, why: &str) -> Outcome {
    fails("send", world.send(other, DATA, &[1u8]), why)?;
    fails("long send", world.send(other, DATA, &vec![1u8; 1 << 20]), why)?;
    fails("isend", world.isend(other, DATA, vec![1u8]).and_then(|request| request.wait()), why)?;
    fails("recv", world.recv(other, NEVER, &mut [1u8]), why)?;
    fails("irecv", world.irecv(other, NEVER, vec![1u8]).and_then(|request| request.wait()), why)?;
    fails("probe", world.probe(other, NEVER), why)?;
    fails("mprobe", world.mprobe(other, NEVER), why)
}

/// Retrieves the third rank's message, and, before or after it, once, the error.
fn retrieve_one(mailbox: &Mailbox, why: &str) -> Outcome {
    let first = mailbox.retrieve_deadline(LONG);
    let message_came = first.is_ok();
    fails("retrieve", if message_came { mailbox.retrieve_deadline(LONG) } else { first }, why)?;
    if !message_came {
        mailbox.retrieve_deadline(LONG)?;
    }
    Ok(())
}

fn post(result: Result<(), PostError>) -> Outcome {
    result.map_err(|error| error.to_string().into())
}

/// Exchanges `count` messages each way; if there is no other sender they are received from any rank.
fn exchange(world: &Flow, with: Rank, count: u64) -> Outcome {
    let mut bytes = vec![0; ROOM];
    let from = if with == C { ANY_SOURCE } else { with.into() };
    for number in 0..count {
        let mine = pattern::message(world.rank(), with, number, 0);
        let sending = world.isend(with, DATA, mine)?;
        let status = loop {
            match world.recv_deadline(from, DATA, &mut bytes, LONG) {
                Err(Error::Failed(Failure::CutOff { .. })) => {}
                received => break received?,
            }
        };
        pattern::check(with, world.rank(), number, &bytes[..status.bytes])?;
        sending.wait()?;
    }
    Ok(())
}
