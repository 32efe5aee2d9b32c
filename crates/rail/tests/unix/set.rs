//! The driver in the set of a rank's rails: two ranks of different hosts, over two rails.

use std::time::{Duration, Instant};

use canele_profile::HostProfile;
use canele_rail::{Armed, Class, FastPath, Header, Member, Rail, Recoverable, Set};
use canele_sys::ids::{LinkId, Rank};
use canele_sys::tunables::Tunables;

use super::{MANY, Unix, until};

/// The longest sleep of a rank that no event wakes.
const AT_MOST: Duration = Duration::from_secs(60);

fn open(me: u32, ports: &[&str]) -> Set<Unix> {
    let member = Member { me: Rank(me), ranks: 2, job: 78, key: [5; 32] };
    let ports: Vec<_> = ports.iter().map(|port| vec![(*port).to_owned()]).collect();
    let mut set =
        Set::open(member.me, [me], (false, false), (&Tunables::default(), &HostProfile::SHARED_CACHES))
            .expect("memory");
    set.open_networks(member, &ports).expect("a port that can be used");
    set
}

/// Returns two ranks that know each other's addresses.
fn introduced(ports: &[&str]) -> [Set<Unix>; 2] {
    let mut sets = [0, 1].map(|me| open(me, ports));
    for (at, of) in [(0, 1), (1, 0)] {
        let addresses = sets[of].own_addresses();
        let addresses = addresses.iter().map(|(driver, address)| (*driver, &address[..]));
        assert!(sets[at].introduce(Rank(of as u32), addresses));
    }
    sets
}

/// Connects rank 0 to rank 1 over every route, and returns the rails of the routes.
fn connect(sets: &mut [Set<Unix>; 2]) -> Vec<u8> {
    let routes = sets[0].routes(Rank(1));
    routes.iter().for_each(|link| sets[0].connect(*link));
    let mut opened = [0; 2];
    until(|| {
        for (set, opened) in sets.iter_mut().zip(&mut opened) {
            set.progress_connections();
            *opened += std::iter::from_fn(|| set.take_opened()).count();
        }
        opened == [routes.len(); 2]
    });
    routes.iter().map(|link| link.rail()).collect()
}

fn exchange(sets: &mut [Set<Unix>; 2], rail: u8, bulk: &[u8]) {
    for (from, to) in [(0, 1), (1, 0)] {
        let there = LinkId::new(rail, Rank(to as u32));
        sets[from].begin_pass();
        let header = Header { inline_len: 3, tag: 9, ..Header::default() };
        let slot = sets[from].claim(there, bulk.len(), Class::Message).expect("an empty link has room");
        slot.inline.write(0, b"set");
        slot.bulk.write(0, bulk);
        sets[from].commit(there, header);
        let here = LinkId::new(rail, Rank(from as u32));
        until(|| {
            sets[to].begin_pass();
            sets[to].find_ready();
            sets[to].ready().contains(&here)
        });
        let packet = sets[to].poll(here).expect("an honest peer").expect("a packet");
        let mut came = vec![0; packet.bulk.len()];
        packet.bulk.read(0, &mut came);
        assert!(packet.header == header && came == bulk);
        sets[to].release(here);
        sets[to].send_pending();
    }
}

#[test]
fn ranks_of_two_hosts_exchange_packets_over_two_rails_of_a_set() {
    let mut sets = introduced(&["canele-left-", "canele-right-"]);
    assert_eq!(connect(&mut sets), [1, 2]);
    let most = sets[0].caps(LinkId::new(1, Rank(1))).max_bulk;
    for bulk in [0, 1, 1000, most] {
        for rail in [2, 1] {
            exchange(&mut sets, rail, &vec![bulk as u8; bulk]);
        }
    }
    for set in &mut sets {
        until(|| {
            set.begin_pass();
            set.is_settled()
        });
        assert_eq!((set.network_links(), set.report_links().count()), (2, 2));
    }
    sets[1].finish();
    let mut finished = 0;
    until(|| {
        sets[0].begin_pass();
        finished += std::iter::from_fn(|| sets[0].take_lost()).filter(|lost| lost.finished).count();
        finished == 2
    });
}

#[test]
fn a_packet_ends_the_sleep_of_a_rank_on_its_set() {
    let mut sets = introduced(&["canele-sleep-"]);
    connect(&mut sets);
    let [mut awake, mut asleep] = sets;
    let here = LinkId::new(1, Rank(0));
    let sleeper = std::thread::spawn(move || {
        for _ in 0..MANY {
            asleep.begin_pass();
            if asleep.poll(here).expect("an honest peer").is_some() {
                return true;
            }
            let begin = Instant::now();
            if matches!(asleep.arm(), Armed::Ready) {
                asleep.sleep(Some(AT_MOST));
            }
            if begin.elapsed() >= AT_MOST {
                return false; // Nothing has woken it.
            }
        }
        false
    });
    std::thread::sleep(std::time::Duration::from_millis(20));
    awake.post(LinkId::new(1, Rank(1)), Header::default(), &[]).expect("an empty link has room");
    assert!(sleeper.join().unwrap());
}

#[test]
fn a_port_that_cannot_be_used_is_no_error_beside_another() {
    let too_long = "x".repeat(100);
    let set = open(0, &[&too_long, "canele-other-"]);
    let lens: Vec<_> = set.own_addresses().iter().map(|(_, address)| address.len()).collect();
    assert!(lens[0] == 0 && lens[1] > 0);
    let member = Member { me: Rank(0), ranks: 2, job: 78, key: [5; 32] };
    let mut set =
        Set::<Unix>::open(Rank(0), [0], (false, false), (&Tunables::default(), &HostProfile::SHARED_CACHES))
            .expect("memory");
    let refused = set.open_networks(member, &[vec![too_long.clone()]]).expect_err("no port");
    assert!(refused.to_string().contains(&too_long));
}
