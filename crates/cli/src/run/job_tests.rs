//! The job's rules, without sockets or processes.

use canele_engine::control::{Host, OnFailure};
use canele_rail::shm::Shm;
use canele_sys::ids::Rank;
use rustix::fs::{MemfdFlags, fstat, memfd_create};

use super::*;

const INBOX: ToLauncher = ToLauncher::Inbox { settings: Vec::new() };

fn info(size: u32, on_failure: OnFailure) -> JobInfo {
    JobInfo { launcher: 1, size, hosts: vec![Host::this(size)], processors: 2, on_failure, network: None }
}

fn job(size: u32) -> Job {
    let mut job = Job::new(info(size, OnFailure::Continue));
    for rank in 0..size {
        job.handle(rank, ToLauncher::Hello { version: VERSION }, None).unwrap();
    }
    assert_eq!(job.take_parcels().len(), size as usize);
    job
}

fn memory() -> Option<Handed> {
    Some(memfd_create("test", MemfdFlags::CLOEXEC).unwrap().into())
}

fn inbox(rank: u32, job: &Job) -> Option<Handed> {
    let rail = Shm::open(Rank(rank), job.info.size as usize, 64, 0, 0).unwrap();
    Some(rail.inbox_fd().try_clone_to_owned().unwrap().into())
}

/// The same with the event of a rank that sleeps on descriptors.
fn with_event(handed: Option<Handed>, job: &Job) -> Option<Handed> {
    let mut rail = Shm::open(Rank(0), job.info.size as usize, 64, 0, 0).unwrap();
    rail.sleep_on_descriptors().unwrap();
    let event = rail.event_fd().map(|event| event.try_clone_to_owned().unwrap());
    handed.map(|handed| Handed { event, ..handed })
}

fn told(job: &mut Job) -> Vec<(u32, FromLauncher)> {
    job.take_parcels().into_iter().map(|parcel| (parcel.to, parcel.message)).collect()
}

#[test]
fn a_link_is_made_once_both_inboxes_are_there_and_both_are_told() {
    let mut job = job(3);
    job.handle(0, ToLauncher::Connect { peer: 2 }, None).unwrap();
    let fd = inbox(0, &job);
    job.handle(0, INBOX, fd).unwrap();
    assert!(told(&mut job).is_empty());
    let fd = inbox(2, &job);
    job.handle(2, INBOX, fd).unwrap();
    let parcels = job.take_parcels();
    let bytes = fstat(parcels[0].descriptor.as_deref().unwrap()).unwrap().st_size as u64;
    let expected = [(2, FromLauncher::Peer { rank: 0, bytes }), (0, FromLauncher::Peer { rank: 2, bytes })];
    assert!(parcels.iter().all(|parcel| parcel.descriptor.is_some()));
    let messages: Vec<_> = parcels.into_iter().map(|parcel| (parcel.to, parcel.message)).collect();
    assert_eq!(messages, expected);
    job.handle(2, ToLauncher::Connect { peer: 0 }, None).unwrap();
    assert!(told(&mut job).is_empty(), "the pair is linked already");
    let fd = inbox(1, &job);
    job.handle(1, INBOX, fd).unwrap();
    job.handle(1, ToLauncher::Connect { peer: 0 }, None).unwrap();
    assert_eq!(told(&mut job).len(), 2);
}

#[test]
fn the_event_of_a_rank_goes_to_its_peers_with_its_inbox() {
    let mut job = job(2);
    let handed = with_event(inbox(0, &job), &job);
    job.handle(0, INBOX, handed).unwrap();
    let handed = inbox(1, &job);
    job.handle(1, INBOX, handed).unwrap();
    job.handle(1, ToLauncher::Connect { peer: 0 }, None).unwrap();
    let parcels = job.take_parcels();
    let descriptors = |parcel: &Parcel| (parcel.to, parcel.descriptor.as_ref().unwrap().descriptors().len());
    let mut counts: Vec<_> = parcels.iter().map(descriptors).collect();
    counts.sort_unstable();
    assert_eq!(counts, [(0, 1), (1, 2)]);
}

#[test]
fn names_are_found_now_or_later_and_taken_only_once() {
    let mut job = job(3);
    let publish = |value| ToLauncher::Publish { name: "box".into(), value: vec![value] };
    job.handle(1, ToLauncher::Find { ticket: 7, name: "box".into() }, None).unwrap();
    job.handle(2, ToLauncher::Find { ticket: 8, name: "box".into() }, None).unwrap();
    job.handle(2, ToLauncher::Forget { ticket: 8 }, None).unwrap();
    job.handle(0, publish(1), None).unwrap();
    assert_eq!(told(&mut job), [(1, FromLauncher::Found { ticket: 7, value: vec![1] })]);
    job.handle(1, publish(2), None).unwrap();
    assert_eq!(told(&mut job), [(1, FromLauncher::PublishRefused { name: "box".into() })]);
    assert!(job.handle(1, ToLauncher::Withdraw { name: "box".into() }, None).is_err());
    job.handle(0, ToLauncher::Withdraw { name: "box".into() }, None).unwrap();
    job.handle(1, publish(3), None).unwrap();
    job.handle(2, ToLauncher::Find { ticket: 9, name: "box".into() }, None).unwrap();
    assert_eq!(told(&mut job), [(2, FromLauncher::Found { ticket: 9, value: vec![3] })]);
}

#[test]
fn regions_are_found_until_dropped() {
    let mut job = job(2);
    let find = ToLauncher::FindRegion { owner: 0, id: 5 };
    let answer = |found| (1, FromLauncher::Region { owner: 0, id: 5, found });
    job.handle(1, find.clone(), None).unwrap();
    assert_eq!(told(&mut job), [answer(false)]);
    job.handle(0, ToLauncher::Region { id: 5 }, memory()).unwrap();
    job.handle(1, find.clone(), None).unwrap();
    let parcels = job.take_parcels();
    assert!(parcels[0].descriptor.is_some());
    assert_eq!(parcels[0].message, answer(true).1);
    job.handle(0, ToLauncher::DropRegion { id: 5 }, None).unwrap();
    job.handle(1, find, None).unwrap();
    assert_eq!(told(&mut job), [answer(false)]);
}

#[test]
fn broken_rules_are_texts_and_harm_nobody() {
    let mut job = job(2);
    let fd = inbox(0, &job);
    job.handle(0, INBOX, fd).unwrap();
    for (message, descriptor) in [
        (ToLauncher::Hello { version: VERSION }, None),
        (INBOX, inbox(0, &job)),
        (INBOX, None),
        (ToLauncher::Finished, memory()),
        (ToLauncher::Region { id: 1 }, with_event(memory(), &job)),
        (ToLauncher::Connect { peer: 0 }, None),
        (ToLauncher::Connect { peer: 2 }, None),
        (ToLauncher::Connect { peer: u32::MAX }, None),
        (ToLauncher::CutOff { peer: 0, what: "x".into() }, None),
        (ToLauncher::CutOff { peer: 2, what: "x".into() }, None),
        (ToLauncher::DropRegion { id: 1 }, None),
        (ToLauncher::Withdraw { name: "x".into() }, None),
    ] {
        assert!(job.handle(0, message.clone(), descriptor).is_err(), "{message:?}");
    }
    let garbage = job.handle(1, INBOX, memory()).unwrap_err();
    assert!(garbage.contains("unusable inbox"), "{garbage}");
    assert!(told(&mut job).is_empty());
    let mut early = Job::new(JobInfo { size: 1, ..job.info });
    assert!(early.handle(0, ToLauncher::Finished, None).is_err());
    let text = early.handle(0, ToLauncher::Hello { version: 99 }, None).unwrap_err();
    assert!(text.contains("99") && text.contains(&VERSION.to_string()));
    assert_eq!(told(&mut early).len(), 1, "the rank hears the launcher's version");
}

#[test]
fn a_rank_with_other_settings_than_the_first_is_refused() {
    let mut job = job(3);
    let with = |value: &str| {
        let settings = [("A", "1"), ("B", value)].map(|(name, value)| (name.into(), value.into()));
        ToLauncher::Inbox { settings: settings.into() }
    };
    for (rank, value) in [(1, "7"), (0, "7"), (2, "8")] {
        let fd = inbox(rank, &job);
        match job.handle(rank, with(value), fd) {
            Ok(()) => assert_ne!(rank, 2),
            Err(text) => assert_eq!(
                (rank, text.as_str()),
                (2, "has B=8, but rank 1 has B=7: all ranks of a job must have the same")
            ),
        }
    }
    job.handle(2, ToLauncher::Connect { peer: 0 }, None).unwrap();
    assert!(told(&mut job).is_empty(), "nobody gets the inbox of a rank that was refused");
}

#[test]
fn each_end_is_told_once_to_those_in_the_library() {
    let mut job = job(4);
    job.handle(3, ToLauncher::Finished, None).unwrap();
    let gone = |to, rank, how| (to, FromLauncher::Gone { rank, how });
    assert_eq!(told(&mut job), [0, 1, 2].map(|to| gone(to, 3, Gone::Finished)));
    assert_eq!(job.handle_exit(3, Exit::Status(0)), None);
    assert!(told(&mut job).is_empty());
    assert_eq!(job.handle_exit(1, Exit::Signal(9)), Some(Failure::Killed(9)));
    assert_eq!(told(&mut job), [0, 2].map(|to| gone(to, 1, Gone::Killed(9))));
    assert_eq!(job.handle_exit(2, Exit::Status(0)), Some(Failure::Unfinished));
    assert_eq!(told(&mut job), [gone(0, 2, Gone::Exited(0))]);
    assert_eq!(job.running(), [0]);
}

#[test]
fn a_cut_is_told_to_all_but_who_made_it_and_to_who_comes_late() {
    let mut job = job(4);
    job.handle(3, ToLauncher::Finished, None).unwrap();
    told(&mut job);
    let cut = |peer| ToLauncher::CutOff { peer, what: "bad".into() };
    job.handle(0, cut(1), None).unwrap();
    let message = FromLauncher::CutOff { by: 0, of: 1, what: "bad".into() };
    assert_eq!(told(&mut job), [1, 2].map(|to| (to, message.clone())));
    assert_eq!(job.take_cut(), Some(Cut { by: 0, of: 1, what: "bad".into() }));
    assert_eq!(job.take_cut(), None);
    assert!(job.handle(0, cut(1), None).is_err(), "once is enough");
    *job.member_mut(2) = Member::default();
    job.handle(2, ToLauncher::Hello { version: VERSION }, None).unwrap();
    assert!(told(&mut job).contains(&(2, message)));
}

#[test]
fn where_a_failure_ends_the_job_a_cut_is_told_to_nobody() {
    let mut job = Job::new(info(2, OnFailure::Stop));
    for rank in 0..2 {
        job.handle(rank, ToLauncher::Hello { version: VERSION }, None).unwrap();
    }
    job.take_parcels();
    job.handle(0, ToLauncher::CutOff { peer: 1, what: "bad".into() }, None).unwrap();
    assert!(told(&mut job).is_empty());
    assert!(job.take_cut().is_some());
}

#[test]
fn who_comes_late_hears_of_those_gone_and_never_initialising_is_fine() {
    let mut job = Job::new(info(3, OnFailure::Continue));
    assert_eq!(job.handle_exit(0, Exit::Status(0)), None);
    assert_eq!(job.handle_exit(1, Exit::Status(4)), Some(Failure::Exited(4)));
    assert!(told(&mut job).is_empty());
    job.handle(2, ToLauncher::Hello { version: VERSION }, None).unwrap();
    let messages = told(&mut job);
    assert_eq!(
        messages[1..],
        [
            (2, FromLauncher::Gone { rank: 0, how: Gone::Finished }),
            (2, FromLauncher::Gone { rank: 1, how: Gone::Exited(4) }),
        ]
    );
}
