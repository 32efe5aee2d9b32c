//! The launcher's standard input, passed on to the ranks that get it (usually rank 0), if they cannot inherit
//! it.
//!
//! Ranks of this machine are in the background of the terminal, which would stop them for reading it. Ranks
//! of another host have no terminal. So the launcher reads the input and passes it on, never more than each
//! host has room for. A single rank on this machine inherits any other input, so that the launcher reads
//! nothing ahead.

use std::os::fd::OwnedFd;
use std::str::FromStr;
use std::time::{Duration, Instant};

use canele_control::JobInfo;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::events::{Events, Ready, Source};
use super::host_ranks::FEED_ROOM;

/// The interval at which a launcher in the background checks if it has come to the foreground.
const LOOK_AGAIN: Duration = Duration::from_millis(300);

/// The ranks that get the launcher's standard input; the others find theirs empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum InputTo {
    /// No rank.
    None,
    /// All ranks get the same.
    All,
    /// These ranks, as series from a first to a last one.
    Ranks(Vec<(u32, u32)>),
}

/// The default is rank 0.
impl Default for InputTo {
    fn default() -> InputTo {
        InputTo::Ranks(vec![(0, 0)])
    }
}

impl FromStr for InputTo {
    type Err = String;

    fn from_str(text: &str) -> Result<InputTo, String> {
        let rank = |word: &str| {
            let wrong = |_| format!("`{text}` is neither all, none nor a list of ranks as 0 or 1,4-6");
            word.trim().parse::<u32>().map_err(wrong)
        };
        match text {
            "none" => return Ok(InputTo::None),
            "all" => return Ok(InputTo::All),
            _ => {}
        }
        let series = text.split(',').map(|word| {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            let (first, last) = (rank(first)?, rank(last)?);
            if first <= last { Ok((first, last)) } else { Err(format!("`{word}` goes backwards")) }
        });
        series.collect::<Result<_, _>>().map(InputTo::Ranks)
    }
}

impl InputTo {
    /// Returns true if a rank that is started with the job gets standard input.
    pub fn has(&self, rank: u32) -> bool {
        match self {
            InputTo::None => false,
            InputTo::All => true,
            InputTo::Ranks(series) => series.iter().any(|(first, last)| (first..=last).contains(&&rank)),
        }
    }

    /// Returns the rank that alone gets standard input.
    pub fn single(&self) -> Option<u32> {
        match self {
            InputTo::Ranks(series) => match series[..] {
                [(first, last)] if first == last => Some(first),
                _ => None,
            },
            _ => None,
        }
    }

    /// Refuses ranks that a job of `size` ranks does not have.
    ///
    /// # Errors
    /// Fails with a text that names one.
    pub fn check(&self, size: u32) -> Result<(), String> {
        let InputTo::Ranks(series) = self else { return Ok(()) };
        match series.iter().find(|(_, last)| *last >= size) {
            Some((_, last)) => Err(format!("--stdin: there is no rank {last}, ranks are 0 to {}", size - 1)),
            None => Ok(()),
        }
    }
}

/// The launcher's standard input, while it is passed on.
#[derive(Debug)]
pub struct Input {
    terminal: bool,
    /// The number of ranks that get the input and have not started.
    to_start: u32,
    sent: u64,
    /// The hosts whose ranks take it, with the bytes that they took.
    hosts: Vec<(usize, u64)>,
    /// The time of the next check; `None` before the start, while it is watched, and without room.
    look_at: Option<Instant>,
}

/// Returns the input that the one rank of this machine that gets it can inherit; none if it must be fed.
///
/// # Errors
/// Fails as dup(2) does.
pub fn inherited(to: &InputTo) -> std::io::Result<Option<OwnedFd>> {
    let own = rustix::stdio::stdin();
    let is_fed = rustix::termios::isatty(own) || to.single().is_none();
    if is_fed { Ok(None) } else { own.try_clone_to_owned().map(Some) }
}

impl Input {
    /// Returns the input to be passed on to those ranks of the job that get it, once they are started.
    pub fn new(to: &InputTo, info: &JobInfo) -> Input {
        let terminal = rustix::termios::isatty(rustix::stdio::stdin());
        let ranks: Vec<u32> = (0..info.size).filter(|rank| to.has(*rank)).collect();
        let mut hosts: Vec<(usize, u64)> = ranks.iter().map(|rank| (info.host_of(*rank), 0)).collect();
        hosts.dedup();
        Input { terminal, to_start: ranks.len() as u32, sent: 0, hosts, look_at: None }
    }

    /// Notes that one of the ranks that get the input has started.
    pub fn rank_started(&mut self) {
        self.to_start = self.to_start.saturating_sub(1);
        if self.to_start == 0 && !self.hosts.is_empty() {
            self.look_at = Some(Instant::now());
        }
    }

    /// Returns the hosts whose ranks take the input.
    pub fn hosts(&self) -> Vec<usize> {
        self.hosts.iter().map(|(host, _)| *host).collect()
    }

    /// Removes a host whose ranks take no more. Returns true if any other host takes some.
    pub fn remove_host(&mut self, host: usize) -> bool {
        let room = self.room();
        self.hosts.retain(|(other, _)| *other != host);
        self.look_with_more_than(room);
        !self.hosts.is_empty()
    }

    /// Returns the number of bytes that can be sent to the host that has taken the least.
    fn room(&self) -> usize {
        let least = self.hosts.iter().map(|(_, taken)| *taken).min();
        FEED_ROOM.saturating_sub(least.map_or(0, |taken| self.sent - taken) as usize)
    }

    /// Resumes reading if there was no room before and there is some now.
    fn look_with_more_than(&mut self, room: usize) {
        if room == 0 && self.room() > 0 {
            self.look_at = Some(Instant::now());
        }
    }

    /// Returns the next time at which [`look`](Self::look) has work.
    pub fn deadline(&self) -> Option<Instant> {
        self.look_at
    }

    /// Notes that all ranks of a host that get the input have taken these bytes.
    pub fn give_room(&mut self, host: usize, bytes: u32) {
        let (room, sent) = (self.room(), self.sent);
        if let Some((_, taken)) = self.hosts.iter_mut().find(|(other, _)| *other == host) {
            *taken = (*taken + u64::from(bytes)).min(sent);
        }
        self.look_with_more_than(room);
    }

    /// Watches the input if the launcher is in the foreground; a file is read at once. Returns bytes to pass
    /// on, none at the end.
    pub fn look(&mut self, now: Instant, events: &Events) -> Option<Vec<u8>> {
        if self.look_at.is_none_or(|at| now < at) {
            return None;
        }
        if self.is_in_background() {
            self.look_at = Some(now + LOOK_AGAIN);
            return None;
        }
        self.look_at = None;
        match events.add(rustix::stdio::stdin(), Source::Input, Ready::IN) {
            Ok(()) => None,
            // Standard input is a file, which is always readable.
            Err(_) => self.read(events),
        }
    }

    /// Reads the input, which is ready. Returns bytes to pass on, none at the end.
    pub fn read(&mut self, events: &Events) -> Option<Vec<u8>> {
        self.close(events);
        if self.is_in_background() {
            // Reading now would stop the launcher.
            self.look_at = Some(Instant::now() + LOOK_AGAIN);
            return None;
        }
        let mut bytes = vec![0; self.room().min(16 * 1024)];
        let count = match rustix::io::read(rustix::stdio::stdin(), &mut bytes) {
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => {
                self.look_at = Some(Instant::now());
                return None;
            }
            Err(_) => 0,
        };
        bytes.truncate(count);
        self.sent += count as u64;
        self.look_at = (self.room() > 0 && count > 0).then(Instant::now);
        Some(bytes)
    }

    fn is_in_background(&self) -> bool {
        let group = rustix::termios::tcgetpgrp(rustix::stdio::stdin());
        self.terminal && !group.is_ok_and(|group| group == rustix::process::getpgrp())
    }

    /// Stops watching the input.
    pub fn close(&self, events: &Events) {
        events.remove(rustix::stdio::stdin());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_get_input_are_named() {
        let to = |text: &str| text.parse::<InputTo>();
        assert_eq!(to("0"), Ok(InputTo::default()));
        assert_eq!(to("1,4-6"), Ok(InputTo::Ranks(vec![(1, 1), (4, 6)])));
        assert!(to("1,4-6").unwrap().has(5) && !to("1,4-6").unwrap().has(2));
        assert_eq!((to("3").unwrap().single(), to("all").unwrap().single()), (Some(3), None));
        assert!(to("1-3").unwrap().check(3).unwrap_err().contains("no rank 3"));
        assert_eq!(to("all").unwrap().check(1), Ok(()));
        for wrong in ["", "x", "1-", "3-1", "-1"] {
            assert!(to(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn there_is_room_for_what_the_slowest_host_took() {
        let mut input = Input {
            terminal: false,
            to_start: 2,
            sent: FEED_ROOM as u64,
            hosts: vec![(0, 0), (3, 0)],
            look_at: None,
        };
        input.give_room(0, 100);
        assert_eq!((input.room(), input.deadline()), (0, None));
        input.give_room(3, 40);
        assert_eq!(input.room(), 40);
        assert!(input.deadline().is_some() && input.remove_host(3));
        assert_eq!((input.room(), input.hosts()), (100, vec![0]));
        assert!(!input.remove_host(0));
    }
}
