//! The TCP rail beside bare sockets over loopback, two threads that never sleep: one-way time of 8 bytes, the rate of
//! 8-byte messages in windows of 64 that travel together and are answered by one, and long transfers out of and into
//! the user's memory. Rounds take turns; medians are of the rounds, the ratio is of paired ones. Run:
//! `cargo run --release -p canele-rail --example tcp_pingpong [rounds]`.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Instant;

use canele_mem::buffer::{InBuffer, OutBuffer, Owned};
use canele_rail::tcp::{Tcp, TcpLimits};
use canele_rail::{Class, FastPath, Header, MAX_INLINE, Rail};
use canele_rail::{Member, Network};
use canele_sys::ids::{LinkId, Rank};

/// Largest bulk that a rail copies into its own memory; a larger one is sent from the user's memory.
const COPIED: usize = 4096;
const LONG: usize = 4 << 20;

/// One end of either kind of connection.
trait End: Send {
    /// Sends so many bytes.
    fn send(&mut self, len: usize);
    /// Receives so many bytes.
    fn receive(&mut self, len: usize);
}

struct Bare(TcpStream, Vec<u8>);

/// Repeats a call until `len` bytes have passed.
fn pass(len: usize, mut call: impl FnMut(usize) -> std::io::Result<usize>) {
    let mut passed = 0;
    while passed < len {
        match call(passed) {
            Ok(0) => panic!("the other end has gone"),
            Ok(bytes) => passed += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("{error}"),
        }
    }
}

impl End for Bare {
    fn send(&mut self, len: usize) {
        pass(len, |at| self.0.write(&self.1[at..len]));
    }

    fn receive(&mut self, len: usize) {
        pass(len, |at| self.0.read(&mut self.1[at..len]));
    }
}

struct OnRail {
    rail: Tcp,
    link: LinkId,
    out: OutBuffer,
    into: InBuffer,
}

impl OnRail {
    fn new(rail: Tcp, peer: u32) -> Self {
        let link = rail.link(Rank(peer)).expect("a link was made");
        let [out, into] = [(); 2].map(|()| Owned::new(vec![7u8; LONG]));
        // Memory that is lent when its owner goes is never freed.
        let (mut out, mut into) = (out, into);
        Self { rail, link, out: out.lend_out(), into: into.lend_in() }
    }
}

impl End for OnRail {
    fn send(&mut self, len: usize) {
        let Self { rail, link, out, .. } = self;
        let header = Header { inline_len: 8, ..Header::default() };
        if len <= MAX_INLINE {
            rail.begin_pass();
            return rail.post(*link, header, &[7; 8]).expect("a link without traffic has room");
        }
        let most = if len <= COPIED { COPIED } else { rail.caps(*link).max_bulk };
        let mut sent = 0;
        while sent < len {
            rail.begin_pass();
            let piece = most.min(len - sent);
            let done = if len > COPIED {
                rail.lend(*link, header, &[7; 8], || out.share(sent, piece), piece)
            } else {
                let slot = rail.claim(*link, piece, Class::Message);
                let filled = slot.map(|slot| slot.bulk.write(0, &[7; COPIED][..piece]));
                filled.map(|()| rail.commit(*link, header))
            };
            match done {
                Ok(()) => sent += piece,
                Err(_) => assert!(rail.poll(*link).expect("an honest peer").is_none()),
            }
            rail.flush();
        }
    }

    fn receive(&mut self, len: usize) {
        let Self { rail, link, into, .. } = self;
        let (mut have, mut bytes) = (0, [0; COPIED]);
        while have < len {
            rail.begin_pass();
            while let Some(packet) = rail.poll(*link).expect("an honest peer") {
                have += match (packet.direct_bytes, packet.bulk.len()) {
                    (0, 0) => {
                        packet.inline.read(0, &mut bytes[..8]);
                        8
                    }
                    (0, bulk) => {
                        if bulk <= COPIED {
                            packet.bulk.read(0, &mut bytes[..bulk]);
                        } else {
                            into.copy_from(have, packet.bulk);
                        }
                        bulk
                    }
                    (direct_bytes, _) => direct_bytes,
                };
                std::hint::black_box(bytes);
                rail.release(*link);
            }
            if let Some((_, bulk)) = rail.peek_bulk(*link) {
                rail.direct_receive(*link, into.share(have, bulk));
            }
            rail.flush();
        }
    }
}

fn bare() -> std::io::Result<[Bare; 2]> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let streams = [TcpStream::connect(listener.local_addr()?)?, listener.accept()?.0];
    for stream in &streams {
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
    }
    Ok(streams.map(|stream| Bare(stream, vec![7; LONG])))
}

fn rails() -> Result<[OnRail; 2], Box<dyn Error>> {
    let open = |me| {
        let member = Member { me: Rank(me), ranks: 2, job: 1, key: [1; 32] };
        Tcp::listen(0, member, &[Ipv4Addr::LOCALHOST.into()], TcpLimits::default())
    };
    let (mut a, mut b) = (open(0)?, open(1)?);
    a.introduce(Rank(1), &b.own_address());
    a.connect(Rank(1));
    let start = Instant::now();
    while a.link(Rank(1)).is_none() {
        let now_ns = start.elapsed().as_nanos() as u64;
        b.progress_connections(now_ns);
        a.progress_connections(now_ns);
        if let Some(lost) = a.take_failure() {
            return Err(lost.into());
        }
    }
    Ok([OnRail::new(a, 1), OnRail::new(b, 0)])
}

/// `turns` times `there` bytes one way and 8 back; nanoseconds for each turn.
fn round([a, b]: &mut [impl End; 2], turns: u32, there: usize) -> f64 {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..turns {
                b.receive(there);
                b.send(8);
            }
        });
        let start = Instant::now();
        for _ in 0..turns {
            a.send(there);
            a.receive(8);
        }
        start.elapsed().as_nanos() as f64 / f64::from(turns)
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A measurement: its name and unit, its repetitions per round, its bytes, and the conversion of a turn's
/// nanoseconds.
type Row = (&'static str, &'static str, u32, usize, fn(f64) -> f64);

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(31), |n| n.parse::<usize>())?.max(1);
    let (mut bare, mut rails) = (bare()?, rails()?);
    let rows: [Row; 3] = [
        ("8 bytes, one way", "ns", 1000, 8, |ns| ns / 2.0),
        ("8 bytes, windows of 64", "M/s", 500, 8 * 64, |ns| 64e3 / ns),
        ("4 MB", "GB/s", 10, LONG, |ns| LONG as f64 / ns),
    ];
    for (what, unit, turns, there, value) in rows {
        let mut measure = || [round(&mut bare, turns, there), round(&mut rails, turns, there)].map(value);
        measure();
        let values: Vec<_> = (0..rounds).map(|_| measure()).collect();
        let [bare, rail] = [0, 1].map(|side| median(values.iter().map(|round| round[side]).collect()));
        let ratio = median(values.iter().map(|round| round[1] / round[0]).collect());
        println!("{what:24} bare {bare:8.1} {unit}   rail {rail:8.1} {unit}   ratio {ratio:.2}");
    }
    Ok(())
}
