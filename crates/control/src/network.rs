//! The data by which the ranks of a job of several hosts find and trust each other. Owns the key; opens no
//! socket.

use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// The secret that the ranks of a job of several hosts share, and their rails.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobNetwork {
    /// The job's number. It distinguishes jobs that use the same ports one after the other.
    pub job: u64,
    /// The key by which ranks prove to each other that they belong to the job. Overwritten when dropped.
    pub key: Zeroizing<[u8; 32]>,
    /// The ports that the ranks of each host open for each rail, as the rail's driver writes them. A rail has
    /// the same number on all hosts.
    pub rails: Vec<Vec<Vec<String>>>,
}

impl JobNetwork {
    /// Draws the network of a new job, without rails.
    ///
    /// # Errors
    /// Fails as getrandom(2) does.
    pub fn draw() -> rustix::io::Result<JobNetwork> {
        let (mut job, mut network) =
            ([0; 8], JobNetwork { job: 0, key: Zeroizing::default(), rails: Vec::new() });
        for bytes in [&mut job[..], &mut network.key[..]] {
            // Linux returns up to 256 random bytes in one call.
            rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty())?;
        }
        network.job = u64::from_ne_bytes(job);
        Ok(network)
    }

    /// Returns the network of two jobs that have sent each other their drawn networks. Both jobs have
    /// contributed to its key, and it has these rails.
    pub fn shared(&self, theirs: &JobNetwork, rails: Vec<Vec<Vec<String>>>) -> JobNetwork {
        let mut shared = JobNetwork { rails, ..self.clone() };
        shared.key.iter_mut().zip(theirs.key.iter()).for_each(|(byte, other)| *byte ^= other);
        shared
    }
}

impl fmt::Debug for JobNetwork {
    /// Formats it without the key: this text may end in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JobNetwork {{ job: {:#x}, key: … }}", self.job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_the_next_one_and_never_printed() {
        let (one, other) = (JobNetwork::draw().unwrap(), JobNetwork::draw().unwrap());
        assert!(one != other && one.key != other.key);
        let text = format!("{one:?}");
        assert!(text.contains('…') && !text.contains(&format!("{:?}", one.key)), "{text}");
        assert!(!text.contains(&one.key[0..2].iter().map(|byte| format!("{byte}, ")).collect::<String>()));
    }
}
