//! All ranks use collectives, mailboxes and channels at once, until an operation reports that a rank has died
//! or stopped.

use std::time::Duration;

use canele::{Channel, Error, Failure, Flow, Job, Mailbox, MailboxSender, Message, Op, Rank};

use crate::Outcome;

/// More rounds than any test runs.
const ROUNDS: u64 = 10_000_000;
const FIND: Duration = Duration::from_secs(5);
const DEPTH: usize = 2;
/// Words of every eighth message, which travels in a region.
const LONG: usize = 20_000;

/// The state of one rank of a ring.
struct Ring {
    world: Flow,
    me: Rank,
    size: u32,
    previous: Rank,
    mailbox: Mailbox,
    next_box: MailboxSender,
    to_next: Channel,
    from_previous: Channel,
}

/// The reason why the rounds ended.
enum End {
    Operation(Error),
    Wrong(String),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Operation(error)
    }
}

/// Runs rounds until an operation fails, and prints the rank that the error named.
pub fn run() -> Outcome {
    let job = Job::start()?;
    match enter(&job).map_err(End::from).and_then(|ring| (0..ROUNDS).try_for_each(|round| ring.round(round)))
    {
        Ok(()) => println!("no rank died"),
        Err(End::Operation(Error::Failed(Failure::PeerFailed(rank)))) => println!("lost {}", rank.0),
        // The first rank that learns of the death stops; others may see that before they learn of the death.
        // A name that the dead rank did not publish is never found.
        Err(End::Operation(
            Error::Failed(Failure::PeerFinished(_) | Failure::RegionLost(_))
            | Error::Closed(_)
            | Error::Deadline(_),
        )) => println!("stopped"),
        Err(End::Operation(error)) => return Err(error.into()),
        Err(End::Wrong(what)) => return Err(what.into()),
    }
    job.finish()?;
    Ok(())
}

fn enter(job: &Job) -> Result<Ring, Error> {
    let (me, size, endpoint) = (job.rank(), job.size(), job.endpoint());
    let (next, previous) = (Rank((me.0 + 1) % size), Rank((me.0 + size - 1) % size));
    let mailbox = endpoint.create_mailbox(&format!("ring {}", me.0), DEPTH)?;
    Ok(Ring {
        world: job.world(),
        me,
        size,
        previous,
        mailbox,
        next_box: endpoint.find_mailbox(&format!("ring {}", next.0), FIND)?,
        to_next: endpoint.channel(next, 1)?,
        from_previous: endpoint.channel(previous, 1)?,
    })
}

impl Ring {
    fn round(&self, round: u64) -> Result<(), End> {
        let (me, ranks) = (u64::from(self.me.0), u64::from(self.size));
        let mut sum = [0; 2];
        self.world.allreduce(&[round, me], &mut sum, Op::Sum)?;
        expect("the sum of all", &sum, &[round * ranks, ranks * (ranks - 1) / 2])?;

        let words = if round.is_multiple_of(8) { LONG } else { 2 };
        let mut message = Message::new();
        message.pack(&vec![round << 8 | me; words]);
        self.next_box.post(message)?;
        let (mut message, mut got) = (self.mailbox.retrieve()?, vec![0; words]);
        message.unpack(&mut got)?;
        expect("a message", &got, &vec![round << 8 | u64::from(self.previous.0); words])?;

        self.to_next.send(&[round, me])?;
        let mut came = [0; 2];
        self.from_previous.recv(&mut came)?;
        expect("a channel", &came, &[round, u64::from(self.previous.0)])
    }
}

fn expect(what: &str, got: &[u64], expected: &[u64]) -> Result<(), End> {
    if got == expected { Ok(()) } else { Err(End::Wrong(format!("{what} gave {got:?}, not {expected:?}"))) }
}
