//! Checks ranks that post late, with a deadline, or before they die.

use super::many::{THREADS, written};
use super::*;

/// Rank 1, on another host, posts a long and a short message. Then it does not call the library until the
/// file named by the second argument exists. Until then retrievals by rank 0 end in time, and messages of
/// other ranks arrive.
pub fn late(job: &Job) -> Checked {
    let endpoint = job.endpoint();
    let path = std::env::args().nth(2).ok_or("late PATH")?;
    let content = vec![7u8; 8 << 20];
    if job.rank().0 == 1 {
        let sender = endpoint.find_mailbox("late", FIND)?;
        let mut message = Message::new();
        message.pack(&content);
        sender.post(message)?;
        sender.post(Message::new())?;
        job.world().send(Rank(0), Tag(1), &[0u8])?;
        let deadline = Instant::now() + FIND;
        while !std::path::Path::new(&path).exists() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        return Ok(());
    }
    let mailbox = endpoint.create_mailbox("late", 3)?;
    let sender = endpoint.find_mailbox("late", FIND)?;
    job.world().recv(Rank(1), Tag(1), &mut [0u8])?;
    for _ in 0..20 {
        assert!(mailbox.try_retrieve()?.is_none());
        let late = mailbox.retrieve_deadline(Duration::from_millis(2));
        assert!(matches!(late, Err(Error::Deadline(_))), "{late:?}");
        sender.try_post(Message::new())?;
        assert!(matches!(sender.try_post(Message::new()), Err(PostError::Full(_))), "it holds more");
        assert_eq!(mailbox.retrieve()?.sender(), Some(Rank(0)));
    }
    std::fs::write(path, "")?;
    let first = mailbox.retrieve()?;
    assert!(first.sender() == Some(Rank(1)) && first.bytes() == content, "{} bytes", first.len());
    let second = mailbox.retrieve()?;
    assert_eq!((second.sender(), second.len()), (Some(Rank(1)), 0));
    for _ in 0..3 {
        sender.try_post(Message::new())?;
    }
    assert!(matches!(sender.try_post(Message::new()), Err(PostError::Full(_))), "it holds more");
    Ok(())
}

/// Rank 1, on another host, asks for a place while rank 0 computes, gives up, and finishes: the place is free
/// again.
pub fn granted(job: &Job) -> Checked {
    let endpoint = job.endpoint();
    let mailbox = if job.rank().0 == 0 { Some(endpoint.create_mailbox("granted", 1)?) } else { None };
    let sender = endpoint.find_mailbox("granted", FIND)?;
    meet(job)?;
    let Some(mailbox) = mailbox else {
        // If the answer arrives in time after all, the message is retrieved below.
        let _ = sender.post_deadline(Message::new(), Duration::from_millis(5));
        return Ok(());
    };
    std::thread::sleep(Duration::from_millis(300));
    for _ in 0..2000 {
        let _ = mailbox.retrieve_deadline(Duration::from_millis(5));
        if sender.try_post(Message::new()).is_ok() && mailbox.retrieve()?.sender() == Some(Rank(0)) {
            sender.try_post(Message::new())?;
            return Ok(mailbox.retrieve().map(drop)?);
        }
    }
    Err("the place is lost".into())
}

/// The last rank dies while it posts: this is reported once, and its slots are free again. For `--on-failure
/// continue`.
pub fn dead(job: &Job) -> Checked {
    let endpoint = job.endpoint();
    let doomed = Rank(job.size() - 1);
    if job.rank() == doomed {
        let sender = endpoint.find_mailbox("dead", FIND)?;
        let micros = std::env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(500);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(micros));
            std::process::abort();
        });
        for item in 0.. {
            sender.post(written(doomed.0 * THREADS, item))?;
        }
    }
    if job.rank().0 > 0 {
        let sender = endpoint.find_mailbox("dead", FIND)?;
        return Ok((0..500).try_for_each(|item| sender.post(written(job.rank().0 * THREADS, item)))?);
    }
    let mailbox = endpoint.create_mailbox("dead", 4)?;
    let (mut told, mut living) = (0, 0);
    loop {
        // Each lost message of a rank on another host is reported too, and later messages still arrive.
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
    let sender = endpoint.find_mailbox("dead", FIND)?;
    assert_eq!((0..9).filter(|_| sender.try_post(Message::new()).is_ok()).count(), 4, "slots were lost");
    (0..4).try_for_each(|_| mailbox.retrieve().map(drop))?;
    assert!(mailbox.try_retrieve()?.is_none(), "told once");
    println!("told {told}");
    Ok(())
}
