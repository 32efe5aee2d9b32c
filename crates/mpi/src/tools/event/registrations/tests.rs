//! Callbacks of event registrations: order, and freeing while a callback runs.

use canele_engine::Rank;

use super::*;

const RAIL_LOST: i32 = 1;
const RANK_DIED: i32 = 2;

type Log = Arc<Mutex<Vec<String>>>;

fn lost(rail: u8) -> ProtoEvent {
    ProtoEvent::RailLost { peer: Rank(1), rail }
}

/// Returns a function that logs its events.
fn logged(events: &'static ToolEvents, log: &Log, who: &'static str) -> Option<(Callback, usize)> {
    let log = log.clone();
    let callback: Callback = Arc::new(move |number, safety| {
        let rail =
            events.told(number).expect("it is being told").event.elements().nth(1).map(|(_, rail)| rail);
        log.lock().unwrap().push(format!("{who} {} {safety}", rail.unwrap()));
    });
    Some((callback, 7))
}

fn taken(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().unwrap())
}

fn new() -> (&'static ToolEvents, Log) {
    (Box::leak(Box::default()), Log::default())
}

#[test]
fn events_go_in_order_to_those_who_listened_when_they_were_raised() {
    let (events, log) = new();
    events.raise(lost(1));
    assert!(!events.is_pending(), "no registration");
    let first = events.register(RAIL_LOST).unwrap();
    events.raise(lost(2));
    assert!(!events.is_pending(), "it has no function");
    events.set_callback(first, 0, logged(events, &log, "a")).unwrap();
    events.raise(lost(3));
    let second = events.register(RAIL_LOST).unwrap();
    events.set_callback(second, 0, logged(events, &log, "b")).unwrap();
    let other = events.register(RANK_DIED).unwrap();
    events.set_callback(other, 0, logged(events, &log, "c")).unwrap();
    events.raise(lost(4));
    assert!(events.is_pending());
    events.tell(0);
    assert_eq!(taken(&log), ["a 3 0", "a 4 0", "b 4 0"]);
    assert!(!events.is_pending());
    events.set_callback(first, 0, None).unwrap();
    events.raise(lost(5));
    events.tell(0);
    assert_eq!(taken(&log), ["b 5 0"]);
    assert_eq!(events.told(1).unwrap_err().reason, Reason::InvalidHandle, "nothing is being told");
}

#[test]
fn the_least_careful_function_that_is_careful_enough_is_called() {
    let (events, log) = new();
    let registration = events.register(RAIL_LOST).unwrap();
    events.set_callback(registration, 0, logged(events, &log, "any")).unwrap();
    events.raise(lost(1));
    events.tell(2);
    assert!(taken(&log).is_empty(), "it is not safe enough");
    let dropped = log.clone();
    let handler: Dropped = Arc::new(move |count, safety, state| {
        dropped.lock().unwrap().push(format!("dropped {count} {safety} {state}"));
    });
    events.set_dropped_handler(registration, Some(handler)).unwrap();
    events.set_callback(registration, 3, logged(events, &log, "signal")).unwrap();
    events.set_callback(registration, 2, logged(events, &log, "thread")).unwrap();
    events.raise(lost(2));
    events.tell(2);
    assert_eq!(taken(&log), ["thread 2 2", "dropped 1 2 7"]);
    events.raise(lost(3));
    events.tell(3);
    events.raise(lost(4));
    events.tell(0);
    assert_eq!(taken(&log), ["signal 3 3", "any 4 0"]);
}

#[test]
fn what_finds_no_room_is_told_as_dropped() {
    let (events, log) = new();
    let registration = events.register(RAIL_LOST).unwrap();
    events.set_callback(registration, 0, logged(events, &log, "a")).unwrap();
    let dropped = log.clone();
    let handler: Dropped =
        Arc::new(move |count, _, _| dropped.lock().unwrap().push(format!("dropped {count}")));
    events.set_dropped_handler(registration, Some(handler)).unwrap();
    (0..super::super::ring::ROOM + 5).for_each(|_| events.raise(lost(1)));
    events.tell(0);
    let told = taken(&log);
    assert_eq!(
        (told.len(), told.last().map(String::as_str)),
        (super::super::ring::ROOM + 1, Some("dropped 5"))
    );
}

#[test]
fn a_function_may_free_its_own_registration_which_ends_after_it() {
    let (events, log) = new();
    let registration = events.register(RAIL_LOST).unwrap();
    let told = log.clone();
    let callback: Callback = Arc::new(move |_, _| {
        told.lock().unwrap().push("told".to_owned());
        let freed = told.clone();
        let freed: Freed = Box::new(move |safety| freed.lock().unwrap().push(format!("freed {safety}")));
        events.free(registration, Some(freed), 0).unwrap();
        told.lock().unwrap().push("asked".to_owned());
        // The caller that delivers events also delivers those raised during the callback.
        events.tell(0);
    });
    events.set_callback(registration, 0, Some((callback, 0))).unwrap();
    events.raise(lost(1));
    events.raise(lost(2));
    events.tell(1);
    assert!(taken(&log).is_empty(), "not safe enough");
    events.raise(lost(3));
    events.raise(lost(4));
    events.tell(0);
    assert_eq!(taken(&log), ["told", "asked", "freed 0"]);
    assert_eq!(events.free(registration, None, 0).unwrap_err().reason, Reason::InvalidHandle, "once");
    let registration = events.register(RAIL_LOST).unwrap();
    let freed: Freed = Box::new(|safety| assert_eq!(safety, 2));
    events.free(registration, Some(freed), 2).unwrap();
}

#[test]
fn who_clears_waits_for_the_thread_that_tells() {
    let (events, _) = new();
    let registration = events.register(RAIL_LOST).unwrap();
    let (is_inside, may_end) = (Arc::new(std::sync::Barrier::new(2)), Arc::new(AtomicBool::new(false)));
    let (inside, end) = (is_inside.clone(), may_end.clone());
    let callback: Callback = Arc::new(move |_, _| {
        inside.wait();
        while !end.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    });
    events.set_callback(registration, 0, Some((callback, 0))).unwrap();
    events.raise(lost(1));
    let teller = std::thread::spawn(|| events.tell(0));
    is_inside.wait();
    let cleared = std::thread::spawn(|| events.clear());
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(!cleared.is_finished(), "the other thread is inside a function");
    may_end.store(true, Ordering::Release);
    cleared.join().unwrap();
    teller.join().unwrap();
}
