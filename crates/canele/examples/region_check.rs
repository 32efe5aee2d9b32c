//! Checks regions: `canele run -n 4 region_check all [ROUNDS]|called|gone|dead`, on one host or several.
//!
//! Every rank puts into a region of every other rank, reads there and counts there. Ends with an error if a
//! value is wrong, and prints the number of reached ranks on other hosts.

use canele_sys::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

use canele::{Endpoint, Error, Job, Op, Rank, Region, RemoteRegion, Tag};

type Checked = Result<(), Box<dyn std::error::Error>>;

const FIND: Duration = Duration::from_secs(30);
/// Bytes that one rank writes of another's region, behind a word in which all ranks count.
const AREA: usize = 3 << 20;
/// Sizes around the limits of a cell, of one packet, and of pieces.
const SIZES: [usize; 10] = [0, 1, 8, 24, 25, 1000, 16_360, 16_361, 100_000, (2 << 20) + 5];

fn main() -> Checked {
    let job = Job::start()?;
    match std::env::args().nth(1).as_deref() {
        Some("all") => all(&job)?,
        Some("called") => called(&job)?,
        Some("gone") => gone(&job)?,
        Some("dead") => dead(&job)?,
        other => return Err(format!("all, called, gone or dead, not {other:?}").into()),
    }
    Ok(job.finish()?)
}

fn name(rank: Rank) -> String {
    format!("region of {}", rank.0)
}

fn content(from: Rank, round: usize, len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 7 + round * 31 + from.0 as usize * 101) as u8).collect()
}

/// Returns the offset of the area that rank `from` writes.
fn area(from: Rank) -> usize {
    8 + from.0 as usize * AREA
}

/// Returns the offset of the data with size number `n`. Areas do not overlap, because overlapping puts would
/// need a fence.
fn place(from: Rank, n: usize) -> usize {
    area(from) + n * 100_008
}

fn all(job: &Job) -> Checked {
    let (endpoint, me) = (job.endpoint(), job.rank());
    let mine = endpoint.region(8 + job.size() as usize * AREA)?;
    mine.publish(&name(me))?;
    let others: Vec<_> = (0..job.size()).map(Rank).filter(|rank| *rank != me).collect();
    let regions =
        others.iter().map(|rank| endpoint.find_region(&name(*rank), FIND)).collect::<Result<Vec<_>, _>>()?;
    let rounds = std::env::args().nth(2).map_or(Ok(3), |text| text.parse())?;
    for round in 0..rounds {
        for far in &regions {
            puts(me, round, far)?;
        }
        seen(endpoint, &mine, &others, round)?;
        for far in &regions {
            reads(me, round, far)?;
        }
        // No rank writes again before all ranks have checked.
        job.world().barrier()?;
    }
    let mut word = [0u64];
    mine.read(0, &mut word)?;
    assert_eq!(word[0], (others.len() * rounds * SIZES.len()) as u64, "counted once each");
    refusals(&regions)?;
    let mut counted = [0u32];
    let elsewhere = if job.hosts() > 1 { job.size() - job.local_size() } else { 0 };
    job.world().allreduce(&[elsewhere], &mut counted, Op::Sum)?;
    if me == Rank(0) {
        println!("{} pairs on different hosts", counted[0]);
    }
    Ok(())
}

/// Puts data of all sizes, each with a notice; the last put has none.
fn puts(me: Rank, round: usize, far: &RemoteRegion) -> Result<(), Error> {
    for (n, len) in SIZES.iter().enumerate() {
        let data = content(me, round + n, *len);
        far.put_notify(place(me, n), &data, (round * SIZES.len() + n) as u64)?;
        let old = far.fetch_add(0, 1)?;
        assert!(old < 1 << 20, "{old} counted so far");
    }
    far.fence(Some(FIND))?;
    let data = content(me, round, 5000);
    far.put(area(me) + AREA - 5000, &data)?;
    let mut back = vec![0u8; 5000];
    far.get(area(me) + AREA - 5000, &mut back)?;
    assert!(back == data, "a put is complete when it returns");
    Ok(())
}

/// Receives the notices of this round, in order for each rank, and checks their data.
fn seen(endpoint: &Endpoint, mine: &Region, others: &[Rank], round: usize) -> Result<(), Error> {
    let mut next: Vec<_> = others.iter().map(|rank| (*rank, 0)).collect();
    for _ in 0..others.len() * SIZES.len() {
        let notice = endpoint.wait_notice(Some(FIND))?;
        let (_, next) = next.iter_mut().find(|(rank, _)| *rank == notice.from).expect("of another rank");
        assert_eq!(notice.id, (round * SIZES.len() + *next) as u64, "in order, of {}", notice.from);
        let mut there = vec![0u8; SIZES[*next]];
        mine.read(place(notice.from, *next), &mut there)?;
        assert!(there == content(notice.from, round + *next, there.len()), "data of {}", notice.from);
        *next += 1;
    }
    Ok(())
}

/// Reads back the data that was put, for all sizes.
fn reads(me: Rank, round: usize, far: &RemoteRegion) -> Result<(), Error> {
    let whole = content(me, round + SIZES.len() - 1, SIZES[SIZES.len() - 1]);
    for len in SIZES {
        let mut back = vec![0u8; len];
        far.get(place(me, SIZES.len() - 1), &mut back)?;
        assert!(back == whole[..len], "{len} bytes read");
    }
    let word = (area(me) + AREA - 64) & !7;
    far.put(word, &[5u64])?;
    assert_eq!(far.compare_and_swap(word, 4, 6)?, 5);
    assert_eq!(far.compare_and_swap(word, 5, 7)?, 5);
    assert_eq!(far.fetch_add(word, 2)?, 7);
    let mut back = [0u64];
    far.get(word, &mut back)?;
    assert_eq!(back, [9]);
    Ok(())
}

/// Checks that a range outside of any region is an error and harms nothing.
fn refusals(regions: &[RemoteRegion]) -> Result<(), Error> {
    for far in regions {
        let outside = |result: Result<(), Error>| {
            assert!(matches!(result, Err(Error::Range { .. })), "{result:?}");
        };
        let beyond = 1 << 40;
        outside(far.put(beyond, &[1u8]));
        outside(far.put_notify(beyond, &[1u8], 0));
        outside(far.get(usize::MAX, &mut [0u8; 2]));
        outside(far.fetch_add(beyond, 1).map(drop));
        outside(far.compare_and_swap(4, 0, 0).map(drop));
    }
    Ok(())
}

/// Every rank's notices go to a callback, from ranks of any host, and none is seen outside of it.
fn called(job: &Job) -> Checked {
    const NOTICES: u64 = 200;
    let (endpoint, me) = (job.endpoint(), job.rank());
    let mine = endpoint.region(4096)?;
    let (counted, seen) = (Arc::new(AtomicU64::new(0)), (u64::from(job.size()) - 1) * NOTICES);
    let count = counted.clone();
    endpoint.on_notice(0..NOTICES, move |_| {
        count.fetch_add(1, Relaxed);
    })?;
    mine.publish(&name(me))?;
    let others = (0..job.size()).map(Rank).filter(|rank| *rank != me);
    let regions =
        others.map(|rank| endpoint.find_region(&name(rank), FIND)).collect::<Result<Vec<_>, _>>()?;
    for notice in 0..NOTICES {
        for far in &regions {
            far.put_notify(0, &content(me, 0, notice as usize), notice)?;
            assert_eq!(endpoint.try_notice()?, None, "seen by polling, too");
        }
    }
    let end = Instant::now() + FIND;
    while counted.load(Relaxed) < seen && Instant::now() < end {
        assert_eq!(endpoint.try_notice()?, None, "seen by polling, too");
    }
    assert_eq!(counted.load(Relaxed), seen, "each calls once");
    regions.iter().try_for_each(|far| far.fence(Some(FIND)))?;
    job.world().barrier()?;
    Ok(())
}

/// Rank 0 drops its region. The last rank, on another host, gets an error when it uses the region; all else
/// works.
fn gone(job: &Job) -> Checked {
    let (endpoint, world, me, last) = (job.endpoint(), job.world(), job.rank(), Rank(job.size() - 1));
    let (mut word, tag) = ([0u8], Tag(1));
    let kept = endpoint.region(4096)?;
    kept.publish(&format!("kept {}", me.0))?;
    if me == Rank(0) {
        let region = endpoint.region(1 << 20)?;
        region.publish("dropped")?;
        world.recv(last, tag, &mut word)?;
        drop(region);
        world.send(last, tag, &word)?;
        assert_eq!(endpoint.wait_notice(Some(FIND))?.id, 8, "no notice of what was refused");
        world.recv(last, tag, &mut word)?;
    } else if me == last {
        let far = endpoint.find_region("dropped", FIND)?;
        let other = endpoint.find_region("kept 0", FIND)?;
        far.put(0, &[1u64; 4])?;
        world.send(Rank(0), tag, &word)?;
        world.recv(Rank(0), tag, &mut word)?;
        let refused = |what: &str, result: Result<(), Error>| match result {
            Err(Error::Refused { owner: Rank(0), .. }) => {}
            other => panic!("{what}: {other:?}"),
        };
        refused("put", far.put(0, &[1u8]));
        refused("large put", far.put(0, &vec![1u8; 1 << 20]));
        refused("get", far.get(0, &mut [0u8]));
        refused("large get", far.get(0, &mut vec![0u8; 1 << 20]));
        refused("add", far.fetch_add(0, 1).map(drop));
        far.put_notify(0, &[1u8; 100], 7)?;
        far.put_notify(0, &vec![1u8; 100_000], 7)?;
        refused("fence", far.fence(Some(FIND)));
        let text = far.put(0, &[1u8]).expect_err("refused").to_string();
        assert!(text.contains("rank 0") && text.contains("region"), "{text}");
        other.put_notify(0, &[3u64], 8)?;
        other.fence(Some(FIND))?;
        world.send(Rank(0), tag, &word)?;
    }
    job.world().barrier()?;
    Ok(())
}

/// The last rank dies during puts in both directions. A rank that uses its region gets an error, and the rest
/// works. For `--on-failure continue`.
fn dead(job: &Job) -> Checked {
    let (endpoint, me, doomed) = (job.endpoint(), job.rank(), Rank(job.size() - 1));
    let mine = endpoint.region(1 << 20)?;
    mine.publish(&name(me))?;
    let mut data = vec![0u8; 300_000];
    if me == doomed {
        let far = endpoint.find_region(&name(Rank(0)), FIND)?;
        for round in 0.. {
            far.put_notify(0, &data, round)?;
            if round == 20 {
                std::process::abort();
            }
        }
    }
    let far = endpoint.find_region(&name(doomed), FIND)?;
    let mut told = 0;
    for round in 0.. {
        let result = match round % 4 {
            0 => far.put(0, &data),
            1 => far.get(0, &mut data),
            2 => far.put_notify(0, &data[..100], 1).and_then(|()| far.fence(None)),
            _ => far.fetch_add(0, 1).map(drop),
        };
        if let Err(error) = result {
            assert!(error.to_string().contains(&doomed.to_string()), "{error}");
            told += 1;
        }
        if told == 8 {
            break;
        }
    }
    // The living ranks still reach each other.
    if me == Rank(0) {
        for rank in (1..doomed.0).map(Rank) {
            let far = endpoint.find_region(&name(rank), FIND)?;
            far.put(0, &[9u64; 1000])?;
            job.world().send(rank, Tag(1), &[0u8])?;
        }
    } else {
        job.world().recv(Rank(0), Tag(1), &mut [0u8])?;
        let mut words = [0u64; 1000];
        mine.read(0, &mut words)?;
        assert_eq!(words, [9; 1000]);
    }
    println!("{me} told");
    Ok(())
}
