//! Checks mailboxes: `canele run -n 4 mailbox_check many|depth|full|names|long|late|granted|dead|rate`; `many
//! 200` sends 200 messages per thread.
//!
//! Rank 0 owns the mailbox, and all ranks post. Ends with an error if a message is lost, duplicated, changed,
//! or unexpected.
#![allow(clippy::disallowed_types)] // A program of a user, who has only the standard library.

mod apart;
mod many;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use canele::{Endpoint, Error, Job, Message, PostError, Rank, Tag};

type Checked = Result<(), Box<dyn std::error::Error>>;

const FIND: Duration = Duration::from_secs(30);

fn main() -> Checked {
    let job = Job::start()?;
    let mode = std::env::args().nth(1).unwrap_or_default();
    match mode.as_str() {
        "many" => many::many(&job)?,
        "depth" => depth(&job)?,
        "full" => full(&job)?,
        "names" => names(&job)?,
        "long" => long(&job)?,
        "late" => apart::late(&job)?,
        "granted" => apart::granted(&job)?,
        "dead" => apart::dead(&job)?,
        "rate" => rate(&job)?,
        other => {
            return Err(format!(
                "many, depth, full, names, long, late, granted, dead or rate, not {other:?}"
            )
            .into());
        }
    }
    Ok(job.finish()?)
}

/// Waits until all ranks have called it.
fn meet(job: &Job) -> Result<(), Error> {
    let (world, me) = (job.world(), job.rank());
    let mut word = [0u8];
    let rest = || (1..job.size()).map(Rank);
    if me == Rank(0) {
        rest().try_for_each(|rank| world.recv(rank, Tag(1), &mut word).map(drop))?;
        rest().try_for_each(|rank| world.send(rank, Tag(2), &word))
    } else {
        world.send(Rank(0), Tag(1), &word)?;
        world.recv(Rank(0), Tag(2), &mut word).map(drop)
    }
}

/// Without retrievals a mailbox accepts exactly its depth, of any ranks.
fn depth(job: &Job) -> Checked {
    let endpoint = job.endpoint();
    for (deep, name) in [(1, "one"), (7, "seven"), (600, "many")] {
        let mailbox = if job.rank().0 == 0 { Some(endpoint.create_mailbox(name, deep)?) } else { None };
        let sender = endpoint.find_mailbox(name, FIND)?;
        meet(job)?;
        let mut accepted = 0u64;
        while let Ok(()) = sender.try_post(Message::new()) {
            accepted += 1;
        }
        let late = sender.post_deadline(Message::new(), Duration::from_millis(20));
        assert!(matches!(late, Err(PostError::Full(_))), "{late:?}");
        let world = job.world();
        let mut sum = accepted;
        if job.rank().0 == 0 {
            for rank in 1..job.size() {
                let mut other = [0u64];
                world.recv(Rank(rank), Tag(5), &mut other)?;
                sum += other[0];
            }
            assert_eq!(sum, deep as u64);
        } else {
            world.send(Rank(0), Tag(5), &[accepted])?;
        }
        meet(job)?;
        if let Some(mailbox) = mailbox {
            (0..deep).try_for_each(|_| mailbox.retrieve().map(drop))?;
            assert!(mailbox.try_retrieve()?.is_none());
            assert!(matches!(mailbox.retrieve_deadline(Duration::from_millis(5)), Err(Error::Deadline(_))));
            sender.post(Message::new())?;
            drop(mailbox);
        }
        meet(job)?;
        assert!(matches!(sender.post(Message::new()), Err(Error::Closed(Rank(0)))));
        meet(job)?;
    }
    Ok(())
}

/// Ranks that post to a full mailbox sleep. A retrieval wakes them, and so does the end of the mailbox.
fn full(job: &Job) -> Checked {
    let endpoint = job.endpoint();
    if job.rank().0 == 0 {
        let mailbox = endpoint.create_mailbox("full", 1)?;
        meet(job)?;
        for _ in 0..3 * (job.size() - 1) {
            std::thread::sleep(Duration::from_millis(30));
            mailbox.retrieve()?;
        }
        meet(job)?;
        std::thread::sleep(Duration::from_millis(30));
        drop(mailbox);
        return Ok(meet(job)?);
    }
    let sender = endpoint.find_mailbox("full", FIND)?;
    meet(job)?;
    std::thread::scope(|scope| {
        let posters: Vec<_> = (0..3).map(|_| scope.spawn(|| sender.post(Message::new()))).collect();
        posters.into_iter().try_for_each(|poster| poster.join().expect("no panic"))
    })?;
    let sleeps = endpoint.counters()?.iter().find(|(row, _)| row.name == "sleeps").map(|(_, value)| value);
    // On a busy machine, the polling at the start of a wait may last until the next retrieval.
    let at_once = std::env::var("CANELE_WAIT").is_ok_and(|wait| wait == "sleep");
    assert!(sleeps.expect("sleeps are counted") > 0 || !at_once, "it looked all the time");
    meet(job)?;
    let mut result = Ok(());
    while result.is_ok() {
        result = sender.post(Message::new());
    }
    assert!(matches!(result, Err(Error::Closed(Rank(0)))), "{result:?}");
    Ok(meet(job)?)
}

/// A thread finds a name while another one waits for a message that is sent only afterwards.
fn names(job: &Job) -> Checked {
    let endpoint = job.endpoint();
    if job.rank().0 == 1 {
        let first = endpoint.find_mailbox("first", FIND)?;
        std::thread::sleep(Duration::from_millis(50));
        let second = endpoint.create_mailbox("second", 1)?;
        second.retrieve()?;
        return Ok(first.post(Message::new())?);
    }
    let first = endpoint.create_mailbox("first", 1)?;
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| first.retrieve().map(drop));
        std::thread::sleep(Duration::from_millis(10));
        endpoint.find_mailbox("second", FIND)?.post(Message::new())?;
        waiting.join().expect("no panic")
    })?;
    Ok(())
}

/// Long messages arrive unchanged, even if the rank that posted them has finished.
fn long(job: &Job) -> Checked {
    let endpoint = job.endpoint();
    let sizes = [16_384, 16_385, 100_000, 1 << 20, (8 << 20) + 13];
    let content = |rank: u32, size: usize| -> Vec<u8> {
        (0..size).map(|n| (n as u32).wrapping_mul(rank + 7).to_le_bytes()[1]).collect()
    };
    if job.rank().0 > 0 {
        let sender = endpoint.find_mailbox("long", FIND)?;
        for size in sizes.iter().cycle().take(4 * sizes.len()) {
            let mut message = Message::with_capacity(*size);
            message.pack_one(*size as u64);
            content(job.rank().0, *size).chunks(70_000).for_each(|part| message.pack(part));
            sender.post(message)?;
        }
        return Ok(());
    }
    let mailbox = endpoint.create_mailbox("long", 3)?;
    let again = endpoint.create_mailbox("again", 1)?;
    let forward = endpoint.find_mailbox("again", FIND)?;
    let mut held = Vec::new();
    for n in 0..4 * sizes.len() * (job.size() as usize - 1) {
        let message = mailbox.retrieve()?;
        if n % 7 == 3 {
            let expected = message.bytes().into_owned();
            forward.post(message)?;
            assert!(again.retrieve()?.bytes() == expected, "forwarded");
            continue;
        }
        held.push(message);
        if held.len() == 5 {
            held.drain(..).try_for_each(|message| same(message, &content))?;
        }
    }
    Ok(held.drain(..).try_for_each(|message| same(message, &content))?)
}

fn same(mut message: Message, content: &dyn Fn(u32, usize) -> Vec<u8>) -> Result<(), Error> {
    let from = message.sender().expect("it was retrieved");
    let size = message.unpack_one::<u64>()? as usize;
    let mut bytes = vec![0u8; size];
    message.unpack(&mut bytes)?;
    assert!(bytes == content(from.0, size), "{size} bytes of {from}");
    Ok(())
}

/// Prints the time from post to retrieval, as half a round trip. It checks nothing.
fn rate(job: &Job) -> Checked {
    let endpoint = job.endpoint();
    let me = job.rank().0;
    let mine = endpoint.create_mailbox(&format!("rate {me}"), 64)?;
    let theirs = endpoint.find_mailbox(&format!("rate {}", 1 - me), FIND)?;
    for bytes in [8usize, 48, 56, 1024, 65536, 1 << 20] {
        let mut memory = vec![1u8; bytes];
        let mut times: Vec<f64> = Vec::new();
        for _ in 0..201 {
            let rounds = if bytes > 4096 { 8 } else { 500 };
            let begin = Instant::now();
            for _ in 0..rounds {
                for turn in [0, 1] {
                    if turn == me {
                        let mut message = Message::with_capacity(bytes);
                        message.pack(&memory);
                        theirs.post(message)?;
                    } else {
                        mine.retrieve()?.unpack(&mut memory)?;
                    }
                }
            }
            times.push(begin.elapsed().as_nanos() as f64 / f64::from(rounds) / 2.0);
        }
        times.sort_by(f64::total_cmp);
        if me == 0 {
            println!("{bytes:8} B {:10.1} ns, least {:10.1} ns", times[100], times[0]);
        }
    }
    Ok(meet(job)?)
}
