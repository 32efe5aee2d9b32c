//! Ranks on a simulated network, all in one thread, and the loop that drives their parts of collectives.

use canele_collective::{CollectiveProgress, CollectiveRequest, Error, HEADER, MemberLiveness, SharedBuffer};
use canele_proto::peer::PeerEnd;
use canele_proto::{Proto, Settings};
use canele_sim::world::{Model, SimRail, World};
use canele_sys::ids::{LinkId, Rank};

/// Ranks in one world.
pub struct Crowd {
    pub protos: Vec<Proto>,
    world: World,
    rails: Vec<SimRail>,
    /// The number of shared buffers so far.
    pub shared_buffers: usize,
}

/// The most looks of a rank for shared buffers that are not mapped yet. It asks for the buffer of each of
/// nine others twice at most.
const LOOKS: usize = 32;

impl Crowd {
    pub fn new(ranks: usize, seed: u64) -> Self {
        let model = Model { jitter_ns: seed % 3 * 4000, ..Model::default() };
        let world = World::new(ranks, &[model], seed);
        let settings = Settings { eager_bytes: 4096, piece_bytes: 16 << 10, unexpected_bytes: 1 << 20 };
        let protos = (0..ranks as u32).map(|rank| Proto::new(Rank(rank), ranks, settings)).collect();
        let rails = (0..ranks as u32).map(|rank| world.rail(Rank(rank))).collect();
        Self { protos, world, rails, shared_buffers: 0 }
    }

    /// Makes a shared buffer of a rank.
    pub fn shared_buffer(&mut self, of: Rank, bytes: usize) -> SharedBuffer {
        self.shared_buffers += 1;
        SharedBuffer::new(self.rails[of.0 as usize].create_region(HEADER + bytes).expect("memory"))
    }

    /// Lets each rank do its parts, in any order; returns the first error of each.
    ///
    /// # Panics
    /// The ranks wait for messages that never come.
    pub fn run(&mut self, parts: &mut [Vec<CollectiveRequest>]) -> Vec<Option<Error>> {
        let ended = self.run_amid(parts, &mut Deaths::default());
        let first_error =
            |parts: Vec<Option<Result<(), Error>>>| parts.into_iter().flatten().find_map(Result::err);
        ended.into_iter().map(first_error).collect()
    }

    /// Does this while ranks die; returns the result of each part, without those of ranks that died before.
    ///
    /// # Panics
    /// The ranks wait for messages that never come.
    pub fn run_amid(
        &mut self,
        parts: &mut [Vec<CollectiveRequest>],
        deaths: &mut Deaths,
    ) -> Vec<Vec<Option<Result<(), Error>>>> {
        let mut ended: Vec<Vec<_>> = parts.iter().map(|parts| parts.iter().map(|_| None).collect()).collect();
        let mut looks = 0;
        for turn in 0.. {
            let mut moved = self.die(deaths, turn);
            let living: Vec<usize> =
                (0..self.protos.len()).filter(|rank| !self.world.is_dead(Rank(*rank as u32))).collect();
            for &rank in &living {
                moved |= self.advance(rank, &mut parts[rank], &mut ended[rank], deaths);
                moved |= self.pass(rank);
            }
            if !moved && living.iter().all(|rank| ended[*rank].iter().all(Option::is_some)) {
                break;
            }
            if moved || self.world.advance().is_some() || deaths.are_to_come() {
                looks = 0;
            } else {
                looks += 1;
                assert!(looks < LOOKS, "they wait for ever: {ended:?}");
            }
        }
        ended
    }

    /// Lets a rank do its parts as far as possible; returns true if one has ended.
    fn advance(
        &mut self,
        rank: usize,
        parts: &mut [CollectiveRequest],
        ended: &mut [Option<Result<(), Error>>],
        deaths: &mut Deaths,
    ) -> bool {
        let (proto, rail) = (&mut self.protos[rank], &mut self.rails[rank]);
        let mut any = false;
        for (n, (part, ended)) in parts.iter_mut().zip(ended).enumerate() {
            if ended.is_some() {
                continue;
            }
            // A part whose messages have all come ends well, even if a member has died since.
            let step = match part.advance(proto, rail) {
                Ok(CollectiveProgress::Waiting) => {
                    deaths.check(proto, (rank, n), part).and_then(|()| part.advance(proto, rail))
                }
                step => step,
            };
            if !matches!(step, Ok(CollectiveProgress::Waiting)) {
                (*ended, any) = (Some(step.map(drop)), true);
            }
        }
        any
    }

    /// Lets ranks die whose turn it is, and informs others; returns true if anything happened.
    fn die(&mut self, deaths: &mut Deaths, turn: usize) -> bool {
        let due: Vec<_> = deaths.to_come.extract_if(.., |death| death.turn <= turn).collect();
        for Death { rank, told, .. } in &due {
            match told {
                None => self.world.kill(*rank),
                Some(of) if !self.world.is_dead(*rank) => {
                    // The messages that it has sent come first.
                    while self.pass(rank.0 as usize) {}
                    self.protos[rank.0 as usize].handle_gone(*of, PeerEnd::Failed);
                }
                Some(_) => {}
            }
        }
        !due.is_empty()
    }

    fn pass(&mut self, rank: usize) -> bool {
        let (proto, rail) = (&mut self.protos[rank], &mut self.rails[rank]);
        rail.accept();
        let moved = proto.pass(rail);
        let mut opened = false;
        while let Some(peer) = proto.take_wanted() {
            opened = true;
            rail.open_link(0, peer);
            proto.link_opened(rail, peer, LinkId::new(0, peer));
        }
        assert!(proto.take_fault().is_none(), "a peer broke the protocol");
        moved || opened
    }
}

/// An event of a rank in some turn of the loop.
pub struct Death {
    pub turn: usize,
    pub rank: Rank,
    /// The dead rank that it learns of; `None` if it dies itself.
    pub told: Option<Rank>,
}

/// Deaths to come, and the state of the members of each part.
#[derive(Default)]
pub struct Deaths {
    pub to_come: Vec<Death>,
    /// The liveness check of each part of each rank, until a member is known to be dead; an empty list means
    /// that all live.
    pub members: Vec<Vec<Option<MemberLiveness>>>,
}

impl Deaths {
    fn are_to_come(&self) -> bool {
        !self.to_come.is_empty()
    }

    /// Gives up a part of which a member has died, as an engine does.
    fn check(
        &mut self,
        proto: &mut Proto,
        (rank, n): (usize, usize),
        part: &mut CollectiveRequest,
    ) -> Result<(), Error> {
        let Some(members) = self.members.get_mut(rank).map(|parts| &mut parts[n]) else { return Ok(()) };
        let Some(Err(failure)) = members.as_mut().map(|members| members.check(proto, &[])) else {
            return Ok(());
        };
        *members = None;
        part.give_up(proto, failure.into())
    }
}
