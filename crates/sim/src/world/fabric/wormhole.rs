//! Wormhole routing, flit by flit: a packet goes through the routers like a worm and holds every channel that
//! it is in.
//!
//! ```text
//!   rank ─ queue ─▶ channel ─▶ [buffer] router ─▶ channel ─▶ [buffer] router ─▶ channel ─▶ rank
//!                     ◀─ credit, one a flit ─┘
//! ```
//! A channel carries one packet at a time, from its first flit to its last. At the end of the channel is a
//! buffer of the flits in their order. The next packet may enter the channel as soon as the last flit of the
//! previous one has left it. If the first flit in a buffer cannot leave, all flits behind it wait. Each flit
//! needs a credit to be sent. The credit comes back when the flit leaves the buffer. Packets that want the
//! same channel get it in the order in which they reached the front of their buffers, so inputs take turns.
//! Ranks take flits at the speed of their link, because links have room for all packets that they allow under
//! way.
//!
//! Not modelled: symbols within a flit, credits' own bandwidth (part of the speed given), virtual channels,
//! broken flits.

use std::collections::VecDeque;

use super::super::model::{Model, Wormhole};
use super::grid::{Grid, Port};
use super::{Due, FabricEvent, SimPacket};

/// The source of the flits that a channel sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Feed {
    /// The queue of the rank.
    Rank,
    /// The buffer at the end of another channel.
    Buffer(u32),
}

#[derive(Clone, Copy)]
struct Flit {
    worm: u32,
    first: bool,
    last: bool,
    /// The time from which the flit may leave the place where it is now.
    ready_ns: u64,
}

/// A link in one direction, with the buffer at its end.
#[derive(Default)]
struct Channel {
    flit_ns: u64,
    /// The router at the end of the channel; `None` if a rank is there, which takes every flit.
    to: Option<u32>,
    free_ns: u64,
    /// The source of the packet in the channel, until its last flit has left.
    holder: Option<Feed>,
    /// The sources whose next packet waits for this channel.
    waiting: VecDeque<Feed>,
    credits: u32,
    /// The arrival times of credits that are on their way back.
    coming: VecDeque<u64>,
    /// True if the channel waits for a credit and none is on its way. The next credit that is sent plans the
    /// channel's next step.
    starved: bool,
    buffer: VecDeque<Flit>,
}

/// A packet on its way through the routers.
struct Worm {
    packet: SimPacket,
    /// The number of flits that are still in the rank's queue.
    left: u64,
    first: bool,
}

/// Routers, channels and packets of one network.
pub struct Routers {
    shape: Wormhole,
    overhead_ns: u64,
    grid: Grid,
    /// The channels from each rank, to each rank, then between routers.
    channels: Vec<Channel>,
    /// The numbers of the channels from a router to its neighbours, West, East, North, South.
    between: Vec<[u32; 4]>,
    ranks: usize,
    queues: Vec<VecDeque<u32>>,
    /// The time at which the first packet of a rank's queue can leave.
    queue_ready_ns: Vec<u64>,
    worms: Vec<Option<Worm>>,
    free: Vec<u32>,
}

impl Routers {
    pub fn new(model: &Model, shape: Wormhole, ranks: usize) -> Self {
        let grid = Grid::new(shape, ranks);
        let (host_ns, link_ns) = (shape.flit_ns(model.bytes_per_ms), shape.flit_ns(shape.bytes_per_ms));
        let channel = |flit_ns, to: Option<usize>| Channel {
            flit_ns,
            to: to.map(|router| router as u32),
            credits: shape.buffer_flits,
            ..Channel::default()
        };
        let mut channels: Vec<_> =
            (0..ranks).map(|rank| channel(host_ns, Some(grid.place(rank).0))).collect();
        channels.extend((0..ranks).map(|_| channel(host_ns, None)));
        let mut between = Vec::new();
        for router in 0..grid.routers() {
            between.push([Port::West, Port::East, Port::North, Port::South].map(|port| {
                let Some(neighbour) = grid.neighbour(router, port) else { return u32::MAX };
                channels.push(channel(link_ns, Some(neighbour)));
                channels.len() as u32 - 1
            }));
        }
        Self {
            shape,
            overhead_ns: model.overhead_ns,
            grid,
            channels,
            between,
            ranks,
            queues: vec![VecDeque::new(); ranks],
            queue_ready_ns: vec![0; ranks],
            worms: Vec::new(),
            free: Vec::new(),
        }
    }

    pub fn enter(&mut self, now_ns: u64, packet: SimPacket, due: &mut Vec<Due>) {
        let rank = packet.from.0;
        let worm = Worm { left: packet.bytes.div_ceil(self.shape.flit_bytes), first: true, packet };
        let place = self.free.pop().unwrap_or_else(|| {
            self.worms.push(None);
            self.worms.len() as u32 - 1
        });
        self.worms[place as usize] = Some(worm);
        self.queues[rank as usize].push_back(place);
        if self.queues[rank as usize].len() == 1 {
            self.offer(now_ns, rank, due);
        }
    }

    /// Makes the first packet of a rank's queue wait for its channel, and plans the moment when it is ready.
    fn offer(&mut self, now_ns: u64, rank: u32, due: &mut Vec<Due>) {
        let ready_ns = now_ns + self.overhead_ns;
        self.queue_ready_ns[rank as usize] = ready_ns;
        self.channels[rank as usize].waiting.push_back(Feed::Rank);
        due.push(Due::Step(ready_ns, FabricEvent::Send(rank)));
    }

    /// Returns the channel on which a packet leaves a router.
    fn route(&self, router: u32, worm: u32) -> u32 {
        let to = self.worms[worm as usize].as_ref().expect("a packet under way").packet.to.0;
        let between = &self.between[router as usize];
        match self.grid.route(router as usize, to as usize) {
            Port::Host(_) => self.ranks as u32 + to,
            Port::West => between[0],
            Port::East => between[1],
            Port::North => between[2],
            Port::South => between[3],
        }
    }

    /// Handles the first flit of a buffer when it is ready. If it is the first of its packet, it requests its
    /// channel; otherwise it follows the flits before it.
    pub fn routed(&mut self, now_ns: u64, channel: u32, due: &mut Vec<Due>) {
        let at = &self.channels[channel as usize];
        let Some(flit) = at.buffer.front().copied().filter(|flit| flit.ready_ns <= now_ns) else { return };
        let out = self.route(at.to.expect("a buffer is at a router"), flit.worm);
        let (to, feed) = (&mut self.channels[out as usize], Feed::Buffer(channel));
        if flit.first && to.holder != Some(feed) && !to.waiting.contains(&feed) {
            to.waiting.push_back(feed);
        }
        self.send(now_ns, out, due);
    }

    /// Sends the next flit of a channel, if the channel is free and there is a flit, and room for it.
    pub fn send(&mut self, now_ns: u64, channel: u32, due: &mut Vec<Due>) {
        let at = &mut self.channels[channel as usize];
        if now_ns < at.free_ns {
            return;
        }
        if at.holder.is_none() {
            at.holder = at.waiting.pop_front();
        }
        let Some(feed) = at.holder else { return };
        if !self.has_flit(now_ns, channel, feed) || !self.take_credit(now_ns, channel, due) {
            return;
        }
        let flit = match feed {
            Feed::Rank => self.next_of_rank(now_ns, channel, due),
            Feed::Buffer(from) => self.next_of_buffer(now_ns, from, due),
        };
        let at = &mut self.channels[channel as usize];
        at.free_ns = now_ns + at.flit_ns;
        if flit.last {
            at.holder = None;
        }
        due.push(Due::Step(at.free_ns, FabricEvent::Send(channel)));
        self.hand_on(now_ns, channel, flit, due);
    }

    fn has_flit(&self, now_ns: u64, channel: u32, feed: Feed) -> bool {
        match feed {
            Feed::Rank => self.queue_ready_ns[channel as usize] <= now_ns,
            Feed::Buffer(from) => {
                self.channels[from as usize].buffer.front().is_some_and(|flit| flit.ready_ns <= now_ns)
            }
        }
    }

    fn take_credit(&mut self, now_ns: u64, channel: u32, due: &mut Vec<Due>) -> bool {
        let at = &mut self.channels[channel as usize];
        if at.to.is_none() {
            return true;
        }
        while at.coming.pop_front_if(|at_ns| *at_ns <= now_ns).is_some() {
            at.credits += 1;
        }
        at.starved = at.credits == 0;
        if !at.starved {
            at.credits -= 1;
            return true;
        }
        if let Some(at_ns) = at.coming.front() {
            at.starved = false;
            due.push(Due::Step(*at_ns, FabricEvent::Send(channel)));
        }
        false
    }

    fn next_of_rank(&mut self, now_ns: u64, rank: u32, due: &mut Vec<Due>) -> Flit {
        let queue = &mut self.queues[rank as usize];
        let place = *queue.front().expect("a packet that wants its channel");
        let worm = self.worms[place as usize].as_mut().expect("a packet under way");
        worm.left -= 1;
        let (first, last) = (std::mem::take(&mut worm.first), worm.left == 0);
        if last {
            queue.pop_front();
            if !queue.is_empty() {
                let free_ns = now_ns + self.channels[rank as usize].flit_ns;
                self.offer(free_ns, rank, due);
            }
        }
        Flit { worm: place, first, last, ready_ns: 0 }
    }

    /// Takes the next flit out of a buffer and sends its credit back. If the next flit in the buffer begins a
    /// packet, it is ready to request its channel.
    fn next_of_buffer(&mut self, now_ns: u64, from: u32, due: &mut Vec<Due>) -> Flit {
        let before = &mut self.channels[from as usize];
        let flit = before.buffer.pop_front().expect("a flit that was seen");
        let credit_ns = now_ns + self.shape.credit_ns;
        before.coming.push_back(credit_ns);
        if std::mem::take(&mut before.starved) {
            due.push(Due::Step(credit_ns, FabricEvent::Send(from)));
        }
        if let Some(next) = before.buffer.front().filter(|next| next.first) {
            due.push(Due::Step(next.ready_ns.max(now_ns), FabricEvent::Routed(from)));
        }
        flit
    }

    /// Moves a flit to the end of a channel. Its first bytes may leave the next router while its last bytes
    /// still arrive. If the next channel is faster, the flit waits, so that its bytes do not leave faster
    /// than they arrive.
    fn hand_on(&mut self, now_ns: u64, channel: u32, flit: Flit, due: &mut Vec<Due>) {
        let at = &self.channels[channel as usize];
        match at.to {
            Some(router) => {
                let next_ns = self.channels[self.route(router, flit.worm) as usize].flit_ns;
                let ready_ns = now_ns + self.shape.router_ns + at.flit_ns.saturating_sub(next_ns);
                self.channels[channel as usize].buffer.push_back(Flit { ready_ns, ..flit });
                due.push(Due::Step(ready_ns, FabricEvent::Routed(channel)));
            }
            None if flit.last => {
                let worm = self.worms[flit.worm as usize].take().expect("a packet under way");
                self.free.push(flit.worm);
                due.push(Due::Out(now_ns + at.flit_ns, worm.packet));
            }
            None => {}
        }
    }

    /// Checks that every flit's place is accounted for: free, on its way back, or taken.
    pub fn check(&self) -> Result<(), String> {
        for (number, channel) in self.channels.iter().enumerate().filter(|(_, channel)| channel.to.is_some())
        {
            let places = channel.credits as usize + channel.coming.len() + channel.buffer.len();
            if places != self.shape.buffer_flits as usize {
                return Err(format!("channel {number} has {places} places for flits"));
            }
        }
        Ok(())
    }
}
