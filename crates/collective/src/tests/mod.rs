//! Schedules of all ranks, run in one process without any engine: the model, and the tests on it.

mod blocks;
mod even;
mod hosts;
mod network;
mod order;
mod own_caches;

use std::collections::{HashMap, HashSet, VecDeque};

use canele_mem::buffer::Divided;
use canele_mem::window::Window;
use canele_profile::HostProfile;
use canele_proto::request::Buffer;

use super::choose::{CollectiveCosts, Seat, schedule};
use super::memory::{Memory, Slices, within_mut};
use super::reduce::Reduction;
use super::schedule::{Local, Schedule, Transfer};
use super::spec::Shape;

/// One rank of the model.
struct Model {
    schedule: Schedule,
    round: usize,
    received: usize,
    input: Vec<u64>,
    output: Vec<u64>,
    scratch: Divided,
}

/// The published data of all ranks, and the numbers of its readers.
type SharedBufferPool = Vec<(Vec<u8>, usize)>;

/// Returns the name of a rank's shared buffer.
fn name(rank: usize) -> [u8; 16] {
    (rank as u128 + 1000).to_ne_bytes()
}

type Wires = HashMap<(usize, usize), VecDeque<Vec<u8>>>;

impl Model {
    fn new(schedule: Schedule, input: Vec<u64>, output: Vec<u64>) -> Self {
        let scratch = Divided::new(schedule.scratch_bytes);
        Self { schedule, round: 0, received: 0, input, output, scratch }
    }

    /// Advances as far as possible; returns true if it moved.
    fn advance(
        &mut self,
        (me, shared_buffers): (usize, &mut SharedBufferPool),
        wires: &mut Wires,
        reduction: &Reduction,
        started: &mut bool,
    ) -> bool {
        if self.round == 0
            && let Some(shared_buffer) = self.schedule.shared_buffer
        {
            within_mut(self.scratch.bytes_mut(), shared_buffer.name).copy_from_slice(&name(me));
        }
        let user = Slices {
            input: bytemuck::cast_slice(&self.input),
            output: bytemuck::cast_slice_mut(&mut self.output),
        };
        let mut mine = Vec::new();
        let mut memory = Memory { user, scratch: &mut self.scratch, shared_buffer: None };
        let Some(round) = self.schedule.rounds.get(self.round) else { return false };
        let mut moved = false;
        if !std::mem::replace(started, true) {
            // The memory of a round must be apart: lending checks it.
            memory.lending(&round.sends, &round.receives, |out, into, back| {
                for (send, buffer) in round.sends.iter().zip(out) {
                    back(send.span.area, Buffer::Out(buffer));
                }
                for (receive, buffer) in round.receives.iter().zip(into) {
                    back(receive.span.area, Buffer::In(buffer));
                }
            });
            let peers = |list: &[Transfer]| list.iter().map(|t| t.peer).collect::<HashSet<_>>().len();
            let each_once = (round.sends.len(), round.receives.len());
            assert_eq!((peers(&round.sends), peers(&round.receives)), each_once, "one message for a peer");
            for send in &round.sends {
                let wire = wires.entry((me, send.peer.0 as usize)).or_default();
                wire.push_back(memory.read(send.span).to_vec());
            }
            moved = true;
        }
        while let Some(receive) = round.receives.get(self.received) {
            let wire = wires.entry((receive.peer.0 as usize, me)).or_default();
            let Some(message) = wire.pop_front() else { return moved };
            memory.write(receive.span).copy_from_slice(&message);
            self.received += 1;
            moved = true;
        }
        std::mem::swap(&mut mine, &mut shared_buffers[me].0);
        memory.shared_buffer = Some(Window::on(&mut mine));
        for local in &round.then {
            match *local {
                Local::Fetch { from, published, into, reduced } => {
                    assert_eq!(memory.read(published.name), name(from.0 as usize), "a name has come before");
                    let shared_buffer = Window::on(&mut shared_buffers[from.0 as usize].0);
                    let published =
                        shared_buffer.part(published.at, into.len).expect("a place in the shared buffer");
                    memory.take(published, into, reduced.map(|how| (how, reduction)));
                }
                Local::HasRead { of, name: place } => {
                    assert_eq!(memory.read(place), name(of.0 as usize), "a name has come before");
                    shared_buffers[of.0 as usize].1 += 1;
                }
                local => memory.work(local, Some(reduction)),
            }
        }
        shared_buffers[me].0 = mine;
        (self.round, self.received, *started) = (self.round + 1, 0, false);
        true
    }
}

/// Lets all advance as far as possible; returns all outputs.
fn run_all(what: &str, mut models: Vec<Model>, reduction: &Reduction) -> Vec<Vec<u64>> {
    let (mut wires, mut started) = (Wires::new(), vec![false; models.len()]);
    let shared_buffer = |model: &Model| {
        (vec![0; model.schedule.shared_buffer.map_or(0, |shared_buffer| shared_buffer.bytes)], 0)
    };
    let mut shared_buffers: SharedBufferPool = models.iter().map(shared_buffer).collect();
    loop {
        let mut moved = false;
        for (me, model) in models.iter_mut().enumerate() {
            // Each runs ahead until it must wait, so that memory which is overwritten too early is noticed.
            while model.advance((me, &mut shared_buffers), &mut wires, reduction, &mut started[me]) {
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    for (me, model) in models.iter().enumerate() {
        assert_eq!(model.round, model.schedule.rounds.len(), "rank {me} of {} hangs in {what}", models.len());
    }
    for (me, (model, (_, readers))) in models.iter().zip(&shared_buffers).enumerate() {
        let expected = model.schedule.shared_buffer.map_or(0, |shared_buffer| shared_buffer.readers);
        assert_eq!(*readers, expected, "so many have read what rank {me} publishes in {what}");
    }
    assert!(wires.values().all(VecDeque::is_empty), "{what} leaves messages behind");
    models.into_iter().map(|model| model.output).collect()
}

/// Makes a seat of a blocking call, with shared buffers for ranks that share processors.
fn seat(me: usize, ranks: usize, oversubscribed: bool) -> Seat {
    Seat {
        me,
        ranks,
        local: ranks,
        oversubscribed,
        shared_buffers: oversubscribed,
        costs: CollectiveCosts::of(&HostProfile::SHARED_CACHES, 2),
        levels: None,
        forced: None,
    }
}

/// Makes this rank's schedule.
fn schedule_of(seat: Seat, shape: Shape) -> Schedule {
    schedule(seat, (None, None), shape).expect("a shape that can be")
}

/// Returns different words for every rank and place.
fn inputs(ranks: usize, words: usize) -> Vec<Vec<u64>> {
    let word = |rank: usize, at: usize| {
        ((rank * 1_000_003 + at * 7919 + 17) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    };
    (0..ranks).map(|rank| (0..words).map(|at| word(rank, at)).collect()).collect()
}
