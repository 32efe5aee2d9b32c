//! A rail that loses, doubles, reorders, holds back and corrupts packets, and kills links, from a seed.
//!
//! ```text
//!   claim, fill, commit ─▶ [ dropped? flipped bits? twice? held back? ] ─▶ claim, fill, commit below
//! ```
//! Owns the packets that are held back, a limited number for each link. Packets that arrive pass unchanged.
//! The rail has no clock: it holds a packet back until a number of other packets or passes have gone by.

use canele_mem::window::Window;
use std::collections::{BTreeMap, VecDeque};

use canele_sys::ids::LinkId;

use crate::delegate::delegate;
use crate::world::Random;
use canele_rail::{
    Armed, Busy, Caps, Class, FastPath, Header, LinkTraits, Lost, MAX_INLINE, MAX_INLINE_WITH_BULK, OneSided,
    PeerCopy, Rail, Recoverable, Rma, Slot, Unacked, Verbs,
};

/// The rates of the faults, in percent of the packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rates {
    /// The rate of lost packets.
    pub drop: usize,
    /// The rate of packets that come twice.
    pub double: usize,
    /// The rate of packets that are held back while up to `window` packets or passes go by.
    pub hold: usize,
    /// The number of packets that may be held back on a link.
    pub window: usize,
    /// The rate of packets with a wrong bit: in the header, beside it, or in the bulk.
    pub corrupt: usize,
    /// A link is lost with one of its first `kill` packets, which is drawn for each link. If 0, no link is
    /// lost.
    pub kill: u64,
}

/// The rail below, with faults.
pub struct Fault<R> {
    below: R,
    rates: Rates,
    random: Random,
    caps: BTreeMap<u8, Caps>,
    lines: BTreeMap<LinkId, Line>,
    lost: VecDeque<Lost>,
}

/// The state that this rail keeps for a link.
struct Line {
    inline: [u8; MAX_INLINE],
    bulk: Vec<u8>,
    class: Option<Class>,
    held: VecDeque<HeldPacket>,
    /// The number of packets until the link is lost; 0 if it is lost already, `None` if it will not be lost.
    lives: Option<u64>,
}

struct HeldPacket {
    /// The number of packets or passes that must still go by before this packet leaves.
    wait: usize,
    class: Class,
    header: Header,
    inline: [u8; MAX_INLINE],
    bulk: Vec<u8>,
}

impl<R: Rail> Fault<R> {
    /// Makes faults at these rates, from this seed.
    pub fn new(below: R, rates: Rates, seed: u64) -> Self {
        let (caps, lines) = (BTreeMap::new(), BTreeMap::new());
        Self { below, rates, random: Random(seed), caps, lines, lost: VecDeque::new() }
    }

    /// Returns the rail below.
    pub fn below(&mut self) -> &mut R {
        &mut self.below
    }

    /// Notes the capabilities of a link's rail. The owner calls this for each link that it opens.
    pub fn opened(&mut self, link: LinkId) {
        let caps = *self.below.caps(link);
        self.caps.insert(
            link.rail(),
            Caps {
                link_traits: caps.link_traits | LinkTraits::OVERTAKING,
                reliable: false,
                maps_regions: false,
                verbs: Verbs::empty(),
                ..caps
            },
        );
        let Self { lines, random, rates, .. } = self;
        lines.entry(link).or_insert_with(|| Line {
            inline: [0; MAX_INLINE],
            bulk: Vec::new(),
            class: None,
            held: VecDeque::new(),
            lives: (rates.kill > 0).then(|| 1 + random.up_to(rates.kill - 1)),
        });
    }

    /// Counts one packet or pass on a link. Held packets that have waited long enough leave, as far as there
    /// is room.
    fn go_by(&mut self, link: LinkId) {
        let Some(line) = self.lines.get_mut(&link) else { return };
        line.held.iter_mut().for_each(|held| held.wait = held.wait.saturating_sub(1));
        let mut place = 0;
        while let Some(held) = line.held.get(place) {
            if held.wait > 0 {
                place += 1;
                continue;
            }
            let Ok(slot) = self.below.claim(link, held.bulk.len(), held.class) else { return };
            let inline = if held.bulk.is_empty() { MAX_INLINE } else { MAX_INLINE_WITH_BULK };
            slot.inline.write(0, &held.inline[..inline]);
            slot.bulk.write(0, &held.bulk);
            self.below.commit(link, held.header);
            line.held.remove(place);
        }
    }

    /// Flips one bit of the header, of the bytes beside it, or of the bulk.
    fn corrupt(random: &mut Random, held: &mut HeldPacket) {
        let bit = 1 << random.below(8);
        match random.below(3) {
            0 => match random.below(4) {
                0 => held.header.kind ^= bit,
                1 => held.header.flow ^= u32::from(bit) << (8 * random.below(4)),
                2 => held.header.tag ^= u32::from(bit) << (8 * random.below(4)),
                _ => held.header.sequence ^= u32::from(bit) << (8 * random.below(4)),
            },
            1 if held.header.inline_len > 0 => {
                held.inline[random.below(held.header.inline_len as usize)] ^= bit;
            }
            _ if !held.bulk.is_empty() => {
                let at = random.below(held.bulk.len());
                held.bulk[at] ^= bit;
            }
            _ => held.header.inline_len = random.below(1 + held.header.inline_len as usize) as u8,
        }
    }

    fn forget(&mut self, link: LinkId) {
        self.lines.remove(&link);
        self.lost.retain(|lost| lost.link != link);
    }
}

impl<R: Rail> Rail for Fault<R> {
    delegate!(below: speed link incoming poll release flush sleep);

    fn caps(&self, link: LinkId) -> &Caps {
        self.caps.get(&link.rail()).unwrap_or_else(|| self.below.caps(link))
    }

    fn disconnect(&mut self, link: LinkId) {
        self.forget(link);
        self.below.disconnect(link);
    }

    /// Returns room in memory of its own, if there is room below and not too much is held back.
    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        let line = self.lines.get_mut(&link).ok_or(Busy)?;
        if line.lives == Some(0) || line.held.len() > self.rates.window {
            return Err(Busy);
        }
        self.below.claim(link, bulk, class)?;
        line.class = Some(class);
        line.bulk.clear();
        line.bulk.resize(bulk, 0);
        let inline = if bulk == 0 { MAX_INLINE } else { MAX_INLINE_WITH_BULK };
        Ok(Slot { inline: Window::on(&mut line.inline[..inline]), bulk: Window::on(&mut line.bulk) })
    }

    fn commit(&mut self, link: LinkId, header: Header) {
        let Self { lines, random, rates, lost, .. } = self;
        let line = lines.get_mut(&link).expect("commit on an open link");
        let class = line.class.take().expect("commit without claim");
        if let Some(lives) = &mut line.lives {
            *lives -= 1;
            if *lives == 0 {
                lost.push_back(Lost { link, why: "it was killed".into(), finished: false });
                line.held.clear();
                return;
            }
        }
        let copies = if random.chance(rates.drop) { 0 } else { 1 + usize::from(random.chance(rates.double)) };
        for _ in 0..copies {
            let bulk = line.bulk.clone();
            let mut held = HeldPacket { wait: 1, class, header, inline: line.inline, bulk };
            if random.chance(rates.corrupt) {
                Self::corrupt(random, &mut held);
            }
            if random.chance(rates.hold) {
                held.wait += 1 + random.below(rates.window);
            }
            line.held.push_back(held);
        }
        self.go_by(link);
    }

    fn begin_pass(&mut self) {
        self.below.begin_pass();
        let links: Vec<_> = self.lines.keys().copied().collect();
        links.into_iter().for_each(|link| self.go_by(link));
    }

    /// Sends all packets that are held back, because ranks that sleep get no more passes.
    fn arm(&mut self) -> Armed {
        let links: Vec<_> = self.lines.keys().copied().collect();
        for link in links {
            self.lines
                .get_mut(&link)
                .into_iter()
                .flat_map(|line| &mut line.held)
                .for_each(|held| held.wait = 0);
            self.go_by(link);
        }
        let below = self.below.arm();
        if self.lost.is_empty() { below } else { Armed::Work }
    }
}

impl<R: Rail> FastPath for Fault<R> {}

impl<R: OneSided> OneSided for Fault<R> {
    delegate!(below: own);
}

impl<R: Rail> Rma for Fault<R> {}

impl<R: Rail> PeerCopy for Fault<R> {}

impl<R: Recoverable> Recoverable for Fault<R> {
    delegate!(below: generation);

    fn take_lost(&mut self) -> Option<Lost> {
        self.lost.pop_front().or_else(|| self.below.take_lost())
    }

    fn close_link(&mut self, link: LinkId) -> Option<Unacked> {
        self.forget(link);
        self.below.close_link(link)
    }
}
