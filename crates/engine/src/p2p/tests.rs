//! Messages between two ranks in one process, without an engine around the parts.

use canele_mem::buffer;
use canele_mem::window::Window;
use canele_proto::request::{Buffer, Mode};
use canele_proto::{Envelope, PendingOperation, Received, Receives, Sent, ShortAddress, ShortSent};
use canele_sys::ids::{FlowId, Rank, Tag};

use super::tagged::describe;
use crate::Want;
use crate::fixture::two_on_one_host;
use crate::lane::Lane;

const FLOW: FlowId = FlowId(0);
const TAG: Tag = Tag(7);

fn post(from: &mut Lane, bytes: &[u8]) {
    let to = Rank(1 - from.proto.me().0);
    assert_eq!(from.post(Envelope::new(to, FLOW, TAG), bytes), Sent::Done);
}

fn want(source: Option<Rank>) -> Want {
    Want { source, tag: Some(TAG) }
}

#[test]
fn a_message_is_taken_straight_from_its_link_from_one_source_or_any() {
    let [mut a, mut b] = two_on_one_host();
    for source in [Some(Rank(0)), None] {
        post(&mut a, &[1, 2, 3]);
        let mut into = [0; 4];
        let Received::Done(status) = b.try_recv(FLOW, want(source), &mut into[..]) else {
            panic!("a message lies in the ring")
        };
        assert_eq!((status.source, status.tag, status.bytes), (Rank(0), TAG, 3));
        assert_eq!(into, [1, 2, 3, 0]);
        assert_eq!(b.try_recv(FLOW, want(source), &mut into[..]), Received::Nothing);
    }
}

/// Receives of so many bytes each, in order, with these tags.
struct InOrder<const SHORT: bool> {
    tags: Vec<Tag>,
    bytes: [u8; 4],
    lengths: Vec<usize>,
}

impl<const SHORT: bool> Receives for InOrder<SHORT> {
    const SHORT: bool = SHORT;

    fn accept(&mut self, tag: Tag, bytes: Window<'_>) -> bool {
        let is_wanted = self.tags.get(self.lengths.len()) == Some(&tag);
        let Some(into) = self.bytes.get_mut(..bytes.len()).filter(|_| is_wanted) else { return false };
        bytes.read(0, into);
        self.lengths.push(bytes.len());
        true
    }
}

#[test]
fn a_run_of_receives_takes_messages_up_to_the_first_that_is_not_wanted() {
    run_up_to_the_first_that_is_not_wanted::<false>();
    run_up_to_the_first_that_is_not_wanted::<true>();
}

fn run_up_to_the_first_that_is_not_wanted<const SHORT: bool>() {
    let [mut a, mut b] = two_on_one_host();
    let mut run = |expected: &[usize], tags: &[Tag]| {
        let mut receives = InOrder::<SHORT> { tags: tags.to_vec(), bytes: [0; 4], lengths: Vec::new() };
        b.proto.receive_run(&mut b.rails, (Rank(0), FLOW), &mut receives);
        assert_eq!(receives.lengths, expected);
    };
    for bytes in [&[1][..], &[1, 2], &[1, 2, 3, 4, 5], &[1, 2, 3]] {
        post(&mut a, bytes);
    }
    run(&[], &[Tag(8)]);
    run(&[1], &[TAG]);
    run(&[2], &[TAG; 3]); // The next one is too long.
    let mut into = [0; 5];
    let Received::Done(status) = b.try_recv(FLOW, want(Some(Rank(0))), &mut into[..]) else {
        panic!("a message lies in the ring")
    };
    assert_eq!(status.bytes, 5);
    let mut last = InOrder::<SHORT> { tags: vec![TAG; 2], bytes: [0; 4], lengths: Vec::new() };
    b.proto.receive_run(&mut b.rails, (Rank(0), FLOW), &mut last);
    assert_eq!((last.bytes, last.lengths), ([1, 2, 3, 0], vec![3]));
    assert_eq!(b.proto.traffic.received[0].messages, 4);
}

/// Sends a short message on the short path.
fn post_short(from: &mut Lane, bytes: &[u8]) -> ShortSent {
    let to = Rank(1 - from.proto.me().0);
    let address = ShortAddress { peer: from.proto.peer_index(to), flow: FLOW };
    from.proto.post_short(&mut from.rails, &address, TAG, bytes)
}

/// Receives a short message on the short path; returns its length.
fn take_short(by: &mut Lane, into: &mut [u8]) -> Option<usize> {
    let from = Rank(1 - by.proto.me().0);
    let address = ShortAddress { peer: by.proto.peer_index(from), flow: FLOW };
    by.proto.take_short(&mut by.rails, &address, TAG, into)
}

/// Over many laps of the ring the general path takes the messages that the short path leaves, and the order
/// is one.
#[test]
fn the_short_path_and_the_general_one_keep_one_order() {
    let [mut a, mut b] = two_on_one_host();
    let (mut left, mut next) = ([0; 2], 0u64);
    for n in 0..20_000u64 {
        if post_short(&mut a, &n.to_ne_bytes()) == ShortSent::Left {
            left[0] += 1;
            post(&mut a, &n.to_ne_bytes());
        }
        if n % 7 < 3 && n > 6 {
            continue;
        }
        while next <= n {
            let mut into = [0; 8];
            if take_short(&mut b, &mut into) != Some(8) {
                left[1] += 1;
                let got = b.try_recv(FLOW, want(Some(Rank(0))), &mut into[..]);
                assert!(matches!(got, Received::Done(_)), "message {next}: {got:?}");
            }
            assert_eq!(u64::from_ne_bytes(into), next);
            next += 1;
        }
        // Nothing is under way: credit goes back.
        b.proto.pass(&mut b.rails);
        a.proto.pass(&mut a.rails);
    }
    assert!(left.iter().all(|left| (1..4000).contains(left)), "{left:?} of the messages were left");
    assert_eq!(a.proto.traffic.sent[0].messages, 20_000);
    assert_eq!(b.proto.traffic.received[0].messages, next);
}

#[test]
fn the_short_path_leaves_what_is_long_not_wanted_or_of_a_peer_that_is_gone() {
    let [mut a, mut b] = two_on_one_host();
    assert_eq!(post_short(&mut a, &[1; 49]), ShortSent::Left);
    assert_eq!(post_short(&mut a, &[1; 48]), ShortSent::Done);
    let mut into = [0; 48];
    assert_eq!(take_short(&mut b, &mut into[..47]), None, "it does not fit");
    assert_eq!(take_short(&mut b, &mut into), Some(48));
    assert_eq!(into, [1; 48]);
    assert_eq!(take_short(&mut b, &mut into), None, "nothing has come");
    post(&mut a, &[2; 100]);
    assert_eq!(take_short(&mut b, &mut [0; 100]), None, "it is not short");
    a.proto.handle_gone(Rank(1), canele_proto::peer::PeerEnd::Failed);
    assert_eq!(post_short(&mut a, &[1]), ShortSent::Left);
    b.proto.handle_gone(Rank(0), canele_proto::peer::PeerEnd::Failed);
    assert_eq!(take_short(&mut b, &mut into), None);
}

#[test]
fn no_message_is_taken_past_a_posted_receive() {
    let [mut a, mut b] = two_on_one_host();
    let mut posted = [0; 1];
    buffer::scope(|scope| {
        let id = b.proto.submit_recv(FLOW, want(None), scope.lend_mut(&mut posted));
        post(&mut a, &[5]);
        assert_eq!(b.try_recv(FLOW, want(None), &mut [0; 1][..]), Received::NotHere);
        b.proto.pass(&mut b.rails);
        let outcome = b.proto.take(id).expect("the message has come");
        let Buffer::In(buffer) = outcome.buffer else { panic!("a receive gives its buffer back") };
        scope.take_back_mut(buffer);
    });
    assert_eq!(posted, [5]);
}

#[test]
fn messages_without_a_receive_are_listed_the_oldest_first_and_the_others_counted() {
    let [mut a, mut b] = two_on_one_host();
    let other = FlowId(2);
    for (flow, tag) in [(FLOW, 9), (other, 1), (FLOW, 8), (FLOW, 7)] {
        assert_eq!(a.post(Envelope::new(Rank(1), flow, Tag(tag)), &[0; 24][..]), Sent::Done);
        b.proto.pass(&mut b.rails);
    }
    let listed = |most, is_meant: fn(FlowId) -> bool| {
        let (messages, left_out) = b.proto.unexpected_messages(most, is_meant);
        let told = messages.iter().map(|(flow, status)| (flow.0, status.tag.0, status.bytes));
        (told.collect::<Vec<_>>(), left_out)
    };
    assert_eq!(listed(8, |_| true), (vec![(0, 9, 24), (0, 8, 24), (0, 7, 24), (2, 1, 24)], 0));
    assert_eq!(listed(2, |_| true), (vec![(0, 9, 24), (0, 8, 24)], 2));
    assert_eq!(listed(8, |flow| flow != FLOW), (vec![(2, 1, 24)], 0));
}

#[test]
fn a_rank_that_has_finished_takes_nothing() {
    let [mut a, mut b] = two_on_one_host();
    post(&mut a, &[1]);
    b.is_closed = true;
    assert_eq!(b.try_recv(FLOW, want(None), &mut [0; 1][..]), Received::NotHere);
}

#[test]
fn a_receive_from_any_source_is_told_of_a_death_before_it_takes_a_message() {
    let [mut a, mut b] = two_on_one_host();
    post(&mut a, &[1]);
    b.proto.pass(&mut b.rails);
    b.proto.handle_gone(Rank(0), canele_proto::peer::PeerEnd::Failed);
    assert_eq!(b.try_recv_or_post(FLOW, want(None), &mut [0; 1][..]), Received::NotHere);
}

#[test]
fn a_lent_message_ends_when_its_receiver_has_it() {
    let [mut a, mut b] = two_on_one_host();
    let (sent, mut received) = (vec![9; 100_000], vec![0; 100_000]);
    buffer::scope(|scope| {
        let envelope = Envelope { mode: Mode::Synchronous, ..Envelope::new(Rank(1), FLOW, TAG) };
        let send = a.submit_send(envelope, scope.lend(&sent));
        let receive = b.proto.submit_recv(FLOW, want(Some(Rank(0))), scope.lend_mut(&mut received));
        let pending = |is_send, peer| PendingOperation {
            is_send,
            peer: Some(peer),
            flow: Some(FLOW),
            tag: Some(TAG),
            bytes: 100_000,
            is_moving: false,
        };
        assert_eq!(a.proto.pending_operation(send), Some(pending(true, Rank(1))));
        assert_eq!(b.proto.pending_operation(receive), Some(pending(false, Rank(0))));
        let mut ended = 0;
        while ended < 2 {
            for (rank, id) in [(&mut a, send), (&mut b, receive)] {
                rank.proto.pass(&mut rank.rails);
                let Some(outcome) = rank.proto.take(id) else { continue };
                assert_eq!(rank.proto.pending_operation(id), None, "it has ended");
                assert_eq!(outcome.result.map(|status| status.bytes), Ok(100_000));
                match outcome.buffer {
                    Buffer::Out(buffer) => scope.take_back(buffer),
                    Buffer::In(buffer) => scope.take_back_mut(buffer),
                    Buffer::None => panic!("memory was lent"),
                }
                ended += 1;
            }
        }
    });
    assert_eq!(sent, received);
}

#[test]
fn what_a_receive_waits_for_is_said_in_words() {
    assert_eq!(describe(want(Some(Rank(3)))), "a message from rank 3 with tag 7");
    assert_eq!(describe(Want { source: None, tag: None }), "a message from any rank with any tag");
}
