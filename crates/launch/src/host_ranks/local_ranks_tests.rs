//! Tests of the relations of a host's ranks, without sockets or processes.

use canele_control::{Host, Links, OnFailure, PeerInbox};
use canele_rail::shm::Shm;
use canele_sys::ids::Rank;
use rustix::fs::{MemfdFlags, memfd_create};

use super::*;

const INBOX: ToLauncher = ToLauncher::Inbox { settings: Vec::new() };

/// Returns ranks 0 to `here` of a job in which as many are on a second host.
fn local_ranks(here: u32) -> LocalRanks {
    let hosts = ["a", "b"].map(|name| Host { name: name.into(), ranks: here });
    let info = JobInfo { on_failure: OnFailure::Continue, ..JobInfo::new(hosts.into()) };
    let mut local_ranks = LocalRanks::new(info, RankSet::from(0..here)).unwrap();
    for rank in 0..here {
        let hello = ToLauncher::Hello { version: VERSION };
        assert_eq!(local_ranks.handle(rank, hello.clone(), None), Ok(Some(hello)));
    }
    let welcomes = local_ranks.take_messages();
    assert_eq!(welcomes.len(), here as usize);
    // No fallible work is left for a rank.
    assert!(welcomes.iter().all(|welcome| Rc::ptr_eq(&welcome.descriptors[0], &local_ranks.job)));
    local_ranks
}

fn memory() -> Option<Handed> {
    Some(memfd_create("test", MemfdFlags::CLOEXEC).unwrap().into())
}

fn inbox(rank: u32, all: &LocalRanks) -> Option<Handed> {
    let rail = Shm::open(Rank(rank), 0..all.info.size, 64, 0, 0).unwrap();
    Some(rail.inbox_fd().try_clone_to_owned().unwrap().into())
}

/// Returns an inbox with the event of a rank that sleeps on descriptors.
fn with_event(handed: Option<Handed>, all: &LocalRanks) -> Option<Handed> {
    let mut rail = Shm::open(Rank(0), 0..all.info.size, 64, 0, 0).unwrap();
    rail.sleep_on_descriptors().unwrap();
    let event = rail.event_fd().map(|event| event.try_clone_to_owned().unwrap());
    handed.map(|handed| Handed { event, ..handed })
}

fn told(all: &mut LocalRanks) -> Vec<(u32, FromLauncher)> {
    all.take_messages().into_iter().map(|message| (message.to, message.message)).collect()
}

#[test]
fn a_link_is_made_once_both_inboxes_are_there_and_both_are_told() {
    let mut all = local_ranks(3);
    all.handle(0, ToLauncher::Connect { peers: vec![2] }, None).unwrap();
    let fd = inbox(0, &all);
    all.handle(0, INBOX, fd).unwrap();
    assert!(told(&mut all).is_empty());
    let fd = inbox(2, &all);
    all.handle(2, INBOX, fd).unwrap();
    let messages = all.take_messages();
    let peer = |rank| FromLauncher::Peers { peers: vec![PeerInbox { rank, has_event: false }] };
    let expected = [(2, peer(0)), (0, peer(2))];
    assert!(messages.iter().all(|message| message.descriptors.len() == 1));
    let messages: Vec<_> = messages.into_iter().map(|message| (message.to, message.message)).collect();
    assert_eq!(messages, expected);
    all.handle(2, ToLauncher::Connect { peers: vec![0] }, None).unwrap();
    assert!(told(&mut all).is_empty(), "the pair is linked already");
    let fd = inbox(1, &all);
    all.handle(1, INBOX, fd).unwrap();
    all.handle(1, ToLauncher::Connect { peers: vec![0] }, None).unwrap();
    assert_eq!(told(&mut all).len(), 2);
}

#[test]
fn the_event_of_a_rank_goes_to_its_peers_with_its_inbox() {
    let mut all = local_ranks(2);
    let handed = with_event(inbox(0, &all), &all);
    all.handle(0, INBOX, handed).unwrap();
    let handed = inbox(1, &all);
    all.handle(1, INBOX, handed).unwrap();
    all.handle(1, ToLauncher::Connect { peers: vec![0] }, None).unwrap();
    let messages = all.take_messages();
    let descriptors = |message: &ControlMessage| (message.to, message.descriptors.len());
    let mut counts: Vec<_> = messages.iter().map(descriptors).collect();
    counts.sort_unstable();
    assert_eq!(counts, [(0, 1), (1, 2)]);
}

#[test]
fn regions_are_found_until_dropped() {
    let mut all = local_ranks(2);
    let find = ToLauncher::FindRegion { owner: 0, id: 5, is_kept: false };
    let answer = |found| (1, FromLauncher::Region { owner: 0, id: 5, found });
    all.handle(1, find.clone(), None).unwrap();
    assert_eq!(told(&mut all), [answer(false)]);
    all.handle(0, ToLauncher::Region { id: 5 }, memory()).unwrap();
    all.handle(1, find.clone(), None).unwrap();
    let messages = all.take_messages();
    assert_eq!(messages[0].descriptors.len(), 1);
    assert_eq!(messages[0].message, answer(true).1);
    all.handle(0, ToLauncher::DropRegion { id: 5 }, None).unwrap();
    all.handle(1, find, None).unwrap();
    assert_eq!(told(&mut all), [answer(false)]);
}

#[test]
fn a_region_that_there_is_no_descriptor_for_is_unknown_and_harms_no_rank() {
    let mut all = local_ranks(2);
    all.handle_truncated(0, ToLauncher::Region { id: 5 }).unwrap();
    all.handle_truncated(0, ToLauncher::Trace).unwrap();
    all.handle(0, ToLauncher::FindRegion { owner: 0, id: 5, is_kept: false }, None).unwrap();
    assert_eq!(told(&mut all), [(0, FromLauncher::Region { owner: 0, id: 5, found: false })]);
    // The owner of a known region needs no copy of its descriptor.
    all.handle(0, ToLauncher::Region { id: 6 }, memory()).unwrap();
    all.handle(0, ToLauncher::FindRegion { owner: 0, id: 6, is_kept: false }, None).unwrap();
    let messages = all.take_messages();
    assert_eq!(messages[0].message, FromLauncher::Region { owner: 0, id: 6, found: true });
    assert!(messages[0].descriptors.is_empty());
    let text = all.handle_truncated(1, INBOX).unwrap_err();
    assert!(text.contains("ulimit -n"), "{text}");
}

#[test]
fn ranks_that_keep_a_region_are_told_once_when_it_is_dropped() {
    let mut all = local_ranks(4);
    let find = |is_kept| ToLauncher::FindRegion { owner: 0, id: 5, is_kept };
    all.handle(0, ToLauncher::Region { id: 5 }, memory()).unwrap();
    for (rank, is_kept) in [(0, false), (1, true), (2, false), (3, true), (1, true)] {
        all.handle(rank, find(is_kept), None).unwrap();
    }
    let answers = all.take_messages();
    // The owner gets no copy of its own descriptor.
    let region = Rc::downgrade(&answers[1].descriptors[0]);
    drop(answers);
    assert_eq!(region.strong_count(), 1, "the launcher's own");
    all.handle(3, ToLauncher::Finished, None).unwrap();
    all.handle(0, ToLauncher::DropRegion { id: 5 }, None).unwrap();
    assert_eq!(region.strong_count(), 0);
    assert_eq!(told(&mut all), [(1, FromLauncher::RegionDropped { owner: 0, id: 5 })]);
}

#[test]
fn broken_rules_are_texts_and_harm_no_rank() {
    let mut all = local_ranks(2);
    let fd = inbox(0, &all);
    all.handle(0, INBOX, fd).unwrap();
    for (message, descriptor) in [
        (ToLauncher::Hello { version: VERSION }, None),
        (INBOX, inbox(0, &all)),
        (INBOX, None),
        (ToLauncher::Finished, memory()),
        (ToLauncher::Region { id: 1 }, with_event(memory(), &all)),
        (ToLauncher::Connect { peers: vec![0] }, None),
        (ToLauncher::Connect { peers: vec![4] }, None),
        (ToLauncher::Connect { peers: vec![u32::MAX] }, None),
        (ToLauncher::DropRegion { id: 1 }, None),
        (ToLauncher::Links(Links::default()), None),
    ] {
        assert!(all.handle(0, message.clone(), descriptor).is_err(), "{message:?}");
    }
    let garbage = all.handle(1, INBOX, memory()).unwrap_err();
    assert!(garbage.contains("unusable inbox"), "{garbage}");
    assert!(told(&mut all).is_empty());
    let mut early = LocalRanks::new(all.info, RankSet::from(0..1)).unwrap();
    assert!(early.handle(0, ToLauncher::Finished, None).is_err());
    let text = early.handle(0, ToLauncher::Hello { version: 99 }, None).unwrap_err();
    assert!(text.contains("99") && text.contains(&VERSION.to_string()));
    assert_eq!(told(&mut early).len(), 1, "the rank hears the launcher's version");
}

#[test]
fn a_rank_with_other_settings_than_the_first_is_refused() {
    let mut all = local_ranks(3);
    let with = |value: &str| {
        let settings = [("A", "1"), ("B", value)].map(|(name, value)| (name.into(), value.into()));
        ToLauncher::Inbox { settings: settings.into() }
    };
    for (rank, value) in [(1, "7"), (0, "7"), (2, "8")] {
        let fd = inbox(rank, &all);
        match all.handle(rank, with(value), fd) {
            Ok(_) => assert_ne!(rank, 2),
            Err(text) => assert_eq!(
                (rank, text.as_str()),
                (2, "has B=8, but rank 1 has B=7: all ranks of a job must have the same")
            ),
        }
    }
    all.handle(2, ToLauncher::Connect { peers: vec![0] }, None).unwrap();
    assert!(told(&mut all).is_empty(), "no rank gets the inbox of a rank that was refused");
}

#[test]
fn who_joins_again_is_told_why_that_is_not_possible() {
    let mut all = local_ranks(2);
    let hello = || ToLauncher::Hello { version: VERSION };
    let why = all.handle(0, hello(), None).unwrap_err();
    assert!(why.contains("second process") && why.contains("MPI_Comm_spawn"), "{why}");
    all.handle(1, ToLauncher::Finished, None).unwrap();
    let why = all.handle(1, hello(), None).unwrap_err();
    assert!(why.contains("second program") && why.contains("`canele run` of its own"), "{why}");
}

#[test]
fn what_concerns_other_hosts_is_passed_on() {
    let mut all = local_ranks(2);
    let fd = inbox(1, &all);
    let early = all.handle(1, ToLauncher::Addresses { rails: Vec::new() }, None);
    assert!(early.unwrap_err().contains("before its inbox"));
    assert_eq!(all.handle(1, INBOX, fd), Ok(Some(INBOX)));
    for message in [
        ToLauncher::Addresses { rails: Vec::new() },
        ToLauncher::Connect { peers: vec![3] },
        ToLauncher::Find { ticket: 1, name: "x".into() },
        ToLauncher::Finished,
    ] {
        assert_eq!(all.handle(1, message.clone(), None), Ok(Some(message)));
    }
    let twice = all.handle(1, ToLauncher::Addresses { rails: Vec::new() }, None);
    assert!(twice.unwrap_err().contains("twice"));
    all.handle(0, ToLauncher::FindRegion { owner: 3, id: 5, is_kept: true }, None).unwrap();
    assert_eq!(told(&mut all), [(0, FromLauncher::Region { owner: 3, id: 5, found: false })]);
}

#[test]
fn links_are_asked_for_once_until_they_are_told() {
    let mut all = local_ranks(2);
    let fd = inbox(0, &all);
    all.handle(0, INBOX, fd).unwrap();
    all.ask_for_links();
    all.ask_for_links();
    let asked = told(&mut all);
    assert!(
        matches!(asked[..], [(0, FromLauncher::ShowLinks { .. })]),
        "rank 1 cannot answer yet: {asked:?}"
    );
    let links = ToLauncher::Links(Links { neighbours: 1, shm: vec![(1, 1)], ..Links::default() });
    assert_eq!(all.handle(0, links.clone(), None), Ok(Some(links.clone())));
    assert!(all.handle(0, links, None).is_err(), "once");
    for shm in [vec![(1, 1); 1000], vec![(1, 4)], vec![(2, 1)]] {
        all.ask_for_links();
        let wrong = ToLauncher::Links(Links { shm, ..Links::default() });
        assert!(all.handle(0, wrong.clone(), None).is_err(), "{wrong:?}");
    }
    all.ask_for_links();
    all.of_mut(0).finished = true;
    assert_eq!(told(&mut all).len(), 4);
    all.ask_for_links();
    assert!(told(&mut all).is_empty(), "who has finished is not asked");
}
