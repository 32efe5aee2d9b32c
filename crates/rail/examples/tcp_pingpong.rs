//! The TCP rail beside bare sockets over loopback, two threads that never sleep: one-way time of 8 bytes, and the rate of
//! 8-byte packets in windows of 64, each answered by one packet. The bare side of the rate sends a window's bytes in one
//! write. Rounds take turns; medians are of the rounds, the ratio is of paired ones. Run:
//! `cargo run --release -p canele-rail --example tcp_pingpong [rounds]`.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Instant;

use canele_rail::tcp::{Limits, Member, Tcp};
use canele_rail::{Header, Rail};
use canele_sys::ids::{LinkId, Rank};

const TURNS: u32 = 1_000;
const WINDOW: usize = 64;
const WINDOWS: u32 = 500;

/// One end of either kind of connection.
trait End: Send {
    /// Sends `count` times 8 bytes.
    fn send(&mut self, count: usize);
    /// Receives `count` times 8 bytes.
    fn receive(&mut self, count: usize);
}

struct Bare(TcpStream);

impl End for Bare {
    fn send(&mut self, count: usize) {
        self.0.write_all(&[7; 8 * WINDOW][..8 * count]).expect("room for a few bytes");
    }

    fn receive(&mut self, count: usize) {
        let (mut bytes, mut have) = ([0; 8 * WINDOW], 0);
        while have < 8 * count {
            match self.0.read(&mut bytes[have..8 * count]) {
                Ok(0) => panic!("the other end has gone"),
                Ok(read) => have += read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

struct OnRail(Tcp, LinkId);

impl End for OnRail {
    fn send(&mut self, count: usize) {
        for n in 0..count {
            let header = Header { inline_len: 8, tag: n as u32, ..Header::default() };
            self.0.post(self.1, header, &[7; 8]).expect("a window has room");
        }
        self.0.flush();
    }

    fn receive(&mut self, count: usize) {
        let mut have = 0;
        while have < count {
            while let Some(packet) = self.0.poll(self.1).expect("an honest peer") {
                let mut bytes = [0; 8];
                packet.inline.read(0, &mut bytes);
                std::hint::black_box(bytes);
                self.0.release(self.1);
                have += 1;
            }
            self.0.flush();
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
    Ok(streams.map(Bare))
}

fn rails() -> Result<[OnRail; 2], Box<dyn Error>> {
    let open = |me| {
        let member = Member { me: Rank(me), ranks: 2, job: 1, key: [1; 32] };
        Tcp::open(member, &[Ipv4Addr::LOCALHOST.into()], Limits::default())
    };
    let (mut a, mut b) = (open(0)?, open(1)?);
    a.introduce(Rank(1), b.addresses().to_vec());
    a.open_link(Rank(1));
    let start = Instant::now();
    while a.link(Rank(1)).is_none() {
        let now_ns = start.elapsed().as_nanos() as u64;
        b.meet(now_ns);
        a.meet(now_ns);
        if let Some(lost) = a.take_lost() {
            return Err(lost.into());
        }
    }
    Ok([OnRail(a, LinkId::new(0, Rank(1))), OnRail(b, LinkId::new(0, Rank(0)))])
}

/// `turns` times `there` items one way and one back; nanoseconds for each turn.
fn round([a, b]: &mut [impl End; 2], turns: u32, there: usize) -> f64 {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..turns {
                b.receive(there);
                b.send(1);
            }
        });
        let start = Instant::now();
        for _ in 0..turns {
            a.send(there);
            a.receive(1);
        }
        start.elapsed().as_nanos() as f64 / f64::from(turns)
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(31), |n| n.parse::<usize>())?.max(1);
    let (mut bare, mut rails) = (bare()?, rails()?);
    round(&mut bare, TURNS, 1);
    round(&mut rails, TURNS, 1);
    let (mut latency, mut rate) = (vec![], vec![]);
    for _ in 0..rounds {
        latency.push([round(&mut bare, TURNS, 1), round(&mut rails, TURNS, 1)].map(|ns| ns / 2.0));
        let turn = [round(&mut bare, WINDOWS, WINDOW), round(&mut rails, WINDOWS, WINDOW)];
        rate.push(turn.map(|ns| WINDOW as f64 * 1e3 / ns));
    }
    for (what, unit, rounds) in [("8 bytes, one way", "ns", latency), ("8 bytes, windows of 64", "M/s", rate)]
    {
        let [bare, rail] = [0, 1].map(|side| median(rounds.iter().map(|round| round[side]).collect()));
        let ratio = median(rounds.iter().map(|round| round[1] / round[0]).collect());
        println!("{what:24} bare {bare:8.1} {unit}   rail {rail:8.1} {unit}   ratio {ratio:.2}");
    }
    Ok(())
}
