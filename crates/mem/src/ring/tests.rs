//! The rings against an oracle in one thread, and under load in two.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;

use proptest::prelude::*;

use super::{Cursors, cells, payload};
use canele_sys::atomic::{Ordering, thread};

struct Memory {
    cells: Box<[cells::Cell]>,
    payload: Box<[[u8; 64]]>,
    cursors: Cursors,
}

// SAFETY: what lies in it is reached through one producer and one consumer only.
unsafe impl Sync for Memory {}
// SAFETY: as above.
unsafe impl Send for Memory {}

impl Memory {
    fn new(cells: usize, lines: usize) -> Self {
        Self {
            cells: (0..cells).map(|_| cells::Cell::fresh()).collect(),
            payload: vec![[0; 64]; lines].into(),
            cursors: Cursors::default(),
        }
    }

    fn ends(&mut self) -> (Sender, Receiver) {
        self.ends_of(false)
    }

    /// Returns both ends of a ring that rewinds if `rewinds`.
    fn ends_of(&mut self, rewinds: bool) -> (Sender, Receiver) {
        let base = NonNull::from(&mut self.cells[..]).cast();
        // SAFETY: the memory outlives the ends in every test here; one role is made for each side.
        let cells = unsafe { cells::Cells::new(base, self.cells.len()) };
        let base = NonNull::from(&mut self.payload[..]).cast();
        // SAFETY: as above.
        let span = unsafe { payload::PayloadMemory::new(base, self.payload.len() * 64) };
        let span = if rewinds { span.rewinding() } else { span };
        let producer = cells::Producer::new(cells, self.cells.len() as u64 / 8);
        let sender = Sender {
            cells: producer,
            payload: payload::Producer::new(span),
            size: span.size(),
            real: span.size(),
        };
        let start = base.as_ptr() as usize;
        (
            sender,
            Receiver { cells: cells::Consumer::new(cells), payload: payload::Consumer::new(span), start },
        )
    }
}

struct Sender {
    cells: cells::Producer,
    payload: payload::Producer,
    /// The size of the payload ring in bytes, and the bytes that count as real memory in runs.
    size: usize,
    real: usize,
}

struct Receiver {
    cells: cells::Consumer,
    payload: payload::Consumer,
    start: usize,
}

fn pattern(n: u64, len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (n.wrapping_mul(31) + i * 7) as u8).collect()
}

impl Sender {
    /// Sends packet `n` with `len` bytes; returns false if there is no room.
    fn send(&mut self, n: u64, len: usize, reserve: u64, at_most: usize, cursors: &Cursors) -> bool {
        if !self.cells.has_room(reserve, cursors) {
            return false;
        }
        let bytes = pattern(n, len);
        // A run has no other limit than the ring.
        let in_run = at_most == self.size
            && self.payload.claim_in_run(len).map(|window| window.write(0, &bytes)).is_some();
        if !in_run {
            let Some(window) = self.payload.claim(len, at_most, cursors) else { return false };
            window.write(0, &bytes);
            self.payload.renew_run(self.real);
        }
        let said = self.payload.commit();
        self.cells.inline().write(0, &n.to_ne_bytes());
        self.cells.post(n << 16, u64::from(said) | (len as u64) << 32, &[]);
        true
    }
}

impl Receiver {
    /// Returns the next packet's number, place in the ring, and length, if its content is right.
    fn receive(&mut self) -> Option<(u64, usize, usize)> {
        let (first, second) = match self.cells.peek() {
            cells::Peek::Cell(first, second) => (first, second),
            cells::Peek::Empty => return None,
            corrupt => panic!("{corrupt:?}"),
        };
        let (n, len) = (first >> 16, (second >> 32) as usize);
        let mut number = [0; 8];
        self.cells.inline().read(0, &mut number);
        assert_eq!(u64::from_ne_bytes(number) << 16 >> 16, n);
        let window = self.payload.window(second as u32, len).expect("the place is computed alike");
        let mut bytes = vec![0; len];
        window.read(0, &mut bytes);
        assert_eq!(bytes, pattern(n, len), "packet {n}");
        Some((n, window.start() as usize - self.start, len))
    }

    fn release(&mut self, len: usize, cursors: &Cursors) {
        self.cells.advance(cursors);
        self.payload.free(len, false, cursors);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send { len: usize, reserve: bool, stream: bool },
    Receive,
}

fn steps(max: usize) -> impl Strategy<Value = Vec<Step>> {
    let send = (1..=max, any::<bool>(), any::<bool>()).prop_map(|(len, reserve, stream)| Step::Send {
        len,
        reserve,
        stream,
    });
    prop::collection::vec(prop_oneof![3 => send, 2 => Just(Step::Receive)], 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any interleaving of sends and receives keeps order, content and limits. Live payloads never overlap or
    /// cross the end of the ring.
    #[test]
    fn rings_agree_with_a_queue(
        cells_shift in 1u32..6,
        (lines, steps) in (2u32..8).prop_flat_map(|s| (Just(1usize << s), steps((1 << s) * 64 / 4))),
        rewinds in any::<bool>(),
        is_real in any::<bool>(),
    ) {
        let (cells, size) = (1usize << cells_shift, lines * 64);
        let mut memory = Memory::new(cells, lines);
        let (mut sender, mut receiver) = memory.ends_of(rewinds);
        sender.real = if is_real { size } else { size / 4 };
        let mut oracle: VecDeque<(u64, usize)> = VecDeque::new();
        let mut next = 1;
        for step in steps {
            match step {
                Step::Send { len, reserve, stream } => {
                    let reserve = if reserve { cells as u64 / 8 } else { 0 };
                    let at_most = if stream { size / 2 } else { size };
                    if !sender.send(next, len, reserve, at_most, &memory.cursors) {
                        prop_assert!(!oracle.is_empty(), "an empty ring takes any packet");
                        continue;
                    }
                    oracle.push_back((next, len));
                    let held: usize = oracle.iter().map(|(_, len)| len.next_multiple_of(64)).sum();
                    prop_assert!(held <= at_most && oracle.len() + reserve as usize <= cells);
                    next += 1;
                }
                Step::Receive => {
                    let got = receiver.receive();
                    prop_assert_eq!(got.map(|(n, _, len)| (n, len)), oracle.pop_front());
                    let Some((_, place, len)) = got else { continue };
                    prop_assert!(place % 64 == 0 && place + len <= size, "contiguous");
                    receiver.release(len, &memory.cursors);
                }
            }
        }
        while let Some((n, _, len)) = receiver.receive() {
            prop_assert_eq!(Some((n, len)), oracle.pop_front());
            receiver.release(len, &memory.cursors);
        }
        prop_assert!(oracle.is_empty());
    }

    /// Packets posted within a run and packets posted after a check of the cursors keep one order. The
    /// reserve stays free.
    #[test]
    fn runs_agree_with_a_queue(cells_shift in 1u32..6, steps in prop::collection::vec(any::<bool>(), 1..400)) {
        let cells = 1usize << cells_shift;
        let mut memory = Memory::new(cells, 1);
        let (mut sender, mut receiver) = memory.ends();
        let (mut oracle, reserve) = (VecDeque::new(), cells / 8);
        for (n, sends) in (1..).zip(steps) {
            if sends {
                let posted = sender.cells.try_post(n << 16, n, &n.to_ne_bytes());
                if !posted && sender.cells.has_room(reserve as u64, &memory.cursors) {
                    sender.cells.post(n << 16, n, &n.to_ne_bytes());
                } else if !posted {
                    prop_assert!(!oracle.is_empty(), "an empty ring takes any packet");
                    continue;
                }
                oracle.push_back(n);
                prop_assert!(oracle.len() + reserve <= cells);
            } else if let Some(n) = oracle.pop_front() {
                let cells::Peek::Cell(first, second) = receiver.cells.peek() else { panic!("a cell was posted") };
                let mut inline = [0; 8];
                receiver.cells.inline().read(0, &mut inline);
                prop_assert_eq!((first >> 16, second, u64::from_ne_bytes(inline)), (n, n, n));
                receiver.cells.advance(&memory.cursors);
            } else {
                prop_assert_eq!(receiver.cells.peek(), cells::Peek::Empty);
            }
        }
    }

    /// A new payload never overlaps one that was not given back.
    #[test]
    fn places_never_overlap(
        lens in prop::collection::vec(1usize..=256, 1..200),
        hold in 0usize..6,
        rewinds in any::<bool>(),
    ) {
        let mut memory = Memory::new(64, 16);
        let (mut sender, mut receiver) = memory.ends_of(rewinds);
        let start = receiver.start;
        let mut live: VecDeque<(usize, usize, u32)> = VecDeque::new();
        let mut give_back = |(from, end, said), cursors: &Cursors| {
            let window = receiver.payload.window(said, end - from).expect("the place is computed alike");
            assert_eq!(window.start() as usize - start, from);
            receiver.payload.free(end - from, false, cursors);
        };
        for len in lens {
            let placed = loop {
                if let Some(window) = sender.payload.claim_in_run(len) {
                    break window.start() as usize;
                }
                let claimed = sender.payload.claim(len, 1024, &memory.cursors).map(|window| window.start() as usize);
                sender.payload.renew_run(1024);
                if let Some(start) = claimed {
                    break start;
                }
                give_back(live.pop_front().expect("an empty ring takes any payload"), &memory.cursors);
            };
            let from = placed - start;
            prop_assert!(from + len <= 1024);
            prop_assert!(live.iter().all(|&(a, b, _)| from + len <= a || b <= from), "{from} {live:?}");
            prop_assert!(from == 0 || !rewinds || !live.is_empty(), "an empty ring rewinds");
            live.push_back((from, from + len, sender.payload.commit()));
            if live.len() > hold {
                give_back(live.pop_front().unwrap(), &memory.cursors);
            }
        }
    }

    /// A receiver that lies about its cursors does no harm to the sender.
    #[test]
    fn wild_cursors_are_survived(wild in prop::collection::vec((any::<u64>(), any::<u64>(), 1usize..=256), 1..300)) {
        let mut memory = Memory::new(8, 16);
        let (mut sender, _) = memory.ends();
        for (n, (consumed, freed, len)) in wild.into_iter().enumerate() {
            memory.cursors.consumed.store(consumed >> (n % 64), Ordering::Relaxed);
            memory.cursors.freed.store(freed >> (n % 64), Ordering::Relaxed);
            sender.send(n as u64, len, 1, 1024, &memory.cursors);
            sender.cells.room_came(sender.cells.known(), &memory.cursors);
            sender.payload.room_came(sender.payload.known(), &memory.cursors);
        }
    }
}

#[test]
fn stamps_wrap() {
    let mut memory = Memory::new(2, 1);
    let (mut sender, mut receiver) = memory.ends();
    for n in 0..2 * 65_536 * 2 + 7 {
        assert!(sender.cells.has_room(0, &memory.cursors));
        sender.cells.post(n << 16, n, &[]);
        assert_eq!(
            receiver.cells.peek(),
            cells::Peek::Cell(n << 16 | u64::from((n as u32 / 2 + 1) as u16), n)
        );
        receiver.cells.advance(&memory.cursors);
        assert_eq!(receiver.cells.peek(), cells::Peek::Empty);
    }
}

#[test]
fn a_foreign_stamp_is_corrupt() {
    let mut memory = Memory::new(2, 1);
    let (mut sender, receiver) = memory.ends();
    sender.cells.post(0, 0, &[]);
    sender.cells.post(0, 0, &[]);
    sender.cells.post(0, 0, &[]);
    assert_eq!(receiver.cells.peek(), cells::Peek::Corrupt(2, 1));
}

/// A stream that fills its half and is emptied again goes on, whatever bytes were skipped at the end of the
/// ring.
#[test]
fn a_stream_alone_never_starves() {
    for before in 0..32 {
        let mut memory = Memory::new(64, 32);
        let (mut sender, mut receiver) = memory.ends();
        for len in std::iter::repeat_n(64, before).chain(std::iter::repeat_n(512, 40)) {
            let room = sender.payload.claim(len, 1024, &memory.cursors).is_some();
            assert!(room, "an empty ring refuses {len} bytes, {before} lines from its start");
            let said = sender.payload.commit();
            assert!(receiver.payload.window(said, len).is_ok());
            receiver.payload.free(len, false, &memory.cursors);
        }
    }
}

#[test]
fn two_threads_agree() {
    const PACKETS: u64 = if cfg!(miri) { 50 } else { 100_000 };
    // The memory is in its final place before pointers to it are made: moving a box would invalidate them.
    let mut memory = Arc::new(Memory::new(16, 32));
    let (mut sender, mut receiver) = Arc::get_mut(&mut memory).expect("one owner").ends();
    let sending = thread::spawn({
        let memory = memory.clone();
        move || {
            for n in 0..PACKETS {
                let len = (n * 97 % 512 + 1) as usize;
                while !sender.send(n, len, 0, 2048, &memory.cursors) {
                    thread::yield_now();
                }
            }
        }
    });
    for due in 0..PACKETS {
        let (n, len) = loop {
            match receiver.receive() {
                Some((n, _, len)) => break (n, len),
                None => thread::yield_now(),
            }
        };
        assert_eq!(n, due);
        receiver.release(len, &memory.cursors);
    }
    sending.join().unwrap();
}
