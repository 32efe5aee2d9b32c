//! Models of the rings and the chunk counter. What the windows hold is watched through cells of the model beside them.

use std::ptr::NonNull;

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

use super::{Cursors, cells, payload};
use crate::chunk_counter::{ChunkCounter, CopyProgress, Generation};
use crate::window::Window;

/// A ring, and for each of its places a plain value that stands for the bytes there.
struct Memory {
    cells: Box<[cells::Cell]>,
    beside_cells: Vec<UnsafeCell<u64>>,
    payload: Box<[[u8; 64]]>,
    beside_payload: Vec<UnsafeCell<u64>>,
    cursors: Cursors,
}

// SAFETY: the raw memory is never read or written in a model; the model's cells check their own accesses.
unsafe impl Sync for Memory {}
// SAFETY: as above.
unsafe impl Send for Memory {}

impl Memory {
    fn new(cells: usize, lines: usize) -> Arc<Self> {
        Arc::new(Self {
            cells: (0..cells).map(|_| cells::Cell::fresh()).collect(),
            beside_cells: (0..cells).map(|_| UnsafeCell::new(0)).collect(),
            payload: vec![[0; 64]; lines].into(),
            beside_payload: (0..lines).map(|_| UnsafeCell::new(0)).collect(),
            cursors: Cursors::default(),
        })
    }

    fn ring(&self) -> cells::Cells {
        // SAFETY: the memory outlives the model's threads, which join; each makes one role.
        unsafe { cells::Cells::new(NonNull::from(&self.cells[0]), self.cells.len()) }
    }

    fn span(&self) -> payload::PayloadMemory {
        // SAFETY: as above.
        unsafe {
            payload::PayloadMemory::new(NonNull::from(&self.payload[0]).cast(), self.payload.len() * 64)
        }
    }

    fn cell_of(&self, window: Window<'_>) -> &UnsafeCell<u64> {
        let offset = window.start() as usize - self.cells.as_ptr() as usize;
        &self.beside_cells[offset / size_of::<cells::Cell>()]
    }

    fn line_of(&self, window: Window<'_>) -> &UnsafeCell<u64> {
        &self.beside_payload[(window.start() as usize - self.payload.as_ptr() as usize) / 64]
    }
}

fn put(cell: &UnsafeCell<u64>, value: u64) {
    // SAFETY: the model checks that no other thread accesses the cell.
    cell.with_mut(|place| unsafe { *place = value });
}

fn get(cell: &UnsafeCell<u64>) -> u64 {
    // SAFETY: as above.
    cell.with(|place| unsafe { *place })
}

fn check(model: impl Fn() + Sync + Send + 'static) {
    // Waiting loops make the space of interleavings endless; three preemptions find what such rings get wrong.
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

fn produce_cells(memory: &Memory, packets: u64) {
    let mut producer = cells::Producer::new(memory.ring(), 0);
    for n in 1..=packets {
        while !producer.has_room(0, &memory.cursors) {
            thread::yield_now();
        }
        put(memory.cell_of(producer.inline()), n);
        producer.post(n << 16, n * 7, &[]);
    }
}

fn consume_cells(memory: &Memory, packets: u64) {
    let mut consumer = cells::Consumer::new(memory.ring());
    for n in 1..=packets {
        loop {
            match consumer.peek() {
                cells::Peek::Cell(first, second) => {
                    assert_eq!((first >> 16, second), (n, n * 7));
                    break;
                }
                cells::Peek::Empty => thread::yield_now(),
                corrupt => panic!("{corrupt:?}"),
            }
        }
        assert_eq!(get(memory.cell_of(consumer.inline())), n);
        consumer.advance(&memory.cursors);
    }
}

#[test]
fn loom_cells_over_laps() {
    check(|| {
        let memory = Memory::new(2, 1);
        let producer = thread::spawn({
            let memory = memory.clone();
            move || produce_cells(&memory, 5)
        });
        consume_cells(&memory, 5);
        producer.join().unwrap();
    });
}

#[test]
fn loom_payload_over_laps() {
    payload_over_laps(|span| span);
}

#[test]
fn loom_payload_that_rewinds() {
    payload_over_laps(payload::PayloadMemory::rewinding);
}

fn payload_over_laps(kind: fn(payload::PayloadMemory) -> payload::PayloadMemory) {
    const PACKETS: u64 = 3;
    check(move || {
        // Four cells never fill; two lines of payload do.
        let memory = Memory::new(4, 2);
        let producer = thread::spawn({
            let memory = memory.clone();
            move || {
                let mut cells = cells::Producer::new(memory.ring(), 0);
                let mut payload = payload::Producer::new(kind(memory.span()));
                for n in 1..=PACKETS {
                    let line = loop {
                        if let Some(window) = payload.claim_in_run(64) {
                            break memory.line_of(window);
                        }
                        if let Some(window) = payload.claim(64, 128, &memory.cursors) {
                            let line = memory.line_of(window);
                            payload.renew_run(128);
                            break line;
                        }
                        thread::yield_now();
                    };
                    put(line, n);
                    assert!(cells.has_room(0, &memory.cursors));
                    cells.post(0, payload.commit().into(), &[]);
                }
            }
        });
        let mut cells = cells::Consumer::new(memory.ring());
        let mut payload = payload::Consumer::new(kind(memory.span()));
        for n in 1..=PACKETS {
            let said = loop {
                if let cells::Peek::Cell(_, second) = cells.peek() {
                    break second as u32;
                }
                thread::yield_now();
            };
            assert_eq!(get(memory.line_of(payload.window(said, 64).unwrap())), n);
            cells.advance(&memory.cursors);
            payload.free(64, false, &memory.cursors);
        }
        producer.join().unwrap();
    });
}

/// Takes and copies pieces until none is left, as the receiver; says how many it took.
fn receive(chunk_counter: &ChunkCounter, bytes: &[UnsafeCell<u64>], generation: Generation) -> usize {
    let mut taken = 0;
    while let Some(piece) = chunk_counter.take_front(generation, bytes.len() as u32) {
        put(&bytes[piece as usize], generation.0.into());
        taken += 1;
    }
    taken
}

/// Runs the sender.
fn send(chunk_counter: &ChunkCounter, bytes: &[UnsafeCell<u64>], generation: Generation) -> usize {
    let mut taken = 0;
    while let Some(piece) = chunk_counter.take_back(generation, bytes.len() as u32) {
        put(&bytes[piece as usize], generation.0.into());
        chunk_counter.finish_piece();
        taken += 1;
    }
    taken
}

/// Waits until neither end copies.
fn settle(chunk_counter: &ChunkCounter, generation: Generation, pieces: u32) -> CopyProgress {
    loop {
        match chunk_counter.progress(generation, pieces) {
            CopyProgress::Copying => thread::yield_now(),
            settled => return settled,
        }
    }
}

fn transfer(pieces: usize) -> (Arc<ChunkCounter>, Arc<Vec<UnsafeCell<u64>>>) {
    (Arc::default(), Arc::new((0..pieces).map(|_| UnsafeCell::new(0)).collect()))
}

#[test]
fn loom_every_piece_is_copied_once_and_seen() {
    check(|| {
        let (chunk_counter, bytes) = transfer(3);
        let generation = Generation(1);
        chunk_counter.start(generation);
        let sender = thread::spawn({
            let (chunk_counter, bytes) = (chunk_counter.clone(), bytes.clone());
            move || send(&chunk_counter, &bytes, generation)
        });
        let taken = receive(&chunk_counter, &bytes, generation);
        assert_eq!(settle(&chunk_counter, generation, 3), CopyProgress::Done);
        assert!(bytes.iter().all(|byte| get(byte) == 1));
        assert_eq!(taken + sender.join().unwrap(), 3);
    });
}

/// A sender that comes late to a transfer takes nothing of the next one.
#[test]
fn loom_a_late_sender_takes_nothing() {
    check(|| {
        let (chunk_counter, bytes) = transfer(1);
        chunk_counter.start(Generation(1));
        let sender = thread::spawn({
            let (chunk_counter, bytes) = (chunk_counter.clone(), bytes.clone());
            move || send(&chunk_counter, &bytes, Generation(1))
        });
        let taken = receive(&chunk_counter, &bytes, Generation(1));
        assert_eq!(settle(&chunk_counter, Generation(1), 1), CopyProgress::Done);
        chunk_counter.start(Generation(2));
        assert_eq!(receive(&chunk_counter, &bytes, Generation(2)), 1);
        assert_eq!(chunk_counter.progress(Generation(2), 1), CopyProgress::Done);
        assert_eq!(get(&bytes[0]), 2);
        assert_eq!(taken + sender.join().unwrap(), 1);
    });
}

/// A sender that sees a new transfer sees its count start at zero.
#[test]
fn loom_a_new_transfer_starts_at_zero() {
    check(|| {
        let (chunk_counter, bytes) = transfer(2);
        let sender = thread::spawn({
            let (chunk_counter, bytes) = (chunk_counter.clone(), bytes.clone());
            move || send(&chunk_counter, &bytes, Generation(1))
        });
        chunk_counter.start(Generation(1));
        receive(&chunk_counter, &bytes, Generation(1));
        assert_eq!(settle(&chunk_counter, Generation(1), 2), CopyProgress::Done);
        sender.join().unwrap();
    });
}

/// A receiver that gives up has its memory for itself once the transfer is over: the model's cells find writes at the same time.
#[test]
fn loom_a_receiver_that_gives_up_waits_for_the_sender() {
    check(|| {
        let (chunk_counter, bytes) = transfer(2);
        let generation = Generation(1);
        chunk_counter.start(generation);
        let sender = thread::spawn({
            let (chunk_counter, bytes) = (chunk_counter.clone(), bytes.clone());
            move || send(&chunk_counter, &bytes, generation)
        });
        chunk_counter.take_rest(generation, 2);
        settle(&chunk_counter, generation, 2);
        bytes.iter().for_each(|byte| put(byte, 7));
        sender.join().unwrap();
        assert!(bytes.iter().all(|byte| get(byte) == 7));
    });
}

/// Runs a receiver that does not know the number of pieces.
#[test]
fn loom_memory_is_quiet_after_a_stop() {
    check(|| {
        let (chunk_counter, bytes) = transfer(2);
        let generation = Generation(1);
        chunk_counter.start(generation);
        let sender = thread::spawn({
            let (chunk_counter, bytes) = (chunk_counter.clone(), bytes.clone());
            move || send(&chunk_counter, &bytes, generation)
        });
        let stopped = chunk_counter.stop();
        while !chunk_counter.is_quiet(stopped) {
            thread::yield_now();
        }
        bytes.iter().for_each(|byte| put(byte, 7));
        sender.join().unwrap();
    });
}

/// A receiver learns that the sender cannot write, and nothing writes any more then.
#[test]
fn loom_a_failure_of_the_sender_is_seen() {
    check(|| {
        let (chunk_counter, bytes) = transfer(2);
        let generation = Generation(1);
        chunk_counter.start(generation);
        let sender = thread::spawn({
            let (chunk_counter, bytes) = (chunk_counter.clone(), bytes.clone());
            move || {
                let piece = chunk_counter.take_back(generation, 2)?;
                put(&bytes[piece as usize], 9);
                chunk_counter.fail_piece();
                Some(piece)
            }
        });
        receive(&chunk_counter, &bytes, generation);
        let settled = settle(&chunk_counter, generation, 2);
        bytes.iter().for_each(|byte| put(byte, 7));
        let has_failed = sender.join().unwrap().is_some();
        assert_eq!(settled, if has_failed { CopyProgress::Failed } else { CopyProgress::Done });
    });
}
