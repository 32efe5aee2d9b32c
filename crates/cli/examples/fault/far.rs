//! Shared memory of a rank on another host.

use std::time::Duration;

use canele::{Error, Job, Rank, Tag};

use crate::Outcome;

/// Rank 1 looks for a mailbox of rank 0, is told where that runs, and goes on with messages.
pub fn run() -> Outcome {
    let job = Job::start()?;
    let (world, other) = (job.world(), Rank(1 - job.rank().0));
    let mut word = [0u32];
    if job.rank() == Rank(0) {
        let _mailbox = job.endpoint().create_mailbox("far", 4)?;
        world.recv(other, Tag(1), &mut word)?;
    } else {
        match job.endpoint().find_mailbox("far", Duration::from_secs(30)) {
            Err(Error::Elsewhere { owner: Rank(0), host }) if host == "h0" => {}
            Err(other) => return Err(other.into()),
            Ok(_) => return Err("a mailbox of another host was found".into()),
        }
        world.send(other, Tag(1), &word)?;
    }
    Ok(job.finish()?)
}
