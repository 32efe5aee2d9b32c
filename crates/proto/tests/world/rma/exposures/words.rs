//! Operations on one word of an exposure: verbs where they are one step with the processors of the owner.

use super::*;

/// Operates on one stretch of elements at a place; the elements of before come into `into`.
fn operate(
    play: &mut Play,
    access: (ElementAction, Option<FetchOp>),
    place: MemoryAddress,
    operands: &[u64],
    into: Option<&Exposed>,
) -> Key {
    let (action, fetch_op) = access;
    let data = Exposed::of(operands.iter().flat_map(|word| word.to_ne_bytes()).collect());
    let len = into.map_or(data.len(), Exposed::len);
    let rma_request = RmaRequest::Access(ElementAccess {
        action,
        place,
        operation: (1, 8),
        len: len as u64,
        elements: None,
    });
    let (proto, rail) = play.net.both(Rank(0));
    let call = NewCall {
        element_bytes: 8,
        fetch_op,
        data: data.out_buffer(0, data.len()),
        into: into.and_then(|into| into.in_buffer(0, len)),
        ..NewCall::new(Rank(OWNER as u32), rma_request)
    };
    let key = play.origins[0].submit(proto, rail, call);
    play.settle();
    key
}

fn word(memory: &Exposed, at: usize) -> u64 {
    bytes(memory, at, 8).try_into().map_or(0, u64::from_ne_bytes)
}

#[test]
fn an_operation_on_one_word_is_a_verb_and_any_other_a_request() {
    let mut play = play_over(Model { recoverable: false, ..Model::default() }, 2);
    let ((memory, key), old) = (expose(&mut play), Exposed::of(vec![1; 8]));
    let (before, place) = (received(&play), at(key, 8));
    let fetch = (ElementAction::GetAccumulate, Some(FetchOp::Add));
    let fetched = operate(&mut play, fetch, place, &[5], Some(&old));
    assert!(result(&mut play, 0, fetched).is_ok());
    assert_eq!((word(&memory, 8), word(&old, 0)), (5, 0));
    let changed = operate(&mut play, (ElementAction::Accumulate, Some(FetchOp::Xor)), place, &[1], None);
    assert!(result(&mut play, 0, changed).is_ok());
    // An operation that keeps the word has no operand.
    let kept = operate(&mut play, (ElementAction::GetAccumulate, Some(FetchOp::Or)), place, &[], Some(&old));
    assert!(result(&mut play, 0, kept).is_ok());
    assert_eq!((word(&memory, 8), word(&old, 0)), (4, 4));
    for (expected, new, found) in [(4, 9, 4), (4, 1, 9)] {
        let swap = (ElementAction::CompareAndSwap, None);
        let swapped = operate(&mut play, swap, place, &[expected, new], Some(&old));
        assert!(result(&mut play, 0, swapped).is_ok());
        assert_eq!((word(&memory, 8), word(&old, 0)), (9, found));
    }
    let flushed = flush(&mut play, 0, key);
    assert_eq!(result(&mut play, 0, flushed), Ok(0));
    assert_eq!(received(&play), before);
    // An owner without a layer above refuses requests: no network operation, an unaligned word, two words.
    let two = Exposed::of(vec![1; 16]);
    for (fetch_op, place, operands, into) in [
        (None, place, [5].as_slice(), &old),
        (Some(FetchOp::Add), at(key, 12), &[5], &old),
        (Some(FetchOp::Add), place, &[5, 5], &two),
    ] {
        let access = (ElementAction::GetAccumulate, fetch_op);
        let refused = operate(&mut play, access, place, operands, Some(into));
        assert_eq!(refusal(result(&mut play, 0, refused)), Err(Refusal::NotAccumulated));
    }
    operate(&mut play, (ElementAction::Accumulate, Some(FetchOp::Add)), at(key, 12), &[5], None);
    let flushed = flush(&mut play, 0, key);
    play.settle();
    assert_eq!(refusal(result(&mut play, 0, flushed)), Err(Refusal::NotAccumulated));
    assert_eq!(word(&memory, 8), 9);
}

#[test]
fn words_of_regions_alone_are_added_to() {
    let mut play = play_over(Model { recoverable: false, ..Model::default() }, 2);
    let (memory, key) = expose(&mut play);
    let add = submit(&mut play, 0, RmaRequest::Add { place: at(key, 0), n: 1 }, None, CallEnding::Taken);
    play.settle();
    assert_eq!(refusal(result(&mut play, 0, add)), Err(Refusal::NoRegion));
    assert_eq!(word(&memory, 0), 0);
}

#[test]
fn no_verb_changes_a_word_where_a_link_may_be_lost() {
    let mut play = play(2);
    let (memory, key) = expose(&mut play);
    let add = (ElementAction::Accumulate, Some(FetchOp::Add));
    operate(&mut play, add, at(key, 0), &[5], None);
    let flushed = flush(&mut play, 0, key);
    play.settle();
    assert_eq!(refusal(result(&mut play, 0, flushed)), Err(Refusal::NotAccumulated));
    assert_eq!(word(&memory, 0), 0);
}
