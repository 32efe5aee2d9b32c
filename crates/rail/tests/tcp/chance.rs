//! Three ranks and some strangers take random steps: connect, give up, send, fall silent, by a clock that the
//! seed sets. In every case packets belong to their connection, and in the end every rank is reached.

use std::collections::HashMap;
use std::io::Write;
use std::net::TcpStream;

use canele_rail::Network;
use canele_rail::tcp::handshake::{Credentials, Handshake};
use canele_rail::tcp::{Tcp, TcpLimits};
use canele_rail::{FastPath, Header, Rail, Recoverable};
use canele_sim::world::Random;
use canele_sys::ids::{LinkId, Rank};

use super::{LOCALHOST, RAIL, credentials, member, small, until};

const RANKS: u32 = 3;
const SEEDS: u64 = 300;
const STEPS: usize = 400;
/// A year.
const JUMP_NS: usize = 365 * 86_400_000_000_000;

/// A rank, and its record of links: the generation, and the numbers of packets sent and received.
struct End {
    rail: Tcp,
    links: HashMap<Rank, (u32, u32, u32)>,
    made: u64,
    now_ns: u64,
}

impl End {
    fn link(peer: Rank) -> LinkId {
        LinkId::new(RAIL, peer)
    }

    fn peers(&self) -> impl Iterator<Item = Rank> + use<> {
        let me = self.rail.me();
        (0..RANKS).map(Rank).filter(move |peer| *peer != me)
    }

    /// Returns the counts of the link to a peer, which start anew with each connection.
    fn seen(&mut self, peer: Rank) -> Option<&mut (u32, u32, u32)> {
        self.rail.link(peer)?;
        let generation = self.rail.generation(Self::link(peer));
        let seen = self.links.entry(peer).or_default();
        assert!(generation >= seen.0 && generation > 0, "{generation} after {}", seen.0);
        if generation > seen.0 {
            *seen = (generation, 0, 0);
            self.made += 1;
        }
        Some(seen)
    }

    fn meet(&mut self) {
        self.rail.begin_pass();
        self.rail.progress_connections(self.now_ns);
        // Connections that show the key have places of their own.
        assert!(self.rail.unproven().0 <= 17 * small().unproven);
        while self.rail.take_failure().is_some() {}
    }

    fn send(&mut self, peer: Rank) {
        let Some((generation, sent, _)) = self.seen(peer).copied() else { return };
        self.rail.begin_pass();
        let header = Header { flow: generation, tag: sent, ..Header::default() };
        let posted = self.rail.post(Self::link(peer), header, &[]).is_ok();
        self.seen(peer).expect("it is there").1 += u32::from(posted);
    }

    fn receive(&mut self, peer: Rank) {
        while self.seen(peer).is_some() {
            let Some(packet) = self.rail.poll(Self::link(peer)).unwrap() else { break };
            let header = packet.header;
            self.rail.release(Self::link(peer));
            let (generation, _, received) = self.seen(peer).expect("it is there");
            assert_eq!((header.flow, header.tag), (*generation, *received), "of this connection, each once");
            *received += 1;
        }
        self.rail.flush();
    }

    /// Closes lost links, after their last packets.
    fn close_link(&mut self) {
        while let Some(lost) = self.rail.take_lost() {
            self.receive(lost.link.peer());
            drop(self.rail.close_link(lost.link));
        }
    }
}

/// Connects a stranger that knows the key or does not, and sends a whole message or a part of it to a rank.
fn stranger(to: &Tcp, random: &mut Random) -> TcpStream {
    let me = member(random.below(5) as u32, RANKS);
    let key = if random.chance(50) { me.key } else { [9; 32] };
    let rail = [RAIL, 0][random.below(2)];
    let credentials = Credentials { key, ..credentials(me, rail) };
    let handshake =
        Handshake::initiate(&credentials, to.me(), random.below(9) as u32, [random.below(256) as u8; 32]);
    let mut words = handshake.to_send().to_vec();
    words.extend((0..random.below(90)).map(|_| random.next_u64() as u8));
    if random.chance(30) {
        let at = random.below(words.len());
        words[at] = random.next_u64() as u8;
    }
    let mut stream = TcpStream::connect(to.addresses()[0]).unwrap();
    // The rank may have closed the connection by now.
    let _ = stream.write_all(&words[..random.below(words.len())]);
    stream
}

fn step(ends: &mut [End], strangers: &mut Vec<TcpStream>, random: &mut Random) {
    let at = random.below(ends.len());
    let address = &ends[random.below(ends.len())].rail;
    match random.below(12) {
        0 if strangers.len() < 8 => strangers.push(stranger(address, random)),
        1 if !strangers.is_empty() => drop(strangers.swap_remove(random.below(strangers.len()))),
        _ => {}
    }
    let end = &mut ends[at];
    let peers: Vec<_> = end.peers().collect();
    let peer = peers[random.below(peers.len())];
    match random.below(20) {
        0 => end.rail.connect(peer),
        1 if random.chance(30) => end.rail.disconnect(End::link(peer)),
        2 if random.chance(30) => drop(end.rail.close_link(End::link(peer))),
        3 => drop(end.rail.arm()),
        4 => end.now_ns = random.below(JUMP_NS) as u64,
        5..9 => end.send(peer),
        9..13 => end.receive(peer),
        13..15 => end.close_link(),
        _ => {
            end.now_ns += random.below(100_000_000) as u64;
            end.meet();
        }
    }
}

#[test]
fn whatever_ranks_and_strangers_do_every_rank_is_reached_in_the_end() {
    let mut made = 0;
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let limits = TcpLimits { connect_timeout_ns: 1_000_000_000, ..small() };
        let open = |me| Tcp::listen(RAIL, member(me, RANKS), &[LOCALHOST], limits).unwrap();
        let mut ends: Vec<_> =
            (0..RANKS).map(|me| End { rail: open(me), links: HashMap::new(), made: 0, now_ns: 0 }).collect();
        let addresses: Vec<_> = ends.iter().map(|end| end.rail.own_address()).collect();
        for end in &mut ends {
            end.peers().for_each(|peer| assert!(end.rail.introduce(peer, &addresses[peer.0 as usize])));
        }
        let mut strangers = Vec::new();
        for _ in 0..STEPS {
            step(&mut ends, &mut strangers, &mut random);
        }
        drop(strangers);
        until(|| {
            for end in &mut ends {
                end.now_ns += 1_000_000;
                end.close_link();
                end.meet();
                for peer in end.peers() {
                    end.rail.connect(peer);
                    end.send(peer);
                    end.receive(peer);
                }
            }
            let is_reached = |end: &End, peer| {
                end.rail.link(peer).is_some()
                    && end.links.get(&peer).is_some_and(|(_, _, received)| *received > 0)
            };
            ends.iter().all(|end| end.peers().all(|peer| is_reached(end, peer)))
        });
        made += ends.iter().map(|end| end.made).sum::<u64>();
    }
    // Each run makes six ends of links at its end.
    assert!(made > 10 * SEEDS, "{made}");
}
