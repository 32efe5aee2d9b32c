//! All ranks but the first send messages and finish; the last of them may die instead.
//!
//! Rank 0 loses none of the messages. Then everything that it waits for from any rank fails, unless this rank
//! itself can still send it.

use std::time::Duration;

use canele::{ANY_SOURCE, ANY_TAG, Error, Failure, Flow, Job, Mailbox, Message, Rank, Tag, wait_any};
use rustix::process::{Signal, getpid, kill_process};

use crate::{Outcome, pattern};

const DATA: Tag = Tag(1);
const OWN: Tag = Tag(2);
/// A timeout that only a hang exceeds.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);
/// Bytes of the longest message.
const ROOM: usize = 300_000;

/// Sends `count` messages from each rank, and posts as many.
pub fn run(count: u64, last_dies: bool) -> Outcome {
    let job = Job::start()?;
    let (me, world, endpoint) = (job.rank(), job.world(), job.endpoint());
    // A flow on another lane than the first, if there is one.
    let other = world.duplicate_on_lane(1)?;
    if me != Rank(0) {
        let sender = endpoint.find_mailbox("last", LONG)?;
        let region = endpoint.find_region("last", LONG)?;
        region.put_notify(0, &[1u8], 7)?;
        for number in 0..count {
            world.send(Rank(0), DATA, &pattern::message(me, Rank(0), number, 0))?;
            sender.post(Message::new())?;
        }
        if last_dies && me.0 == job.size() - 1 {
            kill_process(getpid(), Signal::KILL)?;
        }
        return Ok(job.finish()?);
    }
    let mailbox = endpoint.create_mailbox("last", count as usize * job.size() as usize)?;
    let region = endpoint.region(4096)?;
    region.publish("last")?;
    let messages = receive_all(&world, job.size())?;
    println!("{messages} messages, {} retrieved", retrieve_all(&mailbox)?);
    for _ in 1..job.size() {
        endpoint.wait_notice(None)?;
    }
    fails("wait_notice", endpoint.wait_notice(None))?;
    // Each flow reports deaths.
    if receive_all(&other, job.size())? > 0 {
        return Err("a message came that no rank sent".into());
    }
    for flow in [&world, &other] {
        nothing_comes(flow, &mailbox)?;
        own_messages_come(flow)?;
        other_threads_count(flow)?;
    }
    of_several_flows(&world, &other)?;
    job.finish()?;
    Ok(())
}

fn is_end<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Failed(Failure::NoSenderLeft)))
}

fn fails<T>(what: &str, result: Result<T, Error>) -> Outcome {
    match result {
        end if is_end(&end) => Ok(()),
        Err(error) => Err(format!("{what}: {error}").into()),
        Ok(_) => Err(format!("{what} succeeded").into()),
    }
}

/// Receives until no other rank is left; checks each message and returns their number.
fn receive_all(world: &Flow, ranks: u32) -> Result<u64, Box<dyn std::error::Error>> {
    let (mut next, mut bytes) = (vec![0; ranks as usize], vec![0; ROOM]);
    loop {
        match world.recv(ANY_SOURCE, DATA, &mut bytes) {
            Ok(status) => {
                let number = &mut next[status.source.0 as usize];
                pattern::check(status.source, Rank(0), *number, &bytes[..status.bytes])?;
                *number += 1;
            }
            Err(Error::Failed(Failure::PeerFailed(_))) => {}
            end if is_end(&end) => return Ok(next.iter().sum()),
            Err(error) => return Err(error.into()),
        }
    }
}

fn retrieve_all(mailbox: &Mailbox) -> Result<u64, Box<dyn std::error::Error>> {
    let mut count = 0;
    loop {
        match mailbox.retrieve() {
            Ok(_) => count += 1,
            Err(Error::Failed(Failure::PeerFailed(_))) => {}
            end if is_end(&end) => return Ok(count),
            Err(error) => return Err(error.into()),
        }
    }
}

fn nothing_comes(world: &Flow, mailbox: &Mailbox) -> Outcome {
    fails("recv", world.recv(ANY_SOURCE, ANY_TAG, &mut [0u8]))?;
    fails("probe", world.probe(ANY_SOURCE, ANY_TAG))?;
    fails("mprobe", world.mprobe(ANY_SOURCE, DATA))?;
    fails("irecv", world.irecv(ANY_SOURCE, DATA, vec![0u8])?.wait())?;
    let mut requests =
        vec![world.irecv(ANY_SOURCE, DATA, vec![0u8])?, world.irecv(ANY_SOURCE, OWN, vec![0u8])?];
    wait_any(&mut requests)?;
    fails("the first of two", requests.remove(0).wait())?;
    fails("the second of two", requests.remove(0).wait())?;
    // Calls that do not wait, or not for ever, are not refused.
    let nothing = world.iprobe(ANY_SOURCE, ANY_TAG)?.is_none() && mailbox.try_retrieve()?.is_none();
    let passed = matches!(world.recv_deadline(ANY_SOURCE, DATA, &mut [0u8], SHORT), Err(Error::Deadline(_)))
        && matches!(mailbox.retrieve_deadline(SHORT), Err(Error::Deadline(_)));
    if nothing && passed { Ok(()) } else { Err("a message came that no rank sent".into()) }
}

fn own_messages_come(world: &Flow) -> Outcome {
    let me = world.rank();
    let mut receive = world.irecv(ANY_SOURCE, OWN, vec![0u8])?;
    receive.test()?;
    world.send(me, OWN, &[5u8])?;
    receive.wait()?;
    world.send(me, OWN, &[5u8])?;
    world.recv(ANY_SOURCE, OWN, &mut [0u8])?;
    Ok(())
}

/// Starts a thread that sends a message to its own rank after a while.
fn send_late(flow: &Flow) -> std::thread::JoinHandle<Result<(), Error>> {
    let flow = flow.clone();
    std::thread::spawn(move || {
        std::thread::sleep(10 * SHORT);
        flow.send(flow.rank(), OWN, &[5u8])
    })
}

/// Checks that a living thread may still send, and that no thread can afterwards.
fn other_threads_count(flow: &Flow) -> Outcome {
    let late = send_late(flow);
    flow.recv(ANY_SOURCE, OWN, &mut [0u8])?;
    late.join().map_err(|_| "a thread panicked")??;
    let silent = std::thread::spawn(|| std::thread::sleep(10 * SHORT));
    fails("recv while a thread ends", flow.recv(ANY_SOURCE, OWN, &mut [0u8]))?;
    silent.join().map_err(|_| "a thread panicked".into())
}

/// Checks the end of receives on several flows that are waited for together.
fn of_several_flows(world: &Flow, other: &Flow) -> Outcome {
    let both = || -> Result<_, Error> {
        Ok(vec![world.irecv(ANY_SOURCE, OWN, vec![0u8])?, other.irecv(ANY_SOURCE, OWN, vec![0u8])?])
    };
    for late_on in [world, other] {
        let late = send_late(late_on);
        let mut requests = both()?;
        let came = wait_any(&mut requests)?;
        requests.remove(came).wait()?;
        late.join().map_err(|_| "a thread panicked")??;
        fails("the receive that nothing came for", requests.remove(0).wait())?;
    }
    let silent = std::thread::spawn(|| std::thread::sleep(10 * SHORT));
    let mut requests = both()?;
    while !requests.is_empty() {
        let ended = wait_any(&mut requests)?;
        fails("one of the receives of several flows", requests.remove(ended).wait())?;
    }
    silent.join().map_err(|_| "a thread panicked".into())
}
