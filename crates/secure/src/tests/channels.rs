//! Tests of frames and beats after the handshake.

use super::*;

#[test]
fn frames_go_both_ways_in_order() {
    let (mut a, mut b) = pair();
    for length in [0, 1, 4000, MAX_PLAIN] {
        let frame = vec![length as u8; length];
        let sealed = seal(&mut a, &frame);
        assert_eq!(sealed.len(), length + TAG);
        assert_eq!(open(&mut b, &sealed), Ok(frame.clone()));
        let sealed = seal(&mut b, &frame);
        assert_eq!(open(&mut a, &sealed), Ok(frame));
    }
    assert_eq!(a.sealer.seal(&vec![0; MAX_PLAIN + 1], &mut Vec::new()), Err(Refused::Keys));
}

/// Makes frames of a channel of which the last is not the one that the other end may open next.
type WrongFrames = fn(&mut SecureChannel) -> Vec<Vec<u8>>;

#[test]
fn a_frame_that_is_changed_shortened_repeated_moved_or_sent_back_is_refused_and_all_after_it() {
    let order = b"start this program";
    let wrong: [WrongFrames; 6] = [
        |a| {
            let first = seal(a, b"order");
            vec![first.clone(), first]
        },
        |a| {
            let (first, second) = (seal(a, b"order"), seal(a, b"order"));
            vec![second, first]
        },
        |a| {
            seal(a, b"left out");
            vec![seal(a, b"order")]
        },
        |a| vec![seal(a, b"order")[..20].to_vec()],
        |a| vec![[seal(a, b"order"), vec![0]].concat()],
        |_| vec![vec![0; TAG - 1]],
    ];
    for make in wrong {
        let (mut a, mut b) = pair();
        let frames = make(&mut a);
        let opened: Vec<_> = frames.iter().map(|frame| open(&mut b, frame)).collect();
        assert!(opened.contains(&Err(Refused::Frame)), "{opened:?}");
        let next = seal(&mut a, order);
        assert_eq!(open(&mut b, &next), Err(Refused::Frame));
    }
    for (at, bit) in (0..order.len() + TAG).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let (mut a, mut b) = pair();
        let mut sealed = seal(&mut a, order);
        sealed[at] ^= 1 << bit;
        assert_eq!(open(&mut b, &sealed), Err(Refused::Frame), "{at} {bit}");
    }
    let (mut a, _) = pair();
    let own = seal(&mut a, order);
    assert_eq!(open(&mut a, &own), Err(Refused::Frame));
    let (mut other, _) = pair();
    let (_, mut b) = pair();
    assert_eq!(open(&mut b, &seal(&mut other, order)), Err(Refused::Frame));
}

#[test]
fn beats_of_the_one_that_stands_in_are_believed_once_and_in_order() {
    let (mut a, mut b) = pair();
    let mut stands_in = BeatSealer::new(a.sealer.beat_key());
    let beats: Vec<_> = (0..4).map(|_| stands_in.seal_beat()).collect();
    assert_eq!(b.opener.open_beat(&beats[0]), Ok(()));
    // The stopped process continues at its own counter, whatever the other process sent.
    let sealed = seal(&mut a, b"order");
    assert_eq!(open(&mut b, &sealed), Ok(b"order".to_vec()));
    // A beat may be left out: waiting bytes in a full stream prove as much.
    assert_eq!(b.opener.open_beat(&beats[2]), Ok(()));
    for wrong in [&beats[2], &beats[1]] {
        let (a, mut b) = pair();
        let mut stands_in = BeatSealer::new(a.sealer.beat_key());
        let own: Vec<_> = (0..3).map(|_| stands_in.seal_beat()).collect();
        b.opener.open_beat(&own[2]).unwrap();
        assert_eq!(b.opener.open_beat(wrong), Err(Refused::Beat), "of another channel");
        let (a, mut b) = pair();
        let mut stands_in = BeatSealer::new(a.sealer.beat_key());
        let first = stands_in.seal_beat();
        b.opener.open_beat(&first).unwrap();
        assert_eq!(b.opener.open_beat(&first), Err(Refused::Beat), "again");
    }
    for at in 0..BEAT {
        let (a, mut b) = pair();
        let mut beat = BeatSealer::new(a.sealer.beat_key()).seal_beat();
        beat[at] ^= 0x10;
        assert_eq!(b.opener.open_beat(&beat), Err(Refused::Beat), "{at}");
    }
    let (_, mut b) = pair();
    let mut own = BeatSealer::new(b.sealer.beat_key());
    assert_eq!(b.opener.open_beat(&own.seal_beat()), Err(Refused::Beat), "one's own, sent back");
}

#[test]
fn random_bytes_are_no_frame_and_no_beat() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for round in 0..500 {
        let (mut a, mut b) = pair();
        let length = usize::from(random.byte());
        assert!(open(&mut b, &random.bytes(length)).is_err());
        assert!(a.opener.open_beat(&std::array::from_fn(|_| random.byte())).is_err(), "{round}");
    }
}
