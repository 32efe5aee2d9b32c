//! What the ranks of a job of several hosts need to find and trust each other. Owns the key; opens no socket.

use std::fmt;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// What the ranks of a job of several hosts know, and no other process does.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobNetwork {
    /// Tells jobs apart that use the same ports one after the other.
    pub job: u64,
    /// With which ranks prove to each other that they belong to the job. Overwritten when dropped.
    pub key: Zeroizing<[u8; 32]>,
    /// The ports of each rail of each host, which its ranks open, in words of the rail's driver. A rail has the same number on all hosts.
    pub rails: Vec<Vec<Vec<String>>>,
}

impl JobNetwork {
    /// A new job's, without rails.
    ///
    /// # Errors
    /// As getrandom(2).
    pub fn draw() -> rustix::io::Result<JobNetwork> {
        let (mut job, mut network) =
            ([0; 8], JobNetwork { job: 0, key: Zeroizing::default(), rails: Vec::new() });
        for bytes in [&mut job[..], &mut network.key[..]] {
            // Up to 256 bytes come whole.
            rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty())?;
        }
        network.job = u64::from_ne_bytes(job);
        Ok(network)
    }

    /// That of two jobs, which have told each other what they have drawn for it: a key to which both have contributed, and these rails.
    pub fn shared(&self, theirs: &JobNetwork, rails: Vec<Vec<Vec<String>>>) -> JobNetwork {
        let mut shared = JobNetwork { rails, ..self.clone() };
        shared.key.iter_mut().zip(theirs.key.iter()).for_each(|(byte, other)| *byte ^= other);
        shared
    }
}

impl fmt::Debug for JobNetwork {
    /// Without the key: this text may end in a log.
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
