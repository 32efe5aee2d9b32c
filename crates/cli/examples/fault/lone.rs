//! Ranks with one small fault or task: no finish, no start, too much memory, a wait.

use std::time::Duration;

use canele::{Error, Failure, Job, Rank, Tag};

use crate::Outcome;

/// Exits rank `which` with status 0 without finishing; the others wait for it.
pub fn unfinished(which: u64) -> Outcome {
    let job = Job::start()?;
    if u64::from(job.rank().0) == which {
        return Ok(());
    }
    job.world().recv(Rank(which as u32), Tag(1), &mut [0u8])?;
    Err("a message that no rank sent".into())
}

/// Exits rank `which` before it initialises; all operations that name it fail at the others.
pub fn absent(which: u64) -> Outcome {
    if std::env::var("CANELE_RANK")?.parse() == Ok(which) {
        return Ok(());
    }
    let (job, absent) = (Job::start()?, Rank(which as u32));
    let world = job.world();
    let attempts = [
        world.send(absent, Tag(1), &[1u8]).err(),
        world.send(absent, Tag(1), &vec![1u8; 1 << 20]).err(),
        world.recv(absent, Tag(1), &mut [1u8]).err(),
        world.probe(absent, Tag(1)).err().map(|error| error as Error),
    ];
    for error in attempts {
        let text = error.map_or("no error".to_owned(), |error| error.to_string());
        if !text.contains(&absent.to_string()) || !text.contains("finished") {
            return Err(format!("{text:?} does not say that {absent} has finished").into());
        }
    }
    println!("refused");
    job.finish()?;
    Ok(())
}

/// Keeps rank `which` silent; when it is gone, all operations that name it fail at the others, naming it.
pub fn lost(which: u64) -> Outcome {
    let (job, lost) = (Job::start()?, Rank(which as u32));
    if job.rank() == lost {
        std::thread::sleep(Duration::from_secs(60));
        return Err("this rank was not ended".into());
    }
    let world = job.world();
    let attempts = [
        world.recv(lost, Tag(1), &mut [1u8]).err(),
        world.send(lost, Tag(1), &vec![1u8; 1 << 20]).err(),
        world.probe(lost, Tag(1)).err(),
    ];
    for error in attempts {
        match error {
            Some(Error::Failed(Failure::PeerFailed(rank))) if rank == lost => {}
            other => return Err(format!("{other:?} does not say that {lost} failed").into()),
        }
    }
    println!("all failed, naming {lost}");
    job.finish()?;
    Ok(())
}

/// Connects all ranks with rank `which`, and then loses it silently, because its host is cut off. Then their
/// `receive`, `send` or `probe` fails, naming it; their other operations continue. Each writes a sign in the
/// folder `signs` that it knows. The lost rank ends after that, because its agent would report an earlier end
/// to the others.
pub fn severed(which: u64, what: &str, signs: &str) -> Outcome {
    let (job, lost) = (Job::start()?, Rank(which as u32));
    let (world, me) = (job.world(), job.rank());
    meet(&job, lost)?;
    println!("{me} is ready");
    if me == lost {
        if what == "send" {
            // Sent messages find no more room before the host is cut off.
            std::thread::sleep(Duration::from_secs(12));
        }
        let alone = world.recv(Rank(0), Tag(9), &mut [1u8]).err().ok_or("a message that no rank sent")?;
        println!("{me} is alone: {alone}");
        while std::fs::read_dir(signs)?.count() + 1 < job.size() as usize {
            std::thread::sleep(Duration::from_millis(10));
        }
        return Ok(job.finish()?);
    }
    let begin = std::time::Instant::now();
    let outcome = match what {
        "receive" => world.recv(lost, Tag(1), &mut [1u8]).map(drop),
        "probe" => world.probe(lost, Tag(1)).map(drop),
        // Short messages take the short path as long as there is credit.
        "send" => (0..).try_for_each(|_| world.send(lost, Tag(1), &[1u8; 1000])),
        other => return Err(format!("what is {other}?").into()),
    };
    match outcome {
        Err(Error::Failed(Failure::PeerFailed(rank) | Failure::Unreachable(rank, _))) if rank == lost => {}
        other => return Err(format!("{other:?} does not say that {lost} is lost").into()),
    }
    println!("{me} knows after {:.1} s", begin.elapsed().as_secs_f64());
    std::fs::write(std::path::Path::new(signs).join(me.0.to_string()), "")?;
    let others = (0..job.size()).map(Rank).filter(|rank| ![me, lost].contains(rank));
    for other in others {
        let (mine, mut got) = ([me.0], [0u32]);
        world.scope(|scope| {
            scope.irecv(other, Tag(2), &mut got)?;
            scope.isend(other, Tag(2), &mine)?;
            Ok(())
        })?;
        if got != [other.0] {
            return Err(format!("{got:?} came from {other}").into());
        }
    }
    println!("{me} goes on");
    Ok(job.finish()?)
}

/// Connects all other ranks with this one: a barrier does not connect every pair.
fn meet(job: &Job, rank: Rank) -> Outcome {
    let world = job.world();
    if job.rank() != rank {
        return Ok(world.send(rank, Tag(3), &[0u8])?);
    }
    (0..job.size()).map(Rank).filter(|other| *other != rank).try_for_each(|other| -> Outcome {
        world.recv(other, Tag(3), &mut [0u8])?;
        Ok(())
    })
}

/// Allocates a region; prints the error, if it is one of memory, and shows that the job continues.
pub fn region(bytes: u64) -> Outcome {
    let job = Job::start()?;
    match job.endpoint().region(bytes as usize) {
        Ok(region) => println!("{} bytes", region.len()),
        Err(error @ Error::Memory(_)) => println!("{error}"),
        Err(error) => return Err(error.into()),
    }
    let small = job.endpoint().region(4096)?;
    small.write(0, &[1u64])?;
    job.finish()?;
    Ok(())
}

/// Puts from rank 1 into rank 0's region and finishes at once: the notice must not be lost.
pub fn late_put() -> Outcome {
    let job = Job::start()?;
    let endpoint = job.endpoint();
    if job.rank() == Rank(0) {
        let region = endpoint.region(4096)?;
        region.publish("late")?;
        let notice = endpoint.wait_notice(Some(Duration::from_secs(30)))?;
        let mut value = [0u64];
        region.read(8, &mut value)?;
        println!("{} {}", notice.id, value[0]);
    } else {
        endpoint.find_region("late", Duration::from_secs(30))?.put_notify(8, &[77u64], 5)?;
    }
    job.finish()?;
    Ok(())
}

/// Waits `seconds` on rank 0 for a message, and prints the processor time of the wait in µs.
pub fn blocked(seconds: u64) -> Outcome {
    let job = Job::start()?;
    let (world, other) = (job.world(), Rank(1 - job.rank().0));
    let mut word = [0u64];
    // Connects the ranks and completes everything that happens once.
    for _ in 0..100 {
        if job.rank() == Rank(1) {
            world.send(other, Tag(1), &word)?;
        }
        world.recv(other, Tag(1), &mut word)?;
        if job.rank() == Rank(0) {
            world.send(other, Tag(1), &word)?;
        }
    }
    if job.rank() == Rank(1) {
        std::thread::sleep(Duration::from_secs(seconds));
        world.send(other, Tag(2), &word)?;
    } else {
        let before = processor_us()?;
        world.recv(other, Tag(2), &mut word)?;
        println!("{} us", processor_us()? - before);
    }
    job.finish()?;
    Ok(())
}

/// Returns the processor time of this thread, in µs.
fn processor_us() -> Result<u64, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().ok_or("empty schedstat")?.parse::<u64>()? / 1000)
}

/// Starts, prints the resident memory, and finishes.
pub fn idle() -> Outcome {
    let job = Job::start()?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    if let Some(line) = status.lines().find(|line| line.starts_with("VmRSS")) {
        println!("{line}");
    }
    job.finish()?;
    Ok(())
}

/// Waits on rank 0 for rank 1, and prints the time of the wait. Rank 1 sends its first message once the file
/// `sign` exists.
pub fn approached(sign: &str) -> Outcome {
    let job = Job::start()?;
    let (world, mut word) = (job.world(), [0u8]);
    if job.rank() == Rank(0) {
        world.recv(Rank(1), Tag(1), &mut word)?;
        world.send(Rank(1), Tag(1), &word)?;
        return Ok(job.finish()?);
    }
    while !std::path::Path::new(sign).exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let begin = std::time::Instant::now();
    world.send(Rank(0), Tag(1), &word)?;
    world.recv(Rank(0), Tag(1), &mut word)?;
    println!("reached after {} us", begin.elapsed().as_micros());
    Ok(job.finish()?)
}
