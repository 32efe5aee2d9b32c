//! The limits between hosts: bare TCP connections (no delay) between rank 0 and the last rank, on the first
//! network that connects them. Both ends poll with non-blocking reads, like waiting ranks.
//!
//! The patterns are those of the workloads: request and answer, a stream with one answer, and windows of 64
//! messages.

use super::super::Failure;
use super::super::case::{Case, Limit, Task};
use super::super::workloads::WINDOW;
use super::Bare;
use super::wires::{Wire, connect};
use canele::{Flow, Job, Op, Rank};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

/// Bytes that one round of a limit moves in one direction, and the largest number of operations.
const MOVED_BYTES: usize = 1 << 24;
const OPERATIONS: usize = 2_000;
/// The longest message on one network; for longer ones the time is proportional to the length.
const LONG_BYTES: usize = 8 << 20;
/// Number of messages of a stream before its answer.
const STREAMED: u32 = 8;
/// The limit that every run measures: the smallest message with content.
const SMALL: Limit = Limit::Socket(8);

/// The part of one rank in these measurements.
pub struct Sockets {
    /// A separate flow, so that messages by which the ranks agree match no other message.
    flow: Flow,
    /// The connections of rank 0 and the last rank; the others have none.
    wires: Vec<Wire>,
    memory: Vec<u8>,
}

impl Sockets {
    /// Connects; all ranks of the job call it.
    ///
    /// # Errors
    /// Fails if the ranks are all on one host, or plain sockets do not connect their hosts.
    pub fn open(job: &Job) -> Result<Sockets, Failure> {
        if job.hosts() < 2 {
            return Err("all ranks are on one host: name two, as in --hosts h0:1,h1:1".into());
        }
        let flow = job.world().duplicate()?;
        let far = Rank(flow.size() - 1);
        let wires = if [Rank(0), far].contains(&flow.rank()) { connect(&flow, far)? } else { Vec::new() };
        Ok(Sockets { flow, wires, memory: Vec::new() })
    }

    /// Returns true if this rank sends the requests; the last one answers.
    fn asks(&self) -> bool {
        self.flow.rank().0 == 0
    }

    fn make_room(&mut self, bytes: usize) {
        self.memory.resize(self.memory.len().max(bytes).max(1), 1);
    }

    /// Measures half a round trip of `bytes`.
    fn ping_pong(&mut self, bytes: usize) -> Result<f64, Failure> {
        let (asks, count) = (self.asks(), operations(bytes));
        self.make_room(bytes);
        let Some(wire) = self.wires.first_mut() else { return Ok(0.0) };
        let (stream, memory) = (&mut wire.stream, &mut self.memory[..bytes.max(1)]);
        let begin = Instant::now();
        for _ in 0..count {
            if asks {
                write_all(stream, memory)?;
                read_exact(stream, memory)?;
            } else {
                read_exact(stream, memory)?;
                write_all(stream, memory)?;
            }
        }
        Ok(begin.elapsed().as_nanos() as f64 / f64::from(count) / 2.0)
    }

    /// Sends messages one way, each with its own write unless `at_once`, then one byte back. Returns
    /// nanoseconds per message.
    fn one_way(&mut self, wire: usize, bytes: usize, messages: u32, at_once: bool) -> Result<f64, Failure> {
        let (asks, count) = (self.asks(), operations(bytes * messages as usize));
        let each = bytes.max(1) * if at_once { messages as usize } else { 1 };
        self.make_room(each);
        let Some(wire) = self.wires.get_mut(wire) else { return Ok(0.0) };
        let (stream, memory) = (&mut wire.stream, &mut self.memory[..each]);
        let parts = if at_once { 1 } else { messages };
        let begin = Instant::now();
        for _ in 0..count {
            for _ in 0..parts {
                if asks {
                    write_all(stream, memory)?;
                } else {
                    read_exact(stream, memory)?;
                }
            }
            if asks {
                read_exact(stream, &mut [0])?;
            } else {
                write_all(stream, &[0])?;
            }
        }
        Ok(begin.elapsed().as_nanos() as f64 / f64::from(count) / f64::from(messages))
    }
}

impl Bare for Sockets {
    fn agree(&mut self, mine: u64) -> Result<u64, Failure> {
        let mut agreed = [0u64];
        self.flow.allreduce(&[if self.asks() { mine } else { 0 }], &mut agreed, Op::Max)?;
        Ok(agreed[0])
    }

    fn measure(&mut self, limit: Limit) -> Result<f64, Failure> {
        self.agree(0)?;
        match limit {
            Limit::Socket(bytes) => self.ping_pong(bytes),
            Limit::SocketStream(bytes) => self.one_way(0, bytes, STREAMED, false),
            Limit::SocketWindow(bytes) => self.one_way(0, bytes, WINDOW, true),
            Limit::Rail(rail, bytes) => {
                // The rest of a long message would travel at the same rate, and take minutes on slow
                // networks.
                let part = bytes.min(LONG_BYTES);
                Ok(self.one_way(rail, part, 1, false)? * bytes as f64 / part as f64)
            }
            _ => Err(format!("{limit} is not measured between hosts").into()),
        }
    }

    fn stir(&mut self) -> Result<(), Failure> {
        self.ping_pong(8).map(drop)
    }

    fn has(&self, limit: Limit) -> bool {
        match limit {
            Limit::Socket(_) | Limit::SocketStream(_) | Limit::SocketWindow(_) => true,
            Limit::Rail(rail, _) => rail < self.wires.len(),
            _ => false,
        }
    }

    fn usual(&self, _task: &Task, _cases: &[&Case]) -> Vec<Limit> {
        vec![SMALL]
    }

    fn rails(&self) -> Vec<String> {
        self.wires.iter().map(|wire| wire.rail.clone()).collect()
    }
}

fn operations(bytes: usize) -> u32 {
    (MOVED_BYTES / bytes.max(1)).clamp(2, OPERATIONS) as u32
}

/// Writes everything, and tries again at once while the kernel has no room.
fn write_all(stream: &mut TcpStream, mut bytes: &[u8]) -> Result<(), Failure> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(broken(&error)),
        }
    }
    Ok(())
}

/// Reads everything, and tries again at once while nothing has arrived.
fn read_exact(stream: &mut TcpStream, mut bytes: &mut [u8]) -> Result<(), Failure> {
    while !bytes.is_empty() {
        match stream.read(bytes) {
            Ok(0) => return Err("the other end of the plain socket is gone".into()),
            Ok(count) => bytes = &mut bytes[count..],
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(broken(&error)),
        }
    }
    Ok(())
}

fn broken(error: &std::io::Error) -> Failure {
    format!("the plain socket that is the limit broke: {error}").into()
}
