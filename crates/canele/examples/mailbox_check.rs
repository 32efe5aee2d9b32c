//! Mailboxes checked: `canele run -n 4 mailbox_check many|depth|full|names|long|late|granted|dead|rate`.
//!
//! Rank 0 owns the mailbox, all ranks post. Ends with an error if anything is lost, doubled, changed, or too much.
#![allow(clippy::disallowed_types)] // A program of a user, who has only the standard library.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use canele::{Endpoint, Error, Job, Message, PostError, Rank, Tag};

type Checked = Result<(), Box<dyn std::error::Error>>;

const FIND: Duration = Duration::from_secs(30);

fn main() -> Checked {
    let job = Job::start()?;
    let mode = std::env::args().nth(1).unwrap_or_default();
    match mode.as_str() {
        "many" => many(&job)?,
        "depth" => depth(&job)?,
        "full" => full(&job)?,
        "names" => names(&job)?,
        "long" => long(&job)?,
        "late" => late(&job)?,
        "granted" => granted(&job)?,
        "dead" => dead(&job)?,
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

/// All ranks wait for each other.
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

const THREADS: u32 = 3;
const EACH: u32 = 1500;
const DEEP: usize = 5;

/// Threads of all ranks post, threads of rank 0 retrieve: every message once, and never more than the depth between.
fn many(job: &Job) -> Checked {
    let endpoint = job.endpoint();
    let counts = if job.rank().0 == 0 {
        let region = endpoint.region(16)?;
        region.publish("counts")?;
        Some(region)
    } else {
        None
    };
    let mailbox = if job.rank().0 == 0 { Some(endpoint.create_mailbox("many", DEEP)?) } else { None };
    let producers = job.size() * THREADS;
    let seen: Vec<AtomicU64> = (0..producers).map(|_| AtomicU64::new(0)).collect();
    let left = AtomicU64::new(u64::from(producers * EACH));
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for thread in 0..THREADS {
            let number = job.rank().0 * THREADS + thread;
            threads.push(scope.spawn(move || produce(endpoint, number)));
            if let Some(mailbox) = &mailbox {
                let (seen, left) = (&seen, &left);
                threads.push(scope.spawn(move || {
                    let counts = endpoint.find_region("counts", FIND)?;
                    while left
                        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                        .is_ok()
                    {
                        counts.fetch_add(8, 1)?;
                        let (producer, item) = read(mailbox.retrieve()?)?;
                        let old = seen[producer as usize].fetch_add(u64::from(item) + 1, Ordering::Relaxed);
                        assert!(old < u64::from(EACH) * u64::from(EACH + 1), "doubled");
                    }
                    Ok(())
                }));
            }
        }
        threads.into_iter().try_for_each(|thread| thread.join().expect("a thread panicked"))
    })?;
    if mailbox.is_some() {
        let all = u64::from(EACH) * u64::from(EACH + 1) / 2;
        assert!(seen.iter().all(|sum| sum.load(Ordering::Relaxed) == all), "lost or doubled: {seen:?}");
    }
    meet(job)?;
    drop(counts);
    Ok(())
}

fn produce(endpoint: &Endpoint, number: u32) -> Result<(), Error> {
    let postbox = endpoint.find_mailbox("many", FIND)?;
    let counts = endpoint.find_region("counts", FIND)?;
    for item in 0..EACH {
        let message = written(number, item);
        match item % 3 {
            0 => postbox.post(message)?,
            1 => post_trying(&postbox, message)?,
            _ => post_in_time(&postbox, message)?,
        }
        // Retrievals are counted before they begin and posts after they end, so this can only be too small.
        let posted = counts.fetch_add(0, 1)? + 1;
        let retrieved = counts.fetch_add(8, 0)?;
        assert!(posted <= retrieved + DEEP as u64, "{posted} posted, {retrieved} retrieved");
    }
    Ok(())
}

fn post_trying(postbox: &canele::Postbox, mut message: Message) -> Result<(), Error> {
    loop {
        match postbox.try_post(message) {
            Ok(()) => return Ok(()),
            Err(PostError::Failed(error)) => return Err(error),
            Err(PostError::Full(back)) => message = back,
        }
        std::thread::yield_now();
    }
}

fn post_in_time(postbox: &canele::Postbox, mut message: Message) -> Result<(), Error> {
    loop {
        match postbox.post_deadline(message, Duration::from_micros(50)) {
            Ok(()) => return Ok(()),
            Err(PostError::Failed(error)) => return Err(error),
            Err(PostError::Full(back)) => message = back,
        }
    }
}

/// Lengths of all kinds: in a cell, in the payload ring, in a region.
fn written(producer: u32, item: u32) -> Message {
    let words = [2, 10, 500, 6, 8000][item as usize % 5];
    let mut message = Message::new();
    message.pack(&[producer, item]);
    message.pack(&vec![u64::from(producer) << 32 | u64::from(item); words]);
    message
}

fn read(mut message: Message) -> Result<(u32, u32), Error> {
    let mut head = [0u32; 2];
    message.unpack(&mut head)?;
    let mut words = vec![0u64; (message.len() - 8) / 8];
    message.unpack(&mut words)?;
    let [producer, item] = head;
    assert!(words.iter().all(|word| *word == u64::from(producer) << 32 | u64::from(item)), "changed");
    assert_eq!(message.sender(), Some(Rank(producer / THREADS)));
    Ok((producer, item))
}

/// Without a retrieval, exactly the depth is accepted, of whatever ranks.
fn depth(job: &Job) -> Checked {
    let endpoint = job.endpoint();
    for (deep, name) in [(1, "one"), (7, "seven"), (600, "many")] {
        let mailbox = if job.rank().0 == 0 { Some(endpoint.create_mailbox(name, deep)?) } else { None };
        let postbox = endpoint.find_mailbox(name, FIND)?;
        meet(job)?;
        let mut accepted = 0u64;
        while let Ok(()) = postbox.try_post(Message::new()) {
            accepted += 1;
        }
        let late = postbox.post_deadline(Message::new(), Duration::from_millis(20));
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
            postbox.post(Message::new())?;
            drop(mailbox);
        }
        meet(job)?;
        assert!(matches!(postbox.post(Message::new()), Err(Error::Closed(Rank(0)))));
        meet(job)?;
    }
    Ok(())
}

/// Posters of a full box sleep, and a retrieval wakes them; so does the end of the box.
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
    let postbox = endpoint.find_mailbox("full", FIND)?;
    meet(job)?;
    std::thread::scope(|scope| {
        let posters: Vec<_> = (0..3).map(|_| scope.spawn(|| postbox.post(Message::new()))).collect();
        posters.into_iter().try_for_each(|poster| poster.join().expect("no panic"))
    })?;
    let sleeps = endpoint.counters()?.iter().find(|(row, _)| row.name == "sleeps").map(|(_, value)| value);
    // On a busy machine, the first looks of a wait may last until the next retrieval.
    let at_once = std::env::var("CANELE_WAIT").is_ok_and(|wait| wait == "sleep");
    assert!(sleeps.expect("sleeps are counted") > 0 || !at_once, "it looked all the time");
    meet(job)?;
    let mut result = Ok(());
    while result.is_ok() {
        result = postbox.post(Message::new());
    }
    assert!(matches!(result, Err(Error::Closed(Rank(0)))), "{result:?}");
    Ok(meet(job)?)
}

/// A thread finds a name while another one waits for a message that only comes afterwards.
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

/// Long messages arrive bit by bit, also if their poster has finished.
fn long(job: &Job) -> Checked {
    let endpoint = job.endpoint();
    let sizes = [16_384, 16_385, 100_000, 1 << 20, (8 << 20) + 13];
    let content = |rank: u32, size: usize| -> Vec<u8> {
        (0..size).map(|n| (n as u32).wrapping_mul(rank + 7).to_le_bytes()[1]).collect()
    };
    if job.rank().0 > 0 {
        let postbox = endpoint.find_mailbox("long", FIND)?;
        for size in sizes.iter().cycle().take(4 * sizes.len()) {
            let mut message = Message::with_capacity(*size);
            message.pack_one(*size as u64);
            content(job.rank().0, *size).chunks(70_000).for_each(|part| message.pack(part));
            postbox.post(message)?;
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

/// Rank 1, on another host, posts a long message and a short one, and then calls the library no more until there is a file, whose
/// path is the second word. Until then retrievals by rank 0 end in time, and others' messages come.
fn late(job: &Job) -> Checked {
    let endpoint = job.endpoint();
    let path = std::env::args().nth(2).ok_or("late PATH")?;
    let content = vec![7u8; 8 << 20];
    if job.rank().0 == 1 {
        let postbox = endpoint.find_mailbox("late", FIND)?;
        let mut message = Message::new();
        message.pack(&content);
        postbox.post(message)?;
        postbox.post(Message::new())?;
        job.world().send(Rank(0), Tag(1), &[0u8])?;
        let patience = Instant::now() + FIND;
        while !std::path::Path::new(&path).exists() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
        return Ok(());
    }
    let mailbox = endpoint.create_mailbox("late", 3)?;
    let postbox = endpoint.find_mailbox("late", FIND)?;
    job.world().recv(Rank(1), Tag(1), &mut [0u8])?;
    for _ in 0..20 {
        assert!(mailbox.try_retrieve()?.is_none());
        let late = mailbox.retrieve_deadline(Duration::from_millis(2));
        assert!(matches!(late, Err(Error::Deadline(_))), "{late:?}");
        postbox.try_post(Message::new())?;
        assert!(matches!(postbox.try_post(Message::new()), Err(PostError::Full(_))), "it holds more");
        assert_eq!(mailbox.retrieve()?.sender(), Some(Rank(0)));
    }
    std::fs::write(path, "")?;
    let first = mailbox.retrieve()?;
    assert!(first.sender() == Some(Rank(1)) && first.bytes() == content, "{} bytes", first.len());
    let second = mailbox.retrieve()?;
    assert_eq!((second.sender(), second.len()), (Some(Rank(1)), 0));
    for _ in 0..3 {
        postbox.try_post(Message::new())?;
    }
    assert!(matches!(postbox.try_post(Message::new()), Err(PostError::Full(_))), "it holds more");
    Ok(())
}

/// Rank 1, on another host, asks for a place while rank 0 computes, gives up, and finishes: the place is free again.
fn granted(job: &Job) -> Checked {
    let endpoint = job.endpoint();
    let mailbox = if job.rank().0 == 0 { Some(endpoint.create_mailbox("granted", 1)?) } else { None };
    let postbox = endpoint.find_mailbox("granted", FIND)?;
    meet(job)?;
    let Some(mailbox) = mailbox else {
        // Should the answer be there in time after all, the message is retrieved below.
        let _ = postbox.post_deadline(Message::new(), Duration::from_millis(5));
        return Ok(());
    };
    std::thread::sleep(Duration::from_millis(300));
    for _ in 0..2000 {
        let _ = mailbox.retrieve_deadline(Duration::from_millis(5));
        if postbox.try_post(Message::new()).is_ok() && mailbox.retrieve()?.sender() == Some(Rank(0)) {
            postbox.try_post(Message::new())?;
            return Ok(mailbox.retrieve().map(drop)?);
        }
    }
    Err("the place is lost".into())
}

/// The last rank dies while it posts: told once, and its slots are free again. For `--on-failure continue`.
fn dead(job: &Job) -> Checked {
    let endpoint = job.endpoint();
    let doomed = Rank(job.size() - 1);
    if job.rank() == doomed {
        let postbox = endpoint.find_mailbox("dead", FIND)?;
        let micros = std::env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(500);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(micros));
            std::process::abort();
        });
        for item in 0.. {
            postbox.post(written(doomed.0 * THREADS, item))?;
        }
    }
    if job.rank().0 > 0 {
        let postbox = endpoint.find_mailbox("dead", FIND)?;
        return Ok((0..500).try_for_each(|item| postbox.post(written(job.rank().0 * THREADS, item)))?);
    }
    let mailbox = endpoint.create_mailbox("dead", 4)?;
    let (mut told, mut living) = (0, 0);
    loop {
        // Of a rank on another host, each message that is lost is told too, and what is behind it still comes.
        let next = match told == 0 || living < 500 * (job.size() - 2) {
            true => mailbox.retrieve().map(Some),
            false => mailbox.try_retrieve(),
        };
        match next {
            Ok(None) => break,
            Ok(Some(message)) => living += u32::from(message.sender() != Some(doomed)),
            Err(error) if error.to_string().contains(&doomed.to_string()) => told += 1,
            Err(error) => return Err(error.into()),
        }
    }
    let postbox = endpoint.find_mailbox("dead", FIND)?;
    assert_eq!((0..9).filter(|_| postbox.try_post(Message::new()).is_ok()).count(), 4, "slots were lost");
    (0..4).try_for_each(|_| mailbox.retrieve().map(drop))?;
    assert!(mailbox.try_retrieve()?.is_none(), "told once");
    println!("told {told}");
    Ok(())
}

/// Time from post to retrieval, as half a round trip. To look at, not to check.
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
