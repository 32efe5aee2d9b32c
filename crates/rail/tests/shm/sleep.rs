//! No rank stays asleep while a packet, room or a notification waits for it.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use canele_rail::shm::{InboxNotifier, Shm};
use canele_rail::{Armed, Class, Header, Rail};
use canele_sys::atomic::{AtomicU32, Ordering};
use canele_sys::ids::LinkId;
use canele_sys::poller::Ready;

use super::connected_by;

/// The ranks of a pair that sleep on descriptors: neither, one, both.
const WAYS: [[bool; 2]; 4] = [[false, false], [true, false], [false, true], [true, true]];

/// A guard against a test that hangs, not a measurement: a rank that sleeps this long is never woken.
const FOR_EVER: Duration = Duration::from_secs(60);

/// Sleeps at every occasion until `done` has succeeded once; panics if no peer wakes the rank.
fn sleep_until(rail: &mut Shm, mut done: impl FnMut(&mut Shm) -> bool) {
    while !done(rail) {
        if let Armed::Work = rail.arm() {
            continue;
        }
        if done(rail) {
            return;
        }
        let before = Instant::now();
        rail.sleep(Some(FOR_EVER));
        assert!(before.elapsed() < FOR_EVER, "forgotten asleep");
    }
}

fn try_send(rail: &mut Shm, link: LinkId, tag: u32, bulk: usize, class: Class) -> bool {
    let room = rail.claim(link, bulk, class).is_ok();
    if room {
        rail.commit(link, Header { tag, ..Header::default() });
    }
    room
}

fn try_receive(rail: &mut Shm, link: LinkId, tag: u32) -> bool {
    let Some(packet) = rail.poll(link).unwrap() else { return false };
    assert_eq!(packet.header.tag, tag);
    rail.release(link);
    true
}

/// Every packet finds its receiver asleep, or about to be.
#[test]
fn a_commit_wakes() {
    const TURNS: u32 = 10_000;
    for way in WAYS {
        let [(mut a, to_b), (mut b, to_a)] = connected_by(way);
        let other = thread::spawn(move || {
            for n in 0..TURNS {
                sleep_until(&mut b, |b| try_receive(b, to_a, n));
                assert!(try_send(&mut b, to_a, n, 0, Class::Message));
            }
        });
        for n in 0..TURNS {
            assert!(try_send(&mut a, to_b, n, 0, Class::Message));
            sleep_until(&mut a, |a| try_receive(a, to_b, n));
        }
        other.join().unwrap();
        assert!(a.wakeups() > 0);
    }
}

/// A sender that is always short of cells, or of room for bulk, against a receiver that sleeps when its rings
/// are empty.
#[test]
fn freed_room_wakes() {
    const PACKETS: u32 = 20_000;
    let kinds = [Class::Message, Class::Stream]
        .into_iter()
        .flat_map(|class| [0, 1000, 3000].map(|bulk| (class, bulk)));
    for (class, bulk) in kinds {
        for way in WAYS {
            let [(mut a, to_b), (mut b, to_a)] = connected_by(way);
            let other = thread::spawn(move || {
                for n in 0..PACKETS {
                    sleep_until(&mut b, |b| try_receive(b, to_a, n));
                }
            });
            for n in 0..PACKETS {
                sleep_until(&mut a, |a| try_send(a, to_b, n, bulk, class));
            }
            other.join().unwrap();
        }
    }
}

/// The starved sender keeps sending control packets, which must not make it forget the waiting message.
#[test]
fn freed_room_wakes_though_control_passed() {
    const ROUNDS: u32 = 3_000;
    let [(mut a, to_b), (mut b, to_a)] = connected_by([true, false]);
    let other = thread::spawn(move || {
        let mut got = 0;
        while got < ROUNDS {
            sleep_until(&mut b, |b| {
                let Some(packet) = b.poll(to_a).unwrap() else { return false };
                got += packet.header.tag;
                b.release(to_a);
                true
            });
        }
    });
    for _ in 0..ROUNDS {
        sleep_until(&mut a, |a| {
            let sent = try_send(a, to_b, 1, 0, Class::Message);
            if !sent {
                try_send(a, to_b, 0, 0, Class::Control);
            }
            sent
        });
    }
    other.join().unwrap();
}

#[test]
fn the_launchers_notifier_wakes() {
    const NOTIFICATIONS: u32 = 5_000;
    for way in [[false; 2], [true; 2]] {
        let [(mut a, _), _b] = connected_by(way);
        let event = a.event_fd().map(|event| event.try_clone_to_owned().unwrap());
        let notifier = InboxNotifier::map(a.inbox_fd().try_clone_to_owned().unwrap(), event).unwrap();
        let read = std::sync::Arc::new(AtomicU32::new(0));
        let launcher = thread::spawn({
            let read = read.clone();
            move || {
                for n in 0..NOTIFICATIONS {
                    notifier.notify();
                    // The next notification follows when this one is read, so each finds the rank about to
                    // sleep.
                    while read.load(Ordering::Acquire) <= n {
                        thread::yield_now();
                    }
                }
            }
        });
        for n in 0..NOTIFICATIONS {
            sleep_until(&mut a, Shm::take_notification);
            read.store(n + 1, Ordering::Release);
        }
        launcher.join().unwrap();
    }
}

#[test]
fn a_waker_of_another_thread_wakes() {
    const RINGS: u32 = 20_000;
    for way in [[false; 2], [true; 2]] {
        let [(mut a, _), _b] = connected_by(way);
        let (waker, word) = (a.waker(), std::sync::Arc::new(AtomicU32::new(0)));
        let other = thread::spawn({
            let word = word.clone();
            move || {
                for n in 0..RINGS {
                    while word.load(Ordering::Acquire) != 2 * n {
                        thread::yield_now();
                    }
                    word.store(2 * n + 1, Ordering::Release);
                    waker.wake();
                }
            }
        });
        for n in 0..RINGS {
            sleep_until(&mut a, |_| word.load(Ordering::Acquire) == 2 * n + 1);
            word.store(2 * n + 2, Ordering::Release);
        }
        other.join().unwrap();
    }
}

/// A packet in shared memory, a descriptor and a waker: each may end the sleep.
#[test]
fn whatever_comes_first_ends_the_sleep() {
    const TURNS: u32 = 5_000;
    let [(mut a, to_b), (mut b, _)] = connected_by([true, false]);
    let to_a = LinkId::new(0, canele_sys::ids::Rank(0));
    let (mut socket, mut theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let (waker, word) = (a.waker(), std::sync::Arc::new(AtomicU32::new(0)));
    let told = word.clone();
    let (done, turn) = std::sync::mpsc::channel();
    let other = thread::spawn(move || {
        for n in 0..TURNS {
            match n % 3 {
                0 => assert!(try_send(&mut b, to_a, n, 0, Class::Message)),
                1 => theirs.write_all(&[1]).unwrap(),
                _ => {
                    told.store(n, Ordering::Release);
                    waker.wake();
                }
            }
            turn.recv().unwrap();
        }
    });
    socket.set_nonblocking(true).unwrap();
    for n in 0..TURNS {
        let look = |a: &mut Shm, socket: &mut std::os::unix::net::UnixStream| match n % 3 {
            0 => try_receive(a, to_b, n),
            1 => socket.read(&mut [0]).is_ok(),
            _ => word.load(Ordering::Acquire) == n,
        };
        sleep_until(&mut a, |a| {
            a.waker().watch_once(socket.as_fd(), Ready::IN).unwrap();
            look(a, &mut socket)
        });
        done.send(()).unwrap();
    }
    other.join().unwrap();
}
