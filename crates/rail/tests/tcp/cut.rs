//! A connection that breaks at any byte loses no packet and doubles none. Its state decides what the next
//! connection sends again.

use std::collections::{BTreeMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use canele_mem::buffer::{InBuffer, Owned};
use canele_rail::Network;
use canele_rail::tcp::Tcp;
use canele_rail::tcp::encode_address;
use canele_rail::{Bulk, Class, FastPath, Header, Rail, Recoverable, Unacked, UnackedPacket};
use canele_sys::ids::{LinkId, Rank};
use rustix::net::sockopt::set_socket_linger;

use super::{LOCALHOST, RAIL, open};

const PACKETS: u32 = 7;
const BULK: [usize; PACKETS as usize] = [0, 30, 200, 0, 256, 1, 100];

/// Carries connections to an address, and cuts the first of them after some bytes one way.
struct Proxy {
    listener: TcpListener,
    to: SocketAddr,
    /// Pairs of streams, each with the bytes read from it and not yet written to the other.
    connections: Vec<[(TcpStream, Vec<u8>); 2]>,
    cut: Option<Cut>,
    /// Counts the bytes that were read from each side.
    carried: [usize; 2],
}

#[derive(Clone, Copy)]
struct Cut {
    way: usize,
    after: usize,
    resets: bool,
}

impl Proxy {
    fn new(to: SocketAddr, cut: Option<Cut>) -> Self {
        let listener = TcpListener::bind((LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self { listener, to, connections: vec![], cut, carried: [0; 2] }
    }

    fn step(&mut self) {
        if let Ok((near, _)) = self.listener.accept() {
            let pair = [near, TcpStream::connect(self.to).unwrap()];
            for stream in &pair {
                stream.set_nonblocking(true).unwrap();
                stream.set_nodelay(true).unwrap();
            }
            self.connections.push(pair.map(|stream| (stream, vec![])));
        }
        let Self { connections, cut, carried, .. } = self;
        connections.retain_mut(|pair| (0..2).all(|way| carry(pair, way, carried, cut)));
    }
}

/// Carries bytes of one pair; returns false if the connection is over.
fn carry(
    pair: &mut [(TcpStream, Vec<u8>); 2],
    way: usize,
    carried: &mut [usize; 2],
    cut: &mut Option<Cut>,
) -> bool {
    let mut bytes = [0; 512];
    let here = cut.filter(|cut| cut.way == way);
    let left = here.map_or(bytes.len(), |cut| (cut.after - carried[way]).min(bytes.len()));
    let (stream, waiting) = &mut pair[way];
    if left > 0 {
        match stream.read(&mut bytes[..left]) {
            Ok(0) => return false,
            Ok(read) => {
                carried[way] += read;
                waiting.extend(&bytes[..read]);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return false,
        }
    }
    let waiting = std::mem::take(waiting);
    let mut rest = &waiting[..];
    while !rest.is_empty() {
        match pair[1 - way].0.write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(_) => return false,
        }
    }
    pair[way].1 = rest.to_vec();
    if let Some(here) = here
        && carried[way] == here.after
        && pair[way].1.is_empty()
    {
        *cut = None;
        if here.resets {
            pair.iter().for_each(|(stream, _)| set_socket_linger(stream, Some(Default::default())).unwrap());
        }
        return false;
    }
    true
}

/// A rank that sends some packets and receives as many.
struct End {
    rail: Tcp,
    link: LinkId,
    /// Packets still to be sent, oldest first.
    unsent: VecDeque<UnackedPacket>,
    /// The lent memory of packets, which is returned when they are acknowledged.
    lent: Vec<(Owned<u8>, canele_mem::buffer::OutBuffer)>,
    direct: Option<(Owned<u8>, InBuffer)>,
    received: u32,
    unacked: BTreeMap<u32, Unacked>,
    /// Counts packets that were to be sent again.
    again: usize,
}

fn content(tag: u32) -> Vec<u8> {
    (0..BULK[tag as usize]).map(|n| (n as u32 * 7 + tag) as u8).collect()
}

impl End {
    fn new(me: u32) -> Self {
        let mut lent = vec![];
        let packet = |tag: u32| {
            let bulk = if tag.is_multiple_of(2) && BULK[tag as usize] > 0 {
                let mut owned = Owned::new(content(tag));
                let mut token = owned.lend_out();
                let share = token.share(0, BULK[tag as usize]);
                lent.push((owned, token));
                Bulk::Lent(share)
            } else {
                Bulk::Copied(content(tag).into())
            };
            let header = Header { tag, inline_len: 4, ..Header::default() };
            UnackedPacket { number: 0, header, beside: tag.to_le_bytes().into(), bulk }
        };
        let unsent = (0..PACKETS).map(packet).collect();
        let (rail, link) = (open(me, 2), LinkId::new(RAIL, Rank(1 - me)));
        Self { rail, link, unsent, lent, direct: None, received: 0, unacked: BTreeMap::new(), again: 0 }
    }

    fn step(&mut self, may_send: bool) {
        self.rail.progress_connections(0);
        self.rail.begin_pass();
        if may_send && let Some(kept) = self.unsent.pop_front() {
            self.send(kept);
        }
        while self.receive() {}
        self.rail.flush();
        if let Some(lost) = self.rail.take_lost() {
            assert_eq!(lost.link, self.link);
            while self.receive() {}
            let unacked =
                self.rail.close_link(self.link).expect("a link that was lost is there to be closed");
            assert!(self.direct.take().is_none_or(|(mut owned, token)| {
                owned.take_back_in(token);
                true
            }));
            assert!(self.unacked.insert(unacked.generation, unacked).is_none(), "generations differ");
        }
    }

    fn send(&mut self, kept: UnackedPacket) {
        let UnackedPacket { header, beside, bulk, .. } = kept;
        match bulk {
            Bulk::Lent(share) => {
                let (len, mut share) = (share.len(), Some(share));
                let lend = || share.take().unwrap();
                if self.rail.lend(self.link, header, &beside[..4], lend, len).is_err() {
                    let bulk = Bulk::Lent(share.unwrap());
                    self.unsent.push_front(UnackedPacket { number: 0, header, beside, bulk });
                }
            }
            Bulk::Copied(bytes) => match self.rail.claim(self.link, bytes.len(), Class::Message) {
                Ok(slot) => {
                    slot.inline.write(0, &beside[..4]);
                    slot.bulk.write(0, &bytes);
                    self.rail.commit(self.link, header);
                }
                Err(_) => self.unsent.push_front(UnackedPacket {
                    number: 0,
                    header,
                    beside,
                    bulk: Bulk::Copied(bytes),
                }),
            },
        }
    }

    fn receive(&mut self) -> bool {
        let Some(packet) = self.rail.poll(self.link).unwrap() else {
            if let Some((packet, len)) = self.rail.peek_bulk(self.link)
                && packet.header.tag % 4 == 0
            {
                let mut owned = Owned::new(vec![0; len]);
                let mut token = owned.lend_in();
                self.rail.direct_receive(self.link, token.share(0, len));
                self.direct = Some((owned, token));
            }
            return false;
        };
        assert_eq!(packet.header.tag, self.received, "each once, in order");
        let (mut tag, mut bulk) = ([0; 4], vec![0; packet.bulk.len()]);
        packet.inline.read(0, &mut tag);
        packet.bulk.read(0, &mut bulk);
        assert_eq!(u32::from_le_bytes(tag), self.received);
        if packet.direct_bytes > 0 {
            let (mut owned, token) = self.direct.take().unwrap();
            owned.take_back_in(token);
            bulk = owned.into_items();
        }
        assert!(bulk == content(self.received));
        self.rail.release(self.link);
        self.received += 1;
        true
    }

    fn is_linked(&self) -> bool {
        self.rail.link(self.link.peer()).is_some()
    }

    /// Queues the packets to be sent again, now that both ends have a newer connection. A generation that the
    /// other end never knew carried nothing to it.
    fn reconcile(&mut self, other: &BTreeMap<u32, u32>) {
        for (generation, mut unacked) in std::mem::take(&mut self.unacked).into_iter().rev() {
            if let Some(expected) = other.get(&generation) {
                unacked.reconcile(*expected).unwrap();
            }
            self.again += unacked.kept.len();
            unacked.kept.into_iter().rev().for_each(|kept| self.unsent.push_front(kept));
        }
    }
}

/// Transfers all packets through any cut. Returns the bytes carried each way and the number of packets sent
/// again.
fn transfer(cut: Option<Cut>) -> ([usize; 2], usize) {
    let mut ends = [End::new(0), End::new(1)];
    let mut proxy = Proxy::new(ends[1].rail.addresses()[0], cut);
    ends[0].rail.introduce(Rank(1), &encode_address(&[proxy.listener.local_addr().unwrap()]));
    for _ in 0..1_000_000 {
        if !ends[0].is_linked() {
            ends[0].rail.connect(Rank(1));
        }
        proxy.step();
        let linked = ends.iter().all(End::is_linked);
        if linked && ends.iter().any(|end| !end.unacked.is_empty()) {
            let expected =
                |end: &End| end.unacked.iter().map(|(of, unacked)| (*of, unacked.expected)).collect();
            let [of_0, of_1] = [0, 1].map(|end| expected(&ends[end]));
            ends[0].reconcile(&of_1);
            ends[1].reconcile(&of_0);
        }
        ends.iter_mut().for_each(|end| end.step(linked && end.unacked.is_empty()));
        ends[0].rail.take_failure();
        let sent = |end: &End| end.unsent.is_empty() && end.unacked.is_empty() && end.received == PACKETS;
        if ends.iter().all(sent)
            && ends.iter().all(|end| end.lent.iter().all(|(_, token)| !token.is_shared()))
        {
            let lent = ends.iter_mut().flat_map(|end| std::mem::take(&mut end.lent));
            lent.for_each(|(mut owned, token)| owned.take_back_out(token));
            assert!(proxy.cut.is_none());
            return (proxy.carried, ends.iter().map(|end| end.again).sum());
        }
        if ends.iter().all(sent) {
            // All packets have come; arming sends the acknowledgements still owed.
            for end in &mut ends {
                end.rail.arm();
            }
        }
    }
    panic!("the packets do not come");
}

#[test]
fn cut_at_any_byte_each_packet_comes_once() {
    let (carried, mut again) = (transfer(None).0, 0);
    for (way, bytes) in carried.into_iter().enumerate() {
        for after in 0..bytes {
            again += transfer(Some(Cut { way, after, resets: after % 2 == 0 })).1;
        }
    }
    assert!(again > carried[0], "{again} packets sent again after {carried:?} cuts");
}
