//! All ranks exchange messages of all lengths, until a time has passed, or a rank has died and survivors
//! continued.

use std::process::Command;
use std::time::{Duration, Instant};

use canele::{Error, Failure, Flow, Job, Rank, Region, Request, Tag};

use crate::{Outcome, pattern};

/// Rounds after a rank has seen a reason to end.
const AFTER: u64 = 20;
const NEVER: u64 = u64::MAX;
const DATA: Tag = Tag(1);
const EMPTY: Tag = Tag(2);
const COPIED_ONCE: Tag = Tag(3);
/// Bytes of a message from or into a region, which takes several pieces.
const REGION: usize = 200_000;

/// Starts processes that would outlive the rank: one in its group, one in a session of its own. Both lose
/// their parent.
fn leave_orphans() -> Outcome {
    let status = Command::new("sh").args(["-c", "sleep 1000 & setsid sleep 1000 &"]).status()?;
    if status.success() { Ok(()) } else { Err(format!("sh: {status}").into()) }
}

/// One rank's view of the exchange.
struct Exchange {
    world: Flow,
    me: Rank,
    partners: Vec<Rank>,
    lost: Vec<Rank>,
    /// The last round, as known by this rank; the latest one that any rank names counts.
    last: u64,
    /// Memory for the sent message, followed by memory for the received one.
    region: Region,
}

/// Exchanges for `seconds`, or until a rank dies and [`AFTER`] more rounds.
pub fn run(seconds: f64, orphans: bool) -> Outcome {
    if orphans {
        leave_orphans()?;
    }
    let job = Job::start()?;
    let (me, started) = (job.rank(), Instant::now());
    let partners = (0..job.size()).map(Rank).filter(|rank| *rank != me).collect();
    let region = job.endpoint().region(2 * REGION)?;
    let mut exchange = Exchange { world: job.world(), me, partners, lost: Vec::new(), last: NEVER, region };
    let mut number = 0;
    while number <= exchange.last {
        if exchange.last == NEVER && started.elapsed() > Duration::from_secs_f64(seconds) {
            exchange.last = number + AFTER;
        }
        exchange.round(number)?;
        exchange.swap_regions(number)?;
        number += 1;
    }
    println!("{number} rounds, lost {:?}", exchange.lost.iter().map(|rank| rank.0).collect::<Vec<_>>());
    job.finish()?;
    Ok(())
}

/// The messages of one round with one partner.
struct Dealings {
    with: Rank,
    requests: [Result<Request<u8>, Error>; 4],
}

impl Exchange {
    fn round(&mut self, number: u64) -> Outcome {
        let dealings: Vec<Dealings> = self.partners.iter().map(|rank| self.deal(*rank, number)).collect();
        for Dealings { with, requests } in dealings {
            for (which, request) in requests.into_iter().enumerate() {
                match request.and_then(Request::wait) {
                    Ok((_, bytes)) if which == 0 => {
                        self.last = match (self.last, pattern::check(with, self.me, number, &bytes)?) {
                            (NEVER, heard) => heard,
                            (known, NEVER) => known,
                            (known, heard) => known.max(heard),
                        };
                    }
                    Ok(_) => {}
                    Err(Error::Failed(Failure::PeerFailed(rank))) if rank == with => self.lose(rank, number),
                    Err(error) => return Err(format!("round {number} with {with}: {error}").into()),
                }
            }
        }
        Ok(())
    }

    fn deal(&self, with: Rank, number: u64) -> Dealings {
        let (world, me) = (&self.world, self.me);
        Dealings {
            with,
            requests: [
                world.irecv(with, DATA, vec![0; pattern::length(with, me, number)]),
                world.irecv(with, EMPTY, Vec::new()),
                world.isend(with, DATA, pattern::message(me, with, number, self.last)),
                world.isend(with, EMPTY, Vec::new()),
            ],
        }
    }

    /// Swaps a long message with each partner, in regions at one end or at both. The order of pairs is the
    /// same on all ranks.
    fn swap_regions(&mut self, number: u64) -> Outcome {
        for with in self.partners.clone() {
            let swapped = if self.me < with {
                self.send_copied_once(with, number).and_then(|()| self.receive_copied_once(with, number))
            } else {
                self.receive_copied_once(with, number).and_then(|()| self.send_copied_once(with, number))
            };
            match swapped {
                Ok(()) => {}
                Err(Error::Failed(Failure::PeerFailed(rank))) if rank == with => self.lose(rank, number),
                Err(error) => return Err(format!("region swap {number} with {with}: {error}").into()),
            }
        }
        Ok(())
    }

    fn send_copied_once(&self, to: Rank, number: u64) -> Result<(), Error> {
        let words = vec![stamp(self.me, to, number); REGION / 8];
        if number % 3 == 2 {
            return self.world.send(to, COPIED_ONCE, &words);
        }
        self.region.write(0, &words)?;
        self.world.send_region(to, COPIED_ONCE, &self.region, 0..REGION)
    }

    fn receive_copied_once(&self, from: Rank, number: u64) -> Result<(), Error> {
        let mut words = vec![0; REGION / 8];
        if number % 3 == 1 {
            self.world.recv(from, COPIED_ONCE, &mut words)?;
        } else {
            self.world.recv_region(from, COPIED_ONCE, &self.region, REGION..2 * REGION)?;
            self.region.read(REGION, &mut words)?;
        }
        let expected = stamp(from, self.me, number);
        if let Some(at) = words.iter().position(|word| *word != expected) {
            eprintln!(
                "{}: word {at} of message {number} from {from} is {:#x}, not {expected:#x}",
                self.me, words[at]
            );
            std::process::exit(1);
        }
        Ok(())
    }

    fn lose(&mut self, rank: Rank, number: u64) {
        if !self.lost.contains(&rank) {
            self.lost.push(rank);
            self.partners.retain(|partner| *partner != rank);
            if self.last == NEVER {
                self.last = number + AFTER;
            }
        }
    }
}

fn stamp(from: Rank, to: Rank, number: u64) -> u64 {
    u64::from(from.0) << 56 | u64::from(to.0) << 48 | number
}

/// Sends from every rank to every other one and receives from all, in order of ranks, `rounds` times.
pub fn all_to_all(rounds: u64) -> Outcome {
    let job = Job::start()?;
    let (world, me) = (job.world(), job.rank());
    let others: Vec<Rank> = (0..job.size()).map(Rank).filter(|rank| *rank != me).collect();
    for number in 0..rounds {
        let sends: Result<Vec<_>, Error> =
            others.iter().map(|to| world.isend(*to, DATA, pattern::message(me, *to, number, 0))).collect();
        for from in &others {
            let mut bytes = vec![0; pattern::length(*from, me, number)];
            world.recv(*from, DATA, &mut bytes)?;
            pattern::check(*from, me, number, &bytes)?;
        }
        canele::wait_all(sends?)?;
    }
    println!("exact");
    job.finish()?;
    Ok(())
}
