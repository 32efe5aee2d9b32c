//! Threads of all ranks post into one mailbox.

use super::*;

pub const THREADS: u32 = 3;
/// Number of messages of each thread, unless the second argument sets it.
const MESSAGES: u32 = 1500;
const DEEP: usize = 5;

/// Threads of all ranks post and threads of rank 0 retrieve: every message arrives once, and the mailbox
/// never exceeds its depth.
pub fn many(job: &Job) -> Checked {
    let endpoint = job.endpoint();
    let each = std::env::args().nth(2).map_or(Ok(MESSAGES), |text| text.parse())?;
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
    let left = AtomicU64::new(u64::from(producers * each));
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for thread in 0..THREADS {
            let number = job.rank().0 * THREADS + thread;
            threads.push(scope.spawn(move || produce(endpoint, number, each)));
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
                        assert!(old < u64::from(each) * u64::from(each + 1), "doubled");
                    }
                    Ok(())
                }));
            }
        }
        threads.into_iter().try_for_each(|thread| thread.join().expect("a thread panicked"))
    })?;
    if mailbox.is_some() {
        let all = u64::from(each) * u64::from(each + 1) / 2;
        assert!(seen.iter().all(|sum| sum.load(Ordering::Relaxed) == all), "lost or doubled: {seen:?}");
    }
    meet(job)?;
    drop(counts);
    Ok(())
}

fn produce(endpoint: &Endpoint, number: u32, each: u32) -> Result<(), Error> {
    let sender = endpoint.find_mailbox("many", FIND)?;
    let counts = endpoint.find_region("counts", FIND)?;
    for item in 0..each {
        let message = written(number, item);
        match item % 3 {
            0 => sender.post(message)?,
            1 => post_trying(&sender, message)?,
            _ => post_in_time(&sender, message)?,
        }
        // Retrievals are counted before they begin and posts after they end, so the difference can only be
        // too small.
        let posted = counts.fetch_add(0, 1)? + 1;
        let retrieved = counts.fetch_add(8, 0)?;
        assert!(posted <= retrieved + DEEP as u64, "{posted} posted, {retrieved} retrieved");
    }
    Ok(())
}

fn post_trying(sender: &canele::MailboxSender, mut message: Message) -> Result<(), Error> {
    loop {
        match sender.try_post(message) {
            Ok(()) => return Ok(()),
            Err(PostError::Failed(error)) => return Err(error),
            Err(PostError::Full(back)) => message = back,
        }
        std::thread::yield_now();
    }
}

fn post_in_time(sender: &canele::MailboxSender, mut message: Message) -> Result<(), Error> {
    let mut wait = Duration::from_micros(50);
    loop {
        match sender.post_deadline(message, wait) {
            Ok(()) => return Ok(()),
            Err(PostError::Failed(error)) => return Err(error),
            Err(PostError::Full(back)) => message = back,
        }
        // The wait grows: with a short one, an owner on another host would always answer too late, and
        // nothing would be posted.
        wait *= 2;
    }
}

/// Makes messages of all kinds of lengths: in a cell, in the payload ring, in a region.
pub fn written(producer: u32, item: u32) -> Message {
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
