//! Long messages between private buffers with gaps that both ends copy, by two ranks of one process that take
//! turns in one thread.

use std::sync::Arc;

use canele_engine::{Buffer, Engine, Error, Failure, FlowId, Mode, Pending, Rank, Tag, Want};
use canele_mem::buffer::{RawMut, ReusableMemory};
use canele_mem::layout::Layout;
use canele_sys::counters::Counter;
use canele_sys::tunables::Tunables;
use canele_testing::LocalRank;

const FLOW: FlowId = FlowId(0);
const TAG: Tag = Tag(5);
/// A message with many pieces.
const LONG: Blocks = Blocks { count: 40, block: 40_000, stride: 50_000 };

/// Blocks of one length at equal distances.
#[derive(Clone, Copy, Debug)]
struct Blocks {
    count: usize,
    block: usize,
    stride: usize,
}

impl Blocks {
    fn one(block: usize) -> Self {
        Self { count: 1, block, stride: block }
    }

    fn total(self) -> usize {
        self.count * self.block
    }

    fn layout(self) -> Arc<Layout> {
        Arc::new(Layout::block(self.block).repeated(self.count, self.stride as isize).unwrap())
    }

    /// Returns memory with the first `len` bytes of the message, and zeros elsewhere.
    fn memory(self, len: usize) -> Vec<u8> {
        let mut memory = vec![0; self.count * self.stride];
        for at in 0..len {
            memory[at / self.block * self.stride + at % self.block] = byte(at);
        }
        memory
    }
}

fn byte(at: usize) -> u8 {
    (at * 31 + at / 4099 + 1) as u8
}

fn ranks() -> [LocalRank; 2] {
    let tunables = Tunables { single_copy: "both", ..Tunables::default() };
    let mut ranks = canele_testing::start(2, &tunables).unwrap().into_iter();
    let ranks = [ranks.next().unwrap(), ranks.next().unwrap()];
    // Once each has got a message, both know the memory that they may access.
    for to in [1, 0] {
        let message = Message::start(&ranks, to, [Blocks::one(8); 2]);
        message.go_on(&ranks, || [true, true]);
        message.check(&ranks);
    }
    ranks
}

/// A message under way, and the memory of its receiver.
struct Message {
    blocks: [Blocks; 2],
    received: ReusableMemory,
    sending: Pending,
    receiving: Pending,
    /// The receiver.
    to: usize,
}

impl Message {
    fn start(ranks: &[LocalRank; 2], to: usize, blocks: [Blocks; 2]) -> Self {
        let [sent, into] = blocks;
        let sent_memory = RawMut::of(sent.memory(sent.total()).leak(), 0);
        let mut received = ReusableMemory::new(RawMut::of(into.memory(0).leak(), 0));
        let buffer = sent.layout().lend(sent_memory.into_raw(), 1);
        let sending = ranks[1 - to].isend(Rank(to as u32), FLOW, TAG, Mode::Standard, buffer);
        let want = Want { source: Some(Rank(1 - to as u32)), tag: Some(TAG) };
        let receiving = ranks[to].irecv(FLOW, want, received.lend_mut(&into.layout(), 1));
        let sending = sending.unwrap_or_else(|refused| panic!("{}", refused.0));
        let receiving = receiving.unwrap_or_else(|refused| panic!("{}", refused.0));
        Self { blocks, received, sending, receiving, to }
    }

    /// Gives each rank a turn that has one, until both operations have ended.
    fn go_on(&self, ranks: &[LocalRank; 2], mut turns: impl FnMut() -> [bool; 2]) {
        let ended = |rank: &LocalRank, pending| rank.completions(|all| all.has_ended(pending)).unwrap();
        for _ in 0..100_000 {
            for (rank, has_turn) in ranks.iter().zip(turns()) {
                if has_turn {
                    rank.poll().unwrap();
                }
            }
            if ended(&ranks[1 - self.to], self.sending) && ended(&ranks[self.to], self.receiving) {
                return;
            }
        }
        panic!("the message does not arrive");
    }

    fn check(self, ranks: &[LocalRank; 2]) {
        let [sent, into] = self.blocks;
        ranks[1 - self.to].test(self.sending).unwrap().expect("it has ended").result.unwrap();
        let received = ranks[self.to].test(self.receiving).unwrap().expect("it has ended");
        assert_eq!(received.result.as_ref().unwrap().bytes, sent.total());
        let memory = take_back(self.received, received.buffer, into);
        assert!(memory == into.memory(sent.total()), "{sent:?} to {into:?}");
    }
}

/// Returns the memory of a receive that has ended.
fn take_back(mut memory: ReusableMemory, buffer: Buffer, blocks: Blocks) -> Vec<u8> {
    let Buffer::In(buffer) = buffer else { panic!("a receive gives its buffer back") };
    memory.take_back_mut(buffer);
    memory.raw().bytes_mut(0, blocks.count * blocks.stride).to_vec()
}

/// Sends a message from rank 0 to rank 1; returns the number of pieces that each rank copied, and true if it
/// was copied once.
fn exchange(
    ranks: &[LocalRank; 2],
    blocks: [Blocks; 2],
    turns: impl FnMut() -> [bool; 2],
) -> ([u64; 2], bool) {
    let count = |rank: &LocalRank, counter| rank.counters().unwrap()[counter];
    let before = ranks.each_ref().map(|rank| count(rank, Counter::Copies));
    let direct = count(&ranks[1], Counter::DirectReceived);
    let message = Message::start(ranks, 1, blocks);
    // The receiver meets the announcement, and names the end that copies.
    for _ in 0..2 {
        ranks.iter().for_each(|rank| rank.poll().map(drop).unwrap());
    }
    message.go_on(ranks, turns);
    message.check(ranks);
    let after = ranks.each_ref().map(|rank| count(rank, Counter::Copies));
    let is_direct = count(&ranks[1], Counter::DirectReceived) > direct;
    ([after[0] - before[0], after[1] - before[1]], is_direct)
}

/// Returns the message without gaps, to or from which the long one goes.
fn whole() -> Blocks {
    Blocks::one(LONG.total())
}

#[test]
fn both_ends_copy_long_blocks_wherever_the_gaps_are() {
    let ranks = ranks();
    let other = Blocks { count: 80, block: 20_000, stride: 20_001 };
    for blocks in [[LONG, whole()], [whole(), LONG], [LONG, LONG], [LONG, other], [other, LONG]] {
        let ([sender, receiver], is_direct) = exchange(&ranks, blocks, || [true, true]);
        assert!(is_direct && sender >= 2 && receiver >= 2, "{blocks:?}: {sender} and {receiver} pieces");
    }
}

#[test]
fn short_blocks_of_a_sender_go_through_the_ring() {
    let ranks = ranks();
    let short = Blocks { count: 200, block: 8000, stride: 8001 };
    for blocks in [[short, whole()], [short, short], [LONG, short]] {
        assert!(!exchange(&ranks, blocks, || [true, true]).1, "{blocks:?}");
    }
    let (pieces, is_direct) = exchange(&ranks, [whole(), short], || [true, true]);
    assert!(is_direct && pieces[0] == 0, "the receiver reads into short blocks alone");
}

#[test]
fn either_end_copies_nearly_all_blocks_while_the_other_one_computes() {
    for late in [0, 1] {
        for blocks in [[LONG, whole()], [whole(), LONG], [LONG, LONG]] {
            let mut turn = 0;
            let (pieces, _) = exchange(&ranks(), blocks, || {
                turn += 1;
                let mut turns = [true, true];
                turns[late] = turn % 40 == 0;
                turns
            });
            assert!(pieces[1 - late] > 2 * pieces[late], "rank {late} computes, and both copied {pieces:?}");
        }
    }
}

#[test]
fn messages_of_any_blocks_arrive() {
    let ranks = ranks();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |from: usize, to: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        from + (state % (to - from) as u64) as usize
    };
    let mut direct = 0;
    for _ in 0..60 {
        let mut draw = |least: usize| {
            let block = random(12_000, 60_000);
            let count = least.div_ceil(block).max(random(2, 30));
            Blocks { count, block, stride: block + random(0, 5000) }
        };
        let sent = draw(0);
        let into = draw(sent.total());
        let late = random(0, 3);
        direct += u32::from(
            exchange(&ranks, [sent, into], || [late != 0, late != 1].map(|has| has || random(0, 9) == 0)).1,
        );
    }
    assert!(direct > 30, "{direct} of 60 messages were copied once");
}

/// Starts a message from rank 0 to rank 1, and gives each rank so many turns.
fn start(passes: usize, blocks: [Blocks; 2]) -> ([LocalRank; 2], Message) {
    let ranks = ranks();
    let message = Message::start(&ranks, 1, blocks);
    for _ in 0..passes {
        ranks.iter().for_each(|rank| rank.poll().map(drop).unwrap());
    }
    (ranks, message)
}

/// If the sender dies with any number of pieces copied, the receive fails and its memory is the program's
/// again.
#[test]
fn a_receive_with_gaps_fails_when_its_sender_dies_amid_the_copy() {
    for (passes, blocks) in (0..10).zip([[LONG, LONG], [whole(), LONG]].into_iter().cycle()) {
        let ([sender, receiver], message) = start(passes, blocks);
        receiver.report_death(Rank(0));
        let received = receiver.wait(message.receiving, None).unwrap();
        let is_whole = received.result.is_ok();
        assert!(is_whole || matches!(received.result, Err(Error::Failed(Failure::PeerFailed(Rank(0))))));
        let Buffer::In(buffer) = received.buffer else { panic!("a receive gives its buffer back") };
        let mut memory = message.received;
        memory.take_back_mut(buffer);
        let bytes =
            |memory: &mut ReusableMemory| memory.raw().bytes_mut(0, LONG.count * LONG.stride).to_vec();
        let kept = bytes(&mut memory);
        // The rest of the sender writes no more.
        (0..20).for_each(|_| drop(sender.poll()));
        assert!(kept == bytes(&mut memory), "after {passes} passes");
        assert!(!is_whole || kept == LONG.memory(LONG.total()));
    }
}

/// If the receiver dies, the send fails or has ended.
#[test]
fn a_send_with_gaps_ends_when_its_receiver_dies_amid_the_copy() {
    for (passes, blocks) in (0..10).zip([[LONG, LONG], [LONG, whole()]].into_iter().cycle()) {
        let ([sender, _receiver], message) = start(passes, blocks);
        sender.report_death(Rank(1));
        let sent = wait_for_send(&sender, message.sending);
        assert!(sent.is_ok() || matches!(sent, Err(Error::Failed(Failure::PeerFailed(Rank(1))))));
    }
}

fn wait_for_send(sender: &Engine, sending: Pending) -> Result<(), Error> {
    sender.wait(sending, None).unwrap().result.map(drop)
}
