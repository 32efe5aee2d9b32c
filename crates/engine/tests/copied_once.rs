//! Long messages between private buffers that both ends copy, by two ranks of one process that take turns in
//! one thread.

use canele_engine::{Buffer, Completion, Engine, Error, Failure, FlowId, Mode, Pending, Rank, Tag, Want};
use canele_mem::buffer::Owned;
use canele_sys::counters::Counter;
use canele_sys::tunables::Tunables;
use canele_testing::LocalRank;

const FLOW: FlowId = FlowId(0);
const TAG: Tag = Tag(5);
/// Lengths around those of pieces, and one of many pieces.
const LENGTHS: [usize; 6] = [(16 << 10) + 1, 20_001, 64 << 10, 100_000, 1 << 20, 5_000_001];

fn ranks(single_copy: &'static str) -> [LocalRank; 2] {
    let tunables = Tunables { single_copy, ..Tunables::default() };
    let mut ranks = canele_testing::start(2, &tunables).unwrap().into_iter();
    let ranks = [ranks.next().unwrap(), ranks.next().unwrap()];
    // Once each has got a message, both know the memory that they may access.
    for [from, to] in [[0, 1], [1, 0]] {
        let mut message = Message::start([&ranks[from], &ranks[to]], to, 8);
        message.go_on(&ranks, || [true, true]);
        message.check(&ranks[from], &ranks[to]);
    }
    ranks
}

/// A message under way, and the memory of its ends.
struct Message {
    sent: Owned<u8>,
    received: Owned<u8>,
    sending: Pending,
    receiving: Pending,
    /// The receiver.
    to: usize,
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 31 + n / 4099) as u8).collect()
}

impl Message {
    fn start([from, receiver]: [&Engine; 2], to: usize, len: usize) -> Self {
        let (mut sent, mut received) = (Owned::new(pattern(len)), Owned::new(vec![0; len]));
        let sending = from.isend(Rank(to as u32), FLOW, TAG, Mode::Standard, sent.lend_out());
        let want = Want { source: Some(Rank(1 - to as u32)), tag: Some(TAG) };
        let receiving = receiver.irecv(FLOW, want, received.lend_in());
        let sending = sending.unwrap_or_else(|refused| panic!("{}", refused.0));
        let receiving = receiving.unwrap_or_else(|refused| panic!("{}", refused.0));
        Self { sent, received, sending, receiving, to }
    }

    fn has_ended(&self, ranks: &[LocalRank; 2]) -> bool {
        let ended = |rank: &LocalRank, pending| rank.completions(|all| all.has_ended(pending)).unwrap();
        ended(&ranks[1 - self.to], self.sending) && ended(&ranks[self.to], self.receiving)
    }

    /// Gives each rank a turn that has one, until both operations have ended.
    fn go_on(&mut self, ranks: &[LocalRank; 2], mut turns: impl FnMut() -> [bool; 2]) {
        for _ in 0..100_000 {
            for (rank, has_turn) in ranks.iter().zip(turns()) {
                if has_turn {
                    rank.poll().unwrap();
                }
            }
            if self.has_ended(ranks) {
                return;
            }
        }
        panic!("the message does not arrive");
    }

    fn check(mut self, from: &Engine, to: &Engine) {
        let sent = from.test(self.sending).unwrap().expect("it has ended");
        sent.result.unwrap();
        let Buffer::Out(buffer) = sent.buffer else { panic!("a send gives its buffer back") };
        self.sent.take_back_out(buffer);
        let received = to.test(self.receiving).unwrap().expect("it has ended");
        assert_eq!(received.result.as_ref().unwrap().bytes, self.sent.bytes().len());
        self.take_back(received);
        assert!(self.received.bytes() == self.sent.bytes(), "of {} bytes", self.sent.bytes().len());
    }

    fn take_back(&mut self, received: Completion) {
        let Buffer::In(buffer) = received.buffer else { panic!("a receive gives its buffer back") };
        self.received.take_back_in(buffer);
    }
}

fn copies(rank: &LocalRank) -> u64 {
    rank.counters().unwrap()[Counter::Copies]
}

/// Sends messages of all lengths from rank 0 to rank 1; returns the number of pieces that each rank copied.
fn exchange(ranks: &[LocalRank; 2], mut turns: impl FnMut() -> [bool; 2]) -> [u64; 2] {
    let before = ranks.each_ref().map(copies);
    for len in LENGTHS {
        let mut message = Message::start([&ranks[0], &ranks[1]], 1, len);
        // The receiver meets the announcement, and names the end that copies.
        for _ in 0..2 {
            for rank in ranks {
                rank.poll().unwrap();
            }
        }
        message.go_on(ranks, &mut turns);
        message.check(&ranks[0], &ranks[1]);
    }
    let after = ranks.each_ref().map(copies);
    [after[0] - before[0], after[1] - before[1]]
}

#[test]
fn both_ends_copy_while_both_are_in_the_library() {
    let ranks = ranks("both");
    let [sender, receiver] = exchange(&ranks, || [true, true]);
    assert!(sender >= 10 && receiver >= 10, "{sender} pieces by the sender, {receiver} by the receiver");
    assert_eq!(ranks[1].counters().unwrap()[Counter::DirectReceived], LENGTHS.len() as u64);
}

#[test]
fn either_end_copies_nearly_all_while_the_other_one_computes() {
    for late in [0, 1] {
        let ranks = ranks("both");
        let mut turn = 0;
        let pieces = exchange(&ranks, || {
            turn += 1;
            let mut turns = [true, true];
            turns[late] = turn % 40 == 0;
            turns
        });
        assert!(pieces[1 - late] > 2 * pieces[late], "rank {late} computes, and both copied {pieces:?}");
    }
}

#[test]
fn the_receiver_alone_copies_where_the_setting_says_so_and_none_where_it_says_never() {
    let always = ranks("always");
    exchange(&always, || [true, true]);
    // Shorter ones leave at once, through the ring.
    let read = LENGTHS.iter().filter(|len| **len >= 300_000).count() as u64;
    let direct = always[1].counters().unwrap()[Counter::DirectReceived];
    assert_eq!(direct, read, "a standard send of up to 256 KB waits for no receive");
    let never = ranks("never");
    exchange(&never, || [true, true]);
    assert_eq!(never[1].counters().unwrap()[Counter::DirectReceived], 0);
}

/// If the sender dies with any number of pieces copied, the receive fails and its memory is the program's
/// again.
#[test]
fn a_receive_fails_when_its_sender_dies_amid_the_copy() {
    for passes in 0..12 {
        let [sender, receiver] = ranks("both");
        let mut message = Message::start([&sender, &receiver], 1, 1 << 20);
        for _ in 0..passes {
            sender.poll().unwrap();
            receiver.poll().unwrap();
        }
        receiver.report_death(Rank(0));
        let received = receiver.wait(message.receiving, None).unwrap();
        let is_whole = received.result.is_ok();
        assert!(is_whole || matches!(received.result, Err(Error::Failed(Failure::PeerFailed(Rank(0))))));
        message.take_back(received);
        let kept = message.received.bytes().to_vec();
        // The rest of the sender writes no more.
        (0..20).for_each(|_| drop(sender.poll()));
        assert!(kept == message.received.bytes(), "after {passes} passes");
        assert!(!is_whole || kept == pattern(1 << 20));
    }
}

/// If the receiver dies, the send fails or has ended, and its memory comes back.
#[test]
fn a_send_ends_when_its_receiver_dies_amid_the_copy() {
    for passes in 0..12 {
        let [sender, receiver] = ranks("both");
        let mut message = Message::start([&sender, &receiver], 1, 1 << 20);
        for _ in 0..passes {
            sender.poll().unwrap();
            receiver.poll().unwrap();
        }
        sender.report_death(Rank(1));
        let sent = sender.wait(message.sending, None).unwrap();
        assert!(
            sent.result.is_ok() || matches!(sent.result, Err(Error::Failed(Failure::PeerFailed(Rank(1)))))
        );
        let Buffer::Out(buffer) = sent.buffer else { panic!("a send gives its buffer back") };
        message.sent.take_back_out(buffer);
        std::mem::forget(message);
    }
}
