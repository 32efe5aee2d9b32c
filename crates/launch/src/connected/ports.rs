//! The ports of a job's ranks, with the ranks that wait there to accept a connection or to be connected.
//!
//! Owns the queues and their matching, in the order in which ranks came. Never sends anything, so tests need
//! no sockets.

use std::collections::{HashMap, VecDeque};

use canele_control::Meeting;

/// A rank that waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The rank, as this job numbers it.
    pub rank: u32,
    /// The ticket of its request.
    pub ticket: u64,
    /// The job of the rank, if it is another one.
    pub job: Option<u64>,
}

/// The answer for one caller of a port.
pub type PortAnswer = (Caller, Result<Meeting, String>);

/// The ports that are open.
#[derive(Debug, Default)]
pub struct Ports {
    open: HashMap<(u32, u32), Port>,
    calls: u64,
}

#[derive(Debug, Default)]
struct Port {
    connecting: VecDeque<Caller>,
    accepting: VecDeque<Caller>,
}

/// Returns the reason that callers at a port that is not open get.
fn closed() -> String {
    "that port is not open".to_owned()
}

impl Ports {
    /// Opens a port of a rank.
    ///
    /// # Errors
    /// Fails with a text that says, after `rank N `, which rule it broke.
    pub fn open(&mut self, owner: u32, number: u32) -> Result<(), String> {
        match self.open.insert((owner, number), Port::default()) {
            None => Ok(()),
            Some(_) => Err(format!("opened port {number} twice")),
        }
    }

    /// Closes a port of a rank; returns the answers for callers that wait there.
    ///
    /// # Errors
    /// Fails with a text that says, after `rank N `, which rule it broke.
    pub fn close(&mut self, owner: u32, number: u32) -> Result<Vec<PortAnswer>, String> {
        let Some(port) = self.open.remove(&(owner, number)) else {
            return Err(format!("closed port {number}, which it has not opened"));
        };
        Ok(port.refused().collect())
    }

    /// Adds a caller that accepts a connection at a port.
    pub fn accept(&mut self, port: (u32, u32), caller: Caller) -> Vec<PortAnswer> {
        self.wait(port, caller, |port| &mut port.accepting)
    }

    /// Adds a caller that asks to be connected at a port.
    pub fn connect(&mut self, port: (u32, u32), caller: Caller) -> Vec<PortAnswer> {
        self.wait(port, caller, |port| &mut port.connecting)
    }

    fn wait(
        &mut self,
        port: (u32, u32),
        caller: Caller,
        queue: impl Fn(&mut Port) -> &mut VecDeque<Caller>,
    ) -> Vec<PortAnswer> {
        let Some(port) = self.open.get_mut(&port) else { return vec![(caller, Err(closed()))] };
        queue(port).push_back(caller);
        if port.connecting.is_empty() || port.accepting.is_empty() {
            return Vec::new();
        }
        let both = port.connecting.pop_front().zip(port.accepting.pop_front());
        let (connecting, accepting) = both.expect("one waits on each side");
        self.calls += 1;
        let with = |rank| Ok(Meeting { with: rank, call: self.calls });
        vec![(accepting, with(connecting.rank)), (connecting, with(accepting.rank))]
    }

    /// Removes the callers that `which` selects.
    pub fn forget(&mut self, which: impl Fn(&Caller) -> bool) {
        for port in self.open.values_mut() {
            port.connecting.retain(|caller| !which(caller));
            port.accepting.retain(|caller| !which(caller));
        }
    }

    /// Closes the ports of a rank of this job that is gone. Returns the answers for callers that wait there.
    pub fn close_all_of(&mut self, owner: u32) -> Vec<PortAnswer> {
        let closed = self.open.extract_if(|(of, _), _| *of == owner);
        closed.flat_map(|(_, port)| port.refused()).collect()
    }
}

impl Port {
    fn refused(self) -> impl Iterator<Item = PortAnswer> {
        self.connecting.into_iter().chain(self.accepting).map(|caller| (caller, Err(closed())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(rank: u32) -> Caller {
        Caller { rank, ticket: u64::from(rank), job: None }
    }

    fn told(answers: &[PortAnswer]) -> Vec<(u32, Option<(u32, u64)>)> {
        let with = |result: &Result<Meeting, String>| result.as_ref().ok().map(|met| (met.with, met.call));
        answers.iter().map(|(caller, result)| (caller.rank, with(result))).collect()
    }

    #[test]
    fn callers_meet_in_their_order_at_their_port() {
        let mut ports = Ports::default();
        ports.open(0, 1).unwrap();
        ports.open(0, 2).unwrap();
        assert!(ports.open(0, 1).is_err());
        let other = Caller { job: Some(9), ..own(7) };
        assert_eq!(ports.connect((0, 1), other), []);
        assert_eq!(ports.connect((0, 1), own(3)), []);
        assert_eq!(ports.accept((0, 2), own(0)), []);
        // A rank that has not opened the port accepts there too.
        assert_eq!(told(&ports.accept((0, 1), own(5))), [(5, Some((7, 1))), (7, Some((5, 1)))]);
        assert_eq!(told(&ports.accept((0, 1), own(0))), [(0, Some((3, 2))), (3, Some((0, 2)))]);
    }

    #[test]
    fn who_waits_at_a_port_that_closes_is_refused() {
        let mut ports = Ports::default();
        assert_eq!(told(&ports.connect((0, 1), own(3))), [(3, None)]);
        ports.open(0, 1).unwrap();
        ports.open(0, 2).unwrap();
        ports.open(4, 1).unwrap();
        for rank in 1..4 {
            assert_eq!(ports.connect((0, 1), own(rank)), []);
        }
        ports.forget(|caller| caller.rank == 2);
        assert_eq!(told(&ports.close(0, 1).unwrap()), [(1, None), (3, None)]);
        assert!(ports.close(0, 1).is_err());
        assert_eq!(ports.accept((0, 2), own(6)), []);
        assert_eq!(told(&ports.close_all_of(0)), [(6, None)]);
        assert_eq!(told(&ports.connect((4, 1), own(3))), []);
    }
}
