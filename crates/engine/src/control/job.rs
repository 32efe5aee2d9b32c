//! The job as its launcher describes it to every rank. Owns the description; decides nothing.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::messages::OnFailure;

/// The job as its launcher sees it; equal on all ranks but for `processors`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobInfo {
    /// Process id of the launcher, which also names the job for `canele info --job`.
    pub launcher: u32,
    /// Number of ranks.
    pub size: u32,
    /// The hosts; ranks are numbered through them in blocks. A job on one machine has one.
    pub hosts: Vec<Host>,
    /// Processors the ranks of this host may use together.
    pub processors: u32,
    /// What a failure does to the others.
    pub on_failure: OnFailure,
    /// What ranks of several hosts need to trust each other; `None` on one host.
    pub network: Option<Network>,
}

/// One host of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// As given on the command line; of a job started without, this machine's name.
    pub name: String,
    /// How many ranks it has, at least 1.
    pub ranks: u32,
}

impl Host {
    /// This machine, with `ranks` ranks.
    pub fn this(ranks: u32) -> Host {
        Host { name: rustix::system::uname().nodename().to_string_lossy().into_owned(), ranks }
    }
}

impl JobInfo {
    /// The index of the host that `rank` runs on; of a rank there is not, that of the last host.
    pub fn host_of(&self, rank: u32) -> usize {
        let mut first = 0_u32;
        let holds = |host: &Host| {
            first = first.saturating_add(host.ranks);
            rank < first
        };
        self.hosts.iter().position(holds).unwrap_or(self.hosts.len().saturating_sub(1))
    }

    /// The ranks of a host, by its index; none for a host there is not.
    pub fn ranks_of(&self, host: usize) -> std::ops::Range<u32> {
        let before = self.hosts.iter().take(host).map(|host| host.ranks).sum();
        before..before + self.hosts.get(host).map_or(0, |host| host.ranks)
    }
}

/// What the ranks of a job of several hosts know, and nobody else. Forgotten when dropped.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Tells jobs apart that use the same ports one after the other.
    pub job: u64,
    /// With which ranks prove to each other that they belong to the job.
    pub key: [u8; 32],
    /// The addresses of each rail of each host, on which its ranks listen. A rail has the same number on all hosts.
    pub rails: Vec<Vec<Vec<IpAddr>>>,
}

impl Network {
    /// A new job's, without rails.
    ///
    /// # Errors
    /// As getrandom(2).
    pub fn draw() -> rustix::io::Result<Network> {
        let (mut job, mut network) = ([0; 8], Network { job: 0, key: [0; 32], rails: Vec::new() });
        for bytes in [&mut job[..], &mut network.key[..]] {
            // Up to 256 bytes come whole.
            rustix::rand::getrandom(bytes, rustix::rand::GetRandomFlags::empty())?;
        }
        network.job = u64::from_ne_bytes(job);
        Ok(network)
    }
}

impl fmt::Debug for Network {
    /// Without the key: this text may end in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Network {{ job: {:#x}, key: … }}", self.job)
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.key.fill(0);
        // Or the compiler would see that nobody reads it again.
        std::hint::black_box(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(ranks: &[u32]) -> JobInfo {
        let host = |(index, &ranks)| Host { name: format!("h{index}"), ranks };
        JobInfo {
            launcher: 1,
            size: ranks.iter().sum(),
            hosts: ranks.iter().enumerate().map(host).collect(),
            processors: 1,
            on_failure: OnFailure::Stop,
            network: None,
        }
    }

    #[test]
    fn ranks_are_numbered_through_the_hosts() {
        let job = job(&[2, 1, 3]);
        assert_eq!([0, 1, 2, 3, 5, 6, u32::MAX].map(|rank| job.host_of(rank)), [0, 0, 1, 2, 2, 2, 2]);
        assert_eq!([0, 1, 2, 3].map(|host| job.ranks_of(host)), [0..2, 2..3, 3..6, 6..6]);
    }

    #[test]
    fn a_key_is_not_the_next_one_and_never_printed() {
        let (one, other) = (Network::draw().unwrap(), Network::draw().unwrap());
        assert!(one != other && one.key != other.key);
        let text = format!("{one:?}");
        assert!(text.contains('…') && !text.contains(&format!("{:?}", one.key)), "{text}");
        assert!(!text.contains(&one.key[0..2].iter().map(|byte| format!("{byte}, ")).collect::<String>()));
    }
}
