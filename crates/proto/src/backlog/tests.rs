use super::*;
use crate::request::Mode;

fn message(request: u32, flow: u32, level: u8) -> Waiting {
    let request = RequestId { index: request, generation: 0 };
    Waiting {
        request,
        flow: FlowId(flow),
        bytes: 8,
        mode: Mode::Standard,
        region: false,
        level,
        policy: RailPolicy::Any,
    }
}

fn join(backlog: &mut Backlog, waiting: Waiting) {
    backlog.join(waiting);
}

/// Returns the requests in the order in which rail 0 gets them.
fn all(backlog: &mut Backlog, by: By) -> Vec<u32> {
    let mut order = Vec::new();
    while let Some((key, waiting)) = backlog.next(0, Takes::Open, by) {
        backlog.cancel(key);
        order.push(waiting.request.index);
    }
    order
}

#[test]
fn by_arrival_nothing_overtakes() {
    let mut backlog = Backlog::default();
    (0..5).map(|n| message(n, n % 2, ORDINARY)).for_each(|m| join(&mut backlog, m));
    assert_eq!(all(&mut backlog, By::Arrival), [0, 1, 2, 3, 4]);
    assert!(backlog.is_empty());
}

#[test]
fn an_urgent_message_overtakes_other_flows_and_raises_its_own() {
    let mut backlog = Backlog::default();
    for (n, flow, level) in [(0, 1, 3), (1, 2, 3), (2, 1, 1), (3, 3, 3), (4, 1, 7), (5, 1, 0)] {
        backlog.join(message(n, flow, level));
    }
    assert_eq!(all(&mut backlog, By::Priority), [0, 2, 4, 5, 1, 3]);
}

#[test]
fn a_flow_that_has_become_less_urgent_stays_in_order() {
    for by in [By::Priority, By::Arrival] {
        let mut backlog = Backlog::default();
        for (n, flow, level) in [(0, 1, 7), (1, 2, 3), (2, 1, 3), (3, 1, 0)] {
            backlog.join(message(n, flow, level));
        }
        let order = all(&mut backlog, by);
        let at = |n: u32| order.iter().position(|m| *m == n);
        assert!(at(0) < at(2) && at(2) < at(3), "{by:?}: {order:?}");
    }
}

#[test]
fn a_message_that_comes_back_has_passed_no_other() {
    let mut backlog = Backlog::default();
    backlog.join(message(1000, 1, 0));
    backlog.join(message(0, 2, 7));
    for _ in 0..2 * GUARD {
        let (key, waiting) = backlog.next(0, Takes::Open, By::Priority).unwrap();
        assert_eq!(waiting.request.index, 0);
        backlog.draw(key);
        backlog.put_back(key);
    }
}

#[test]
fn what_is_not_urgent_has_its_turn_all_the_same() {
    let mut backlog = Backlog::default();
    backlog.join(message(1000, 1, 0));
    (0..GUARD + 10).map(|n| message(n, 2, 7)).for_each(|m| join(&mut backlog, m));
    let order = all(&mut backlog, By::Priority);
    let at = order.iter().position(|n| *n == 1000).unwrap();
    assert_eq!(at as u32, GUARD);
}

#[test]
fn lanes_keep_to_their_rails() {
    let mut backlog = Backlog::default();
    for (n, policy) in [(0, RailPolicy::Require(1)), (1, RailPolicy::Prefer(1)), (2, RailPolicy::Any)] {
        backlog.join(Waiting { policy, ..message(n, n, ORDINARY) });
    }
    let next = |backlog: &Backlog, rail, takes| {
        backlog.next(rail, takes, By::Priority).map(|(_, waiting)| waiting.request.index)
    };
    assert_eq!(next(&backlog, 0, Takes::Own), None);
    assert_eq!(next(&backlog, 0, Takes::Open), Some(2));
    assert_eq!(next(&backlog, 0, Takes::Guests), Some(1));
    assert_eq!(next(&backlog, 1, Takes::Open), Some(0));
    assert_eq!(next(&backlog, 2, Takes::Own), None);
    assert_eq!(next(&backlog, 2, Takes::All), Some(0));
}

#[test]
fn a_flow_stays_in_its_lane_while_it_waits() {
    let mut backlog = Backlog::default();
    backlog.join(Waiting { policy: RailPolicy::Require(1), ..message(0, 7, ORDINARY) });
    backlog.join(message(1, 7, ORDINARY));
    assert!(backlog.next(0, Takes::Guests, By::Priority).is_none());
}

#[test]
fn what_was_drawn_comes_back_where_it_was() {
    let mut backlog = Backlog::default();
    (0..6).map(|n| message(n, n % 2, if n == 5 { 4 } else { 3 })).for_each(|m| join(&mut backlog, m));
    let drawn: Vec<Key> = (0..4)
        .map(|_| {
            let (key, _) = backlog.next(0, Takes::Open, By::Priority).unwrap();
            backlog.draw(key);
            key
        })
        .collect();
    assert_eq!(backlog.len(), 2);
    drawn.into_iter().rev().for_each(|key| backlog.put_back(key));
    // Flow 1 was raised by its last message.
    assert_eq!(all(&mut backlog, By::Priority), [1, 3, 5, 0, 2, 4]);
}

#[test]
fn the_middle_of_a_flow_can_be_cancelled() {
    let mut backlog = Backlog::default();
    let keys: Vec<Key> = (0..4).map(|n| backlog.join(message(n, 1, 2))).collect();
    backlog.cancel(keys[1]);
    backlog.cancel(keys[3]);
    // It raises those before it, through the gap.
    backlog.join(message(4, 1, 6));
    backlog.join(message(5, 2, 6));
    assert_eq!(all(&mut backlog, By::Priority), [0, 2, 4, 5]);
}

#[test]
fn a_message_joins_and_leaves_a_million_others_in_a_bounded_number_of_steps() {
    // The chain bounds the steps, not a clock: walking the list would not end in a test's time.
    let mut backlog = Backlog::default();
    let keys: Vec<Key> = (0..1_000_000).map(|n| backlog.join(message(n, n % 16, ORDINARY))).collect();
    for key in keys.iter().rev().step_by(2) {
        backlog.cancel(*key);
    }
    assert_eq!(backlog.len(), 500_000);
    backlog.join(message(1_000_000, 99, 7));
    assert_eq!(backlog.next(0, Takes::Open, By::Priority).unwrap().1.request.index, 1_000_000);
}

#[test]
fn streams_take_turns_within_their_level() {
    let id = |n| RequestId { index: n, generation: 0 };
    let mut backlog = Backlog::default();
    for (n, level) in [(0, 3), (1, 3), (2, 5)] {
        backlog.stream(id(n), level, 10);
    }
    let mut order = Vec::new();
    for _ in 0..5 {
        let (request, level) = backlog.next_stream().unwrap();
        order.push(request.index);
        if request.index != 2 {
            backlog.go_on(request, level, 2);
        }
    }
    assert_eq!(order, [2, 0, 1, 0, 1]);
}
