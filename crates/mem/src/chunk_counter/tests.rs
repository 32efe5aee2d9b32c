use super::*;

const GENERATION: Generation = Generation(3);

/// The fate of the sender when it holds a piece.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fate {
    /// It copies the piece.
    Lives,
    /// After this number of copied pieces it never goes on, because it has died or is stopped.
    HaltsAt(u32),
    /// After this number of copied pieces it cannot write the next one.
    FailsAt(u32),
}

/// The behaviour of the receiver in its turns.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Receiver {
    /// It copies pieces.
    Copies,
    /// It gives up after this number of pieces.
    GivesUpAfter(u32),
    /// It never takes its turn.
    IsLate,
}

/// A transfer in which the ends take turns; it counts the copies of each piece by either end.
struct Transfer {
    counter: ChunkCounter,
    pieces: u32,
    fate: Fate,
    receiver: Receiver,
    by_receiver: Vec<u32>,
    by_sender: Vec<u32>,
    /// The piece that the sender has taken and not copied.
    in_hand: Option<u32>,
    sender_stops: bool,
    received: u32,
}

impl Transfer {
    fn new(pieces: u32, fate: Fate, receiver: Receiver) -> Self {
        let counter = ChunkCounter::default();
        counter.start(GENERATION);
        let none = vec![0; pieces as usize];
        let (by_receiver, by_sender) = (none.clone(), none);
        let (in_hand, sender_stops, received) = (None, false, 0);
        Self { counter, pieces, fate, receiver, by_receiver, by_sender, in_hand, sender_stops, received }
    }

    /// Makes one step of the receiver: copies a piece, or takes the remaining pieces at its end.
    fn receive(&mut self) {
        if self.receiver == Receiver::IsLate {
            return;
        }
        if self.receiver == Receiver::GivesUpAfter(self.received) {
            return self.counter.take_rest(GENERATION, self.pieces);
        }
        if let Some(piece) = self.counter.take_front(GENERATION, self.pieces) {
            self.by_receiver[piece as usize] += 1;
            self.received += 1;
        }
    }

    /// Makes one step of the sender: takes a piece, or copies the one that it has taken.
    fn send(&mut self) {
        let sent = self.by_sender.iter().sum::<u32>();
        match self.in_hand {
            _ if self.sender_stops => {}
            Some(_) if self.fate == Fate::HaltsAt(sent) => self.sender_stops = true,
            Some(_) if self.fate == Fate::FailsAt(sent) => {
                self.counter.fail_piece();
                (self.in_hand, self.sender_stops) = (None, true);
            }
            Some(piece) => {
                self.by_sender[piece as usize] += 1;
                self.counter.finish_piece();
                self.in_hand = None;
            }
            None => self.in_hand = self.counter.take_back(GENERATION, self.pieces),
        }
    }

    fn check(&self) {
        let both = self.by_receiver.iter().zip(&self.by_sender);
        assert!(both.clone().all(|(one, other)| one + other <= 1), "a piece was copied twice");
        let complete = both.clone().all(|(one, other)| one + other == 1);
        match self.counter.progress(GENERATION, self.pieces) {
            CopyProgress::Done => {
                assert!(self.in_hand.is_none(), "the sender still writes");
                let gave_up = matches!(self.receiver, Receiver::GivesUpAfter(_));
                assert!(complete || gave_up, "a piece is missing");
            }
            CopyProgress::Failed => {
                assert!(self.in_hand.is_none() && self.sender_stops, "the sender still writes");
            }
            CopyProgress::Copying => {}
        }
    }
}

/// Runs every order in which the ends take `TURNS` turns, one bit for each.
#[test]
fn whatever_becomes_of_an_end_no_piece_is_copied_twice_and_the_other_end_knows() {
    const TURNS: u32 = if cfg!(miri) { 4 } else { 12 };
    let fates = [Fate::Lives, Fate::HaltsAt(0), Fate::HaltsAt(1), Fate::FailsAt(0), Fate::FailsAt(1)];
    let receivers =
        [Receiver::Copies, Receiver::GivesUpAfter(0), Receiver::GivesUpAfter(1), Receiver::IsLate];
    for pieces in 1..=4 {
        for fate in fates {
            for receiver in receivers {
                for order in 0..1_u32 << TURNS {
                    let mut transfer = Transfer::new(pieces, fate, receiver);
                    for turn in 0..TURNS {
                        if order >> turn & 1 == 0 {
                            transfer.receive()
                        } else {
                            transfer.send()
                        }
                        transfer.check();
                    }
                    // Both go on as long as they can: a sender that lives or fails keeps no piece from its
                    // receiver.
                    (0..12).for_each(|_| transfer.receive());
                    (0..12).for_each(|_| transfer.send());
                    transfer.check();
                    let progress = transfer.counter.progress(GENERATION, pieces);
                    let is_held = transfer.sender_stops && transfer.in_hand.is_some();
                    let ended = match () {
                        () if is_held => progress == CopyProgress::Copying,
                        () if receiver == Receiver::IsLate && transfer.sender_stops => {
                            progress == CopyProgress::Failed
                        }
                        () => progress != CopyProgress::Copying,
                    };
                    assert!(ended, "{pieces} pieces, {fate:?}, {receiver:?}, order {order:b}: {progress:?}");
                    let stopped = transfer.counter.stop();
                    assert_eq!(transfer.counter.is_quiet(stopped), !is_held);
                    let again = transfer.counter.stop();
                    assert!(transfer.counter.is_quiet(again), "a second stop waits for nothing");
                    assert_eq!(transfer.counter.take_back(GENERATION, pieces), None);
                }
            }
        }
    }
}

#[test]
fn either_end_can_do_all_of_it() {
    for is_receiver in [true, false] {
        let counter = ChunkCounter::default();
        counter.start(GENERATION);
        let take = |counter: &ChunkCounter| match is_receiver {
            true => counter.take_front(GENERATION, 3),
            false => counter.take_back(GENERATION, 3),
        };
        let mut pieces = vec![];
        while let Some(piece) = take(&counter) {
            pieces.push(piece);
            if !is_receiver {
                assert_eq!(counter.progress(GENERATION, 3), CopyProgress::Copying);
                counter.finish_piece();
            }
        }
        assert_eq!(pieces, if is_receiver { [0, 1, 2] } else { [2, 1, 0] });
        assert_eq!(counter.progress(GENERATION, 3), CopyProgress::Done);
    }
}

#[test]
fn the_most_pieces_fit_into_the_word_from_either_side() {
    for is_receiver in [true, false] {
        let counter = ChunkCounter::default();
        counter.start(GENERATION);
        for n in 0..MOST_PIECES {
            let piece = match is_receiver {
                true => counter.take_front(GENERATION, MOST_PIECES),
                false => counter.take_back(GENERATION, MOST_PIECES).inspect(|_| counter.finish_piece()),
            };
            assert_eq!(piece, Some(if is_receiver { n } else { MOST_PIECES - 1 - n }));
        }
        assert_eq!(counter.take_front(GENERATION, u32::MAX), None, "no more fit");
        assert_eq!(counter.progress(GENERATION, MOST_PIECES), CopyProgress::Done);
    }
}

#[test]
fn what_a_peer_scribbles_there_ends_the_transfer_and_yields_no_piece_outside() {
    for claims in [0, 5, 5 << 16, u64::MAX, GENERATION.word() | 3 << 16 | 3, GENERATION.word() | 0xffff_ffff]
    {
        let counter = ChunkCounter::default();
        counter.start(GENERATION);
        counter.claims.store(claims, Ordering::Relaxed);
        let ends = [counter.take_front(GENERATION, 5), counter.take_back(GENERATION, 5)];
        assert!(ends.iter().flatten().all(|piece| *piece < 5), "{claims:#x}: {ends:?}");
        counter.take_rest(GENERATION, 5);
        assert_eq!(counter.progress(GENERATION, 5), CopyProgress::Failed, "{claims:#x}");
    }
}
