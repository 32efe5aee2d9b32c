//! Sleeping and waking of ranks with sockets and shared memory.

use std::thread;
use std::time::{Duration, Instant};

use canele_engine::{Engine, Error, FlowId, Mode, Rank, Tag, Want};
use canele_sys::counters::Counter;
use canele_sys::tunables::{Tunables, Wait};
use canele_testing::LocalRank;

const FLOW: FlowId = FlowId(0);

fn tunables(wait: Wait) -> Tunables {
    Tunables { wait, ..Tunables::default() }
}

fn send(from: &Engine, to: u32, tag: u32, bytes: &[u8]) {
    from.send(Rank(to), FLOW, Tag(tag), Mode::Standard, bytes, None).unwrap();
}

fn want(from: impl Into<Option<u32>>, tag: u32) -> Want {
    Want { source: from.into().map(Rank), tag: Some(Tag(tag)) }
}

/// Receives a message of `bytes` equal bytes; returns one of them.
fn recv(at: &Engine, from: impl Into<Option<u32>>, tag: u32, bytes: usize) -> u8 {
    let mut into = vec![0; bytes];
    let status = at.recv(FLOW, want(from, tag), &mut into, None).unwrap();
    assert_eq!(status.bytes, bytes);
    assert!(into.iter().all(|byte| *byte == into[0]));
    into[0]
}

/// Sends a message there and back `turns` times.
fn ping_pong(engines: [LocalRank; 2], turns: u32, bytes: usize) -> [LocalRank; 2] {
    let [a, b] = engines;
    let back = thread::spawn(move || {
        for n in 0..turns {
            let byte = recv(&b, 0, n, bytes);
            send(&b, 0, n, &vec![byte + 1; bytes]);
        }
        // Bytes that a socket has not taken yet leave while their sender is inside the library.
        b.finish().unwrap();
        b
    });
    for n in 0..turns {
        send(&a, 1, n, &vec![n as u8 % 100; bytes]);
        assert_eq!(recv(&a, 1, n, bytes), n as u8 % 100 + 1);
    }
    // It reports to the other rank that everything has come.
    a.finish().unwrap();
    [a, back.join().unwrap()]
}

fn two(wait: Wait) -> [LocalRank; 2] {
    let engines = canele_testing::start_on_hosts(&[1, 1], &tunables(wait)).unwrap();
    engines.try_into().unwrap_or_else(|_| panic!("two"))
}

#[test]
fn messages_of_all_sizes_come_back_however_ranks_wait() {
    for wait in [Wait::Sleep, Wait::Adaptive] {
        for (turns, bytes) in [(2000, 8), (500, 1000), (100, 16 << 10), (20, 1 << 20)] {
            let [a, b] = ping_pong(two(wait), turns, bytes);
            if wait == Wait::Sleep {
                assert!([a, b].iter().all(|e| e.counters().unwrap()[Counter::Sleeps] > 0));
            }
        }
    }
}

/// Rank 0 shares memory with 1 and has a socket to 2; a message of either finds it asleep.
#[test]
fn a_peer_of_either_kind_that_speaks_wakes_a_rank() {
    const TURNS: u32 = 2000;
    let engines = canele_testing::start_on_hosts(&[2, 1], &tunables(Wait::Sleep)).unwrap();
    let mut engines = engines.into_iter();
    let me = engines.next().unwrap();
    let others: Vec<_> = engines
        .map(|engine| {
            thread::spawn(move || {
                let rank = engine.rank().0;
                for n in 0..TURNS {
                    assert_eq!(recv(&engine, 0, n, 8), rank as u8);
                    // To a receive with a source, or to one from any source.
                    send(&engine, 0, n, &[rank as u8; 8]);
                }
                engine
            })
        })
        .collect();
    for n in 0..TURNS {
        let (first, second) = if n % 3 == 0 { (2, 1) } else { (1, 2) };
        send(&me, first, n, &[first as u8; 8]);
        if n % 2 == 0 {
            assert_eq!(recv(&me, first, n, 8), first as u8);
            send(&me, second, n, &[second as u8; 8]);
            assert_eq!(recv(&me, None, n, 8), second as u8);
        } else {
            send(&me, second, n, &[second as u8; 8]);
            assert_eq!(recv(&me, None, n, 8) + recv(&me, None, n, 8), 3);
        }
    }
    assert!(me.counters().unwrap()[Counter::Sleeps] > 0);
    for other in others {
        other.join().unwrap();
    }
}

/// A thread that waits sleeps on the sockets. Another one of the rank submits, receives and tests meanwhile,
/// and takes packets from the sockets that would have ended that sleep.
#[test]
fn threads_of_a_rank_wake_each_other() {
    const TURNS: u32 = 1000;
    let [a, b] = two(Wait::Sleep);
    let echo = thread::spawn(move || {
        for n in 0..TURNS {
            for flow in [1, 2] {
                let byte = recv(&b, 0, 2 * n + flow - 1, 8);
                send(&b, 0, 2 * n + flow - 1, &[byte; 8]);
            }
        }
        b
    });
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            for n in 0..TURNS {
                send(&a, 1, 2 * n, &[1; 8]);
                assert_eq!(recv(&a, 1, 2 * n, 8), 1);
            }
        });
        for n in 0..TURNS {
            send(&a, 1, 2 * n + 1, &[2; 8]);
            while a.iprobe(FLOW, want(1, 2 * n + 1)).unwrap().is_none() {
                thread::yield_now();
            }
            assert_eq!(recv(&a, 1, 2 * n + 1, 8), 2);
        }
        waiting.join().unwrap();
    });
    echo.join().unwrap();
}

#[test]
fn a_deadline_ends_a_sleep_on_sockets_and_the_message_still_comes() {
    let [a, b] = two(Wait::Sleep);
    let mut into = [0; 8];
    let soon = Some(Instant::now() + Duration::from_millis(20));
    assert!(matches!(a.recv(FLOW, want(1, 0), &mut into, soon), Err(Error::Deadline(_))));
    let other = thread::spawn(move || {
        send(&b, 0, 0, &[7; 8]);
        b
    });
    assert_eq!(recv(&a, 1, 0, 8), 7);
    other.join().unwrap();
}

/// The receiver knows of the message, and is asked to forget it.
#[test]
fn a_deadline_withdraws_a_long_send_that_no_rank_receives() {
    let [a, b] = two(Wait::Sleep);
    let other = thread::spawn(move || {
        assert_eq!(recv(&b, 0, 1, 8), 7);
        assert!(b.iprobe(FLOW, want(0, 0)).unwrap().is_none());
        b
    });
    let soon = Some(Instant::now() + Duration::from_millis(20));
    let sent = a.send(Rank(1), FLOW, Tag(0), Mode::Standard, &[1; 1 << 20], soon);
    assert!(matches!(sent, Err(Error::Deadline(_))), "{sent:?}");
    send(&a, 1, 1, &[7; 8]);
    other.join().unwrap();
}

#[test]
fn a_rank_that_waits_for_long_sleeps_and_nothing_else() {
    let [a, b] = two(Wait::Adaptive);
    let other = thread::spawn(move || {
        send(&b, 0, 0, &[1; 8]);
        b
    });
    assert_eq!(recv(&a, 1, 0, 8), 1);
    let _b = other.join().unwrap();
    let sleeps = || a.counters().unwrap()[Counter::Sleeps];
    let calls = || a.counters().unwrap()[Counter::SystemCalls];
    let before = (sleeps(), calls());
    let late = Some(Instant::now() + Duration::from_millis(500));
    assert!(a.recv(FLOW, want(1, 99), &mut [0; 8], late).is_err());
    assert!((1..10).contains(&(sleeps() - before.0)), "{} sleeps", sleeps() - before.0);
    assert!(calls() - before.1 < 200, "{} system calls", calls() - before.1);
}

#[test]
fn ranks_that_finish_have_lost_nothing() {
    const MESSAGES: u32 = 300;
    let [a, b] = two(Wait::Adaptive);
    let sender = thread::spawn(move || {
        for n in 0..MESSAGES {
            send(&a, 1, n, &[n as u8; 1000]);
        }
        a.finish().unwrap();
    });
    for n in 0..MESSAGES {
        assert_eq!(recv(&b, 0, n, 1000), n as u8);
    }
    b.finish().unwrap();
    sender.join().unwrap();
}

#[test]
fn a_peer_that_has_finished_is_known_without_a_launcher_and_not_connected_to_again() {
    let [a, b] = two(Wait::Sleep);
    let leaving = thread::spawn(move || {
        assert_eq!(recv(&b, 0, 1, 8), 1);
        b.finish().unwrap();
    });
    send(&a, 1, 1, &[1; 8]);
    let connections = || a.counters().unwrap()[Counter::Connections];
    let before = connections();
    let error = a.recv(FLOW, want(1, 2), &mut [0; 8], None).unwrap_err().to_string();
    assert!(error.contains("finished"), "{error}");
    leaving.join().unwrap();
    a.finish().unwrap();
    assert_eq!(connections(), before);
}

#[test]
fn a_peer_that_is_lost_fails_what_needs_it_and_nothing_else() {
    let engines = canele_testing::start_on_hosts(&[2, 1], &tunables(Wait::Sleep)).unwrap();
    let [a, b, c] = <[LocalRank; 3]>::try_from(engines).unwrap_or_else(|_| panic!("three"));
    let leaving = thread::spawn(move || {
        send(&c, 0, 1, &[1; 8]);
        assert_eq!(recv(&c, 0, 2, 8), 2);
    });
    assert_eq!(recv(&a, 2, 1, 8), 1);
    send(&a, 2, 2, &[2; 8]);
    let error = a.recv(FLOW, want(2, 3), &mut [0; 8], None).unwrap_err().to_string();
    assert!(error.contains("rank 2"), "{error}");
    leaving.join().unwrap();
    let other = thread::spawn(move || {
        send(&b, 0, 4, &[4; 8]);
        b
    });
    assert_eq!(recv(&a, 1, 4, 8), 4);
    other.join().unwrap();
}
