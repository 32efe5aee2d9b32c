//! The ticket that every rank needs to join its job. Rank 0 makes it, and the launcher that has started the
//! ranks carries it to the others. Owns its form as a word.

use std::fmt::{self, Write};
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

use canele_sys::namespace::network_namespace;
use zeroize::Zeroizing;

use super::messages::JoinTask;
use crate::{VERSION, draw_job_id};

/// The most addresses in a ticket: launchers carry only short values.
pub const MOST_ADDRESSES: usize = 8;

/// The job's number and key, and the addresses at which its launcher listens for agents.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The number.
    pub job: u64,
    /// The key that proves that a process is of the job. Overwritten when dropped.
    pub key: Zeroizing<[u8; 32]>,
    /// The network namespace of rank 0 and its launcher.
    pub namespace: Option<u64>,
    /// The addresses at which its launcher listens.
    pub addresses: Vec<SocketAddr>,
}

impl Ticket {
    /// Draws the ticket of a new job, without addresses.
    ///
    /// # Errors
    /// Fails as getrandom(2) does.
    pub fn draw() -> rustix::io::Result<Ticket> {
        let (job, namespace) = (draw_job_id()?, network_namespace());
        let mut ticket = Ticket { job, key: Zeroizing::default(), namespace, addresses: Vec::new() };
        rustix::rand::getrandom(&mut ticket.key[..], rustix::rand::GetRandomFlags::empty())?;
        Ok(ticket)
    }

    /// Returns the task of a launcher or agent for a job of `ranks` ranks, which must come within `timeout`.
    pub(super) fn begin(&self, ranks: u32, timeout: Duration) -> JoinTask {
        let Ticket { job, key, namespace, addresses } = self.clone();
        let program = std::env::current_exe().unwrap_or_else(|_| "program".into());
        let program = program.to_string_lossy().into_owned();
        let timeout_ms = timeout.as_millis() as u64;
        JoinTask { version: VERSION, job, key, ranks, timeout_ms, program, launcher: addresses, namespace }
    }
}

/// Formats it as a word without blanks, of less than 512 bytes.
impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}.", self.job)?;
        self.key.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        if let Some(namespace) = self.namespace {
            write!(f, ".{namespace:016x}")?;
        }
        for (index, address) in self.addresses.iter().take(MOST_ADDRESSES).enumerate() {
            f.write_char(if index == 0 { '/' } else { ',' })?;
            write!(f, "{address}")?;
        }
        Ok(())
    }
}

impl FromStr for Ticket {
    type Err = ();

    fn from_str(text: &str) -> Result<Ticket, ()> {
        let (proof, addresses) = text.split_once('/').unwrap_or((text, ""));
        let (job, rest) = proof.split_once('.').ok_or(())?;
        let (digits, namespace) = rest.split_once('.').map_or((rest, None), |(key, word)| (key, Some(word)));
        let namespace = namespace.map(|word| u64::from_str_radix(word, 16)).transpose().map_err(|_| ())?;
        let mut key = Zeroizing::new([0; 32]);
        if digits.len() != 2 * key.len() || !digits.is_ascii() {
            return Err(());
        }
        for (byte, at) in key.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| ())?;
        }
        let addresses = addresses.split(',').filter(|address| !address.is_empty()).map(str::parse);
        let addresses = addresses.collect::<Result<Vec<_>, _>>().map_err(|_| ())?;
        Ok(Ticket { job: u64::from_str_radix(job, 16).map_err(|_| ())?, key, namespace, addresses })
    }
}

impl fmt::Debug for Ticket {
    /// Formats it without the key: this text may end in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ticket { job, namespace, addresses, .. } = self;
        write!(f, "Ticket {{ job: {job:#x}, key: …, namespace: {namespace:x?}, addresses: {addresses:?} }}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_survives_as_a_word_that_every_launcher_carries() {
        let address = |host: &str| format!("{host}:65535").parse().unwrap();
        let longest = "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]";
        for addresses in
            [vec![], vec![address("10.0.0.1"), address("[::1]")], vec![address(longest); MOST_ADDRESSES]]
        {
            let mut ticket = Ticket { addresses, ..Ticket::draw().unwrap() };
            assert!(ticket.namespace.is_some());
            let word = ticket.to_string();
            assert_eq!(word.parse(), Ok(ticket.clone()));
            ticket.namespace = None;
            assert_eq!(ticket.to_string().parse(), Ok(ticket.clone()));
            assert!(word.len() < 512 && !word.contains([' ', '=', ';', '\n']), "{word}");
            assert!(!format!("{ticket:?}").contains(&word[20..50]));
        }
    }

    #[test]
    fn nonsense_is_no_ticket() {
        let good = Ticket::draw().unwrap().to_string();
        for word in ["", ".", "x", &good[1..], &good[..40], &format!("{good}/here"), &good.replace('.', "é")]
        {
            if word == &good[1..] {
                // This change leaves the number a valid one with fewer digits.
                assert!(word.parse::<Ticket>().is_ok());
                continue;
            }
            assert_eq!(word.parse::<Ticket>(), Err(()), "{word}");
        }
    }
}
