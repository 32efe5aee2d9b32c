//! Tests of the job's rules, without sockets or processes.

use canele_control::{
    Host, MAX_RAIL_ADDRESS, MOST_LANES, MOST_RAILS, OnFailure, RailAddress, RankMap, SpawnedWorld, VERSION,
};

use super::*;

fn info(size: u32, on_failure: OnFailure) -> JobInfo {
    JobInfo { on_failure, ..JobInfo::new(vec![Host::this(size)]) }
}

fn job(size: u32) -> Job {
    let mut job = Job::new(info(size, OnFailure::Continue));
    for rank in 0..size {
        job.handle(rank, ToLauncher::Hello { version: VERSION }).unwrap();
    }
    assert!(told(&mut job).is_empty());
    job
}

fn told(job: &mut Job) -> Vec<(u32, FromLauncher)> {
    if job.has_finished() {
        job.tell_finished();
    }
    job.take_messages()
}

#[test]
fn ranks_that_finish_together_are_told_in_one_message() {
    let mut job = job(1000);
    for rank in (0..999).filter(|rank| *rank != 500) {
        job.handle(rank, ToLauncher::Finished).unwrap();
    }
    let ranks = vec![(0, 499), (501, 998)];
    let message = FromLauncher::Finished { ranks };
    assert_eq!(told(&mut job), [(500, message.clone()), (999, message)]);
    assert!(!job.has_finished() && told(&mut job).is_empty());
}

#[test]
fn names_are_found_now_or_later_and_taken_only_once() {
    let mut job = job(3);
    let publish = |value| ToLauncher::Publish { name: "box".into(), value: vec![value] };
    job.handle(1, ToLauncher::Find { ticket: 7, name: "box".into() }).unwrap();
    job.handle(2, ToLauncher::Find { ticket: 8, name: "box".into() }).unwrap();
    job.handle(2, ToLauncher::Forget { ticket: 8 }).unwrap();
    job.handle(0, publish(1)).unwrap();
    assert_eq!(told(&mut job), [(1, FromLauncher::Found { ticket: 7, value: vec![1] })]);
    job.handle(1, publish(2)).unwrap();
    assert_eq!(told(&mut job), [(1, FromLauncher::PublishRefused { name: "box".into() })]);
    assert!(job.handle(1, ToLauncher::Withdraw { name: "box".into() }).is_err());
    job.handle(0, ToLauncher::Withdraw { name: "box".into() }).unwrap();
    job.handle(1, publish(3)).unwrap();
    job.handle(2, ToLauncher::Find { ticket: 9, name: "box".into() }).unwrap();
    assert_eq!(told(&mut job), [(2, FromLauncher::Found { ticket: 9, value: vec![3] })]);
}

#[test]
fn each_end_is_told_once_to_those_in_the_library() {
    let mut job = job(4);
    job.handle(3, ToLauncher::Finished).unwrap();
    let gone = |to, rank, how| (to, FromLauncher::Gone { rank, how });
    assert_eq!(told(&mut job), [0, 1, 2].map(|to| (to, FromLauncher::Finished { ranks: vec![(3, 3)] })));
    assert_eq!(job.handle_exit(3, Exit::Status(0)), None);
    assert!(told(&mut job).is_empty());
    assert_eq!(job.handle_exit(1, Exit::Signal(9)), Some(RankFailure::Killed(9)));
    assert_eq!(told(&mut job), [0, 2].map(|to| gone(to, 1, RankEnd::Killed(9))));
    assert_eq!(job.handle_exit(2, Exit::Status(0)), Some(RankFailure::Unfinished));
    assert_eq!(told(&mut job), [gone(0, 2, RankEnd::Exited(0))]);
    assert_eq!(job.running(), [0]);
}

#[test]
fn a_cut_is_told_to_all_once_and_to_who_comes_late() {
    let mut job = job(4);
    job.handle(3, ToLauncher::Finished).unwrap();
    told(&mut job);
    let cut = |peer| ToLauncher::CutOff { peer, what: "bad".into() };
    job.handle(0, cut(1)).unwrap();
    let message = FromLauncher::CutOff { by: 0, of: 1, what: "bad".into() };
    let gone = (0, FromLauncher::Gone { rank: 1, how: RankEnd::HostLost });
    assert_eq!(told(&mut job), [(1, message.clone()), (2, message.clone()), gone], "its other lanes need it");
    assert_eq!(job.take_cut(), Some(Cut { by: 0, of: 1, what: "bad".into() }));
    assert_eq!(job.take_cut(), None);
    job.handle(0, cut(1)).expect("another lane of that rank may say so, too");
    assert_eq!((told(&mut job), job.take_cut()), (vec![], None));
    *job.member_mut(2) = Member::default();
    job.handle(2, ToLauncher::Hello { version: VERSION }).unwrap();
    assert!(told(&mut job).contains(&(2, message)));
}

#[test]
fn where_a_failure_ends_the_job_a_cut_is_told_to_no_rank() {
    let mut job = Job::new(info(2, OnFailure::Stop));
    for rank in 0..2 {
        job.handle(rank, ToLauncher::Hello { version: VERSION }).unwrap();
    }
    job.handle(0, ToLauncher::CutOff { peer: 1, what: "bad".into() }).unwrap();
    assert!(told(&mut job).is_empty());
    assert!(job.take_cut().is_some());
}

#[test]
fn who_comes_late_hears_of_those_gone_and_never_initialising_is_fine() {
    let mut job = Job::new(info(3, OnFailure::Continue));
    assert_eq!(job.handle_exit(0, Exit::Status(0)), None);
    assert_eq!(job.handle_exit(1, Exit::Status(4)), Some(RankFailure::Exited(4)));
    assert!(told(&mut job).is_empty());
    job.handle(2, ToLauncher::Hello { version: VERSION }).unwrap();
    let messages = told(&mut job);
    assert_eq!(
        messages,
        [
            (2, FromLauncher::Finished { ranks: vec![(0, 0)] }),
            (2, FromLauncher::Gone { rank: 1, how: RankEnd::Exited(4) }),
        ]
    );
}

/// Returns a job with ranks 0 and 1 on one host, 2 and 3 on another.
fn two_hosts() -> Job {
    let hosts = ["a", "b"].map(|name| Host { name: name.into(), ranks: 2 });
    let map = RankMap::in_blocks([2, 2]);
    let mut job = Job::new(JobInfo { hosts: hosts.into(), map, ..info(4, OnFailure::Continue) });
    for rank in 0..4 {
        job.handle(rank, ToLauncher::Hello { version: VERSION }).unwrap();
    }
    job
}

fn rails(rank: u32) -> Vec<RailAddress> {
    let address = |rail: u8| RailAddress { driver: "tcp".into(), address: vec![10, 0, rail, rank as u8] };
    vec![address(0), address(1)]
}

#[test]
fn addresses_are_bounded_in_number_and_length() {
    let address = |driver: &str, bytes| RailAddress { driver: driver.into(), address: vec![1; bytes] };
    let refuse = |rails: Vec<RailAddress>| {
        two_hosts().handle(0, ToLauncher::Addresses { rails }).expect_err("it is refused")
    };
    assert!(refuse(vec![address("tcp", MAX_RAIL_ADDRESS + 1)]).contains("2049 bytes"));
    assert!(refuse(vec![address(&"x".repeat(33), 1)]).contains("33"));
    assert!(refuse(vec![address("tcp", 1); MOST_RAILS + 1]).contains("256 rails"));
    let most = vec![address("tcp", MAX_RAIL_ADDRESS); 2];
    assert_eq!(two_hosts().handle(0, ToLauncher::Addresses { rails: most }), Ok(()));
}

#[test]
fn ranks_of_different_hosts_learn_where_the_other_listens_each_pair_once() {
    let mut job = two_hosts();
    let say = |job: &mut Job, rank| job.handle(rank, ToLauncher::Addresses { rails: rails(rank) }).unwrap();
    let reach = |to, rank| (to, FromLauncher::Reach { rank, rails: rails(rank) });
    say(&mut job, 0);
    job.handle(0, ToLauncher::Connect { peers: vec![2] }).unwrap();
    job.handle(3, ToLauncher::Connect { peers: vec![0] }).unwrap();
    assert!(told(&mut job).is_empty());
    say(&mut job, 2);
    assert_eq!(told(&mut job), [reach(2, 0), reach(0, 2)]);
    job.handle(2, ToLauncher::Connect { peers: vec![0] }).unwrap();
    assert!(told(&mut job).is_empty(), "the pair knows already");
    say(&mut job, 3);
    assert_eq!(told(&mut job), [reach(3, 0), reach(0, 3)]);
    say(&mut job, 1);
    job.handle(1, ToLauncher::Connect { peers: vec![3] }).unwrap();
    assert_eq!(told(&mut job), [reach(1, 3), reach(3, 1)]);
}

#[test]
fn lanes_of_one_number_on_different_hosts_learn_where_the_other_listens_each_pair_once() {
    let mut job = two_hosts();
    let say = |job: &mut Job, rank, lane| {
        job.handle_of_lane((rank, lane), ToLauncher::Addresses { rails: rails(rank) }).unwrap()
    };
    let want = |job: &mut Job, rank, lane, peer| {
        job.handle_of_lane((rank, lane), ToLauncher::Connect { peers: vec![peer] }).unwrap()
    };
    let reach = |to, lane, rank| ((to, lane), FromLauncher::Reach { rank, rails: rails(rank) });
    say(&mut job, 0, 3);
    say(&mut job, 2, 1);
    want(&mut job, 2, 3, 0);
    assert!(job.take_messages_to_lanes().is_empty(), "that lane of rank 2 has not said where it listens");
    say(&mut job, 2, 3);
    assert_eq!(job.take_messages_to_lanes(), [reach(0, 3, 2), reach(2, 3, 0)]);
    want(&mut job, 0, 3, 2);
    assert!(job.take_messages_to_lanes().is_empty(), "the pair knows already");
    say(&mut job, 0, 1);
    assert!(job.take_messages_to_lanes().is_empty(), "neither wants a link");
    want(&mut job, 0, 1, 2);
    assert_eq!(job.take_messages_to_lanes(), [reach(0, 1, 2), reach(2, 1, 0)]);
    assert!(told(&mut job).is_empty(), "the first lanes learn nothing of that");
}

#[test]
fn what_a_lane_may_not_say_is_refused() {
    let mut job = two_hosts();
    let connect = |peer| ToLauncher::Connect { peers: vec![peer] };
    for (lane, message, why) in [
        (0, connect(2), "over lane 0"),
        (MOST_LANES, connect(2), "over lane 16"),
        (1, connect(0), "rank 0 of 4"),
        (1, connect(4), "rank 4 of 4"),
        (1, ToLauncher::Finished, "has no meaning"),
        (1, ToLauncher::Addresses { rails: vec![rails(0)[0].clone(); MOST_RAILS + 1] }, "256 rails"),
    ] {
        let told = job.handle_of_lane((0, lane), message).expect_err(why);
        assert!(told.contains(why), "{told}");
    }
    assert!(job.take_messages_to_lanes().is_empty());
}

#[test]
fn ranks_of_a_lost_host_are_gone_unless_they_had_finished() {
    let mut job = two_hosts();
    job.handle(2, ToLauncher::Finished).unwrap();
    told(&mut job);
    assert_eq!(job.handle_exit(2, Exit::Lost), Some(RankFailure::HostLost));
    assert_eq!(job.handle_exit(3, Exit::Lost), Some(RankFailure::HostLost));
    let gone = |to| (to, FromLauncher::Gone { rank: 3, how: RankEnd::HostLost });
    assert_eq!(told(&mut job), [gone(0), gone(1)]);
    assert_eq!(job.running(), [0, 1]);
}

/// The launcher of such ranks may end other processes with them.
#[test]
fn ranks_that_another_launcher_has_started_end_after_those_that_they_have_spawned() {
    let mut job = Job::new(JobInfo { joined: true, ..info(2, OnFailure::Continue) });
    job.grow(SpawnedWorld { first: 2, hosts: vec![0], parents: vec![0], ..SpawnedWorld::default() });
    for rank in 0..3 {
        job.handle(rank, ToLauncher::Hello { version: VERSION }).unwrap();
    }
    job.handle(0, ToLauncher::Finished).unwrap();
    job.handle(1, ToLauncher::Finished).unwrap();
    told(&mut job);
    assert!(!job.over_reported);
    job.handle(2, ToLauncher::Finished).unwrap();
    let over = told(&mut job).into_iter().filter(|(_, message)| *message == FromLauncher::Over);
    assert_eq!(over.map(|(rank, _)| rank).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_world_that_has_ended_connects_no_others() {
    let mut job = Job::new(info(1, OnFailure::Stop));
    for (first, parent) in [(1, 0), (2, 1)] {
        job.grow(SpawnedWorld { first, hosts: vec![0], parents: vec![parent], ..SpawnedWorld::default() });
    }
    assert_eq!(job.running_connected_with(&[0]), [0, 1, 2]);
    assert!(job.handle_exit(1, Exit::Status(0)).is_none());
    assert_eq!(job.running_connected_with(&[0]), [0]);
    assert!(job.handle_exit(2, Exit::Status(3)).is_some());
}

#[test]
fn requests_without_sense_are_refused_and_harm_no_rank() {
    let mut job = job(2);
    for message in [
        ToLauncher::Connect { peers: vec![0] },
        ToLauncher::Connect { peers: vec![2] },
        ToLauncher::Connect { peers: vec![u32::MAX] },
        ToLauncher::CutOff { peer: 0, what: "x".into() },
        ToLauncher::CutOff { peer: 2, what: "x".into() },
        ToLauncher::Withdraw { name: "x".into() },
    ] {
        assert!(job.handle(0, message.clone()).is_err(), "{message:?}");
    }
    let settings = |value: &str| ToLauncher::Inbox { settings: vec![("A".into(), value.into())] };
    job.handle(0, settings("1")).unwrap();
    assert!(job.handle(1, settings("2")).unwrap_err().contains("rank 0 has A=1"));
    assert!(told(&mut job).is_empty());
}
