use super::*;

fn job(ranks: &[u32]) -> JobInfo {
    let host = |(index, &ranks)| Host { name: format!("h{index}"), ranks };
    JobInfo { id: 5, launcher: 1, ..JobInfo::new(ranks.iter().enumerate().map(host).collect()) }
}

#[test]
fn a_job_of_any_number_of_hosts_survives_its_file() {
    let job = job(&[64; 20_000]);
    let file = job.write().unwrap();
    for _ in 0..2 {
        assert_eq!(JobInfo::read(file.try_clone().unwrap()).unwrap(), job);
    }
    let short = sealed::write("test", &[7; 3]).unwrap();
    assert_eq!(JobInfo::read(short).unwrap_err().kind(), io::ErrorKind::InvalidData);
}

#[test]
fn a_description_that_could_be_changed_is_none() {
    let job = job(&[1, 1]);
    let file = job.write().unwrap();
    assert_eq!(rustix::io::pwrite(&file, &[0], 0), Err(rustix::io::Errno::PERM));
    let open = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::io::write(&open, &sealed::read(file, MAX_JOB).unwrap()).unwrap();
    assert_eq!(JobInfo::read(open).unwrap_err().kind(), io::ErrorKind::InvalidData);
}

#[test]
fn a_place_that_the_description_does_not_have_is_told() {
    let network = |hosts| Some(JobNetwork { rails: vec![Vec::new(); hosts], ..JobNetwork::draw().unwrap() });
    let job = JobInfo { network: network(2), ..job(&[2, 3]) };
    let place = RankPlace { rank: 3, size: 5, local_rank: 1, local_size: 3 };
    assert_eq!(job.check(place), Ok(()));
    for wrong in [
        RankPlace { size: 6, ..place },
        RankPlace { rank: 4, ..place },
        RankPlace { local_rank: 0, ..place },
        RankPlace { local_size: 4, ..place },
        RankPlace { rank: 5, local_rank: 3, ..place },
    ] {
        let text = job.check(wrong).unwrap_err();
        assert!(text.contains(&wrong.to_string()), "{text}");
    }
    let alone = JobInfo { network: None, ..job.clone() };
    let large = JobInfo { size: 6, ..job.clone() };
    let fewer = JobInfo { hosts: vec![Host::this(0), Host::this(4)], ..job.clone() };
    let endless = JobInfo { hosts: vec![Host::this(u32::MAX); 2], ..job.clone() };
    let elsewhere = JobInfo { map: RankMap::new([1, 1, 0, 0, 0]), ..job.clone() };
    for impossible in [alone, large, fewer, endless, elsewhere, JobInfo { network: network(1), ..job }] {
        assert!(impossible.check(place).is_err(), "{impossible:?}");
    }
}

#[test]
fn a_profile_by_which_estimates_would_divide_by_zero_is_refused() {
    let mut job = job(&[1]);
    assert_eq!(job.check(RankPlace::ALONE), Ok(()));
    job.profile.host.ring.far = 0;
    let text = job.check(RankPlace::ALONE).unwrap_err();
    assert!(text.starts_with("its profile is wrong: host.ring.far: 0 is not"), "{text}");
}

#[test]
fn ranks_are_numbered_through_the_hosts() {
    let job = job(&[2, 1, 3]);
    assert_eq!([0, 1, 2, 3, 5, 6, u32::MAX].map(|rank| job.host_of(rank)), [0, 0, 1, 2, 2, 2, 2]);
    assert_eq!([0, 1, 2, 3].map(|host| job.ranks_of(host)), [0..2, 2..3, 3..6, 6..6].map(RankSet::from));
}

#[test]
fn ranks_of_a_host_need_not_follow_each_other() {
    let network = Some(JobNetwork { rails: vec![Vec::new(); 2], ..JobNetwork::draw().unwrap() });
    let spawned = vec![SpawnedWorld { first: 5, hosts: vec![0, 1], ..SpawnedWorld::default() }];
    let job = JobInfo { map: RankMap::new([0, 1, 0, 1, 1]), spawned, network, ..job(&[2, 3]) };
    assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|rank| job.host_of(rank)), [0, 1, 0, 1, 1, 0, 1]);
    assert!(job.ranks_on(1).eq([1, 3, 4, 6]));
    let place = RankPlace { rank: 3, size: 5, local_rank: 1, local_size: 3 };
    assert_eq!(job.check(place), Ok(()));
    assert!(job.check(RankPlace { local_rank: 2, ..place }).is_err());
    assert_eq!(job.check(RankPlace { rank: 5, size: 7, local_rank: 2, local_size: 3 }), Ok(()));
}

#[test]
fn a_host_without_ranks_gets_those_that_are_spawned() {
    let spawned = vec![SpawnedWorld { first: 3, hosts: vec![1, 1], ..SpawnedWorld::default() }];
    let network = Some(JobNetwork { rails: vec![Vec::new(); 3], ..JobNetwork::draw().unwrap() });
    let place = RankPlace { rank: 4, size: 5, local_rank: 1, local_size: 2 };
    assert_eq!(JobInfo { spawned, network, ..job(&[2, 0, 1]) }.check(place), Ok(()));
}

#[test]
fn spawned_ranks_follow_and_have_hosts_and_a_world_of_their_own() {
    let spawned = vec![
        SpawnedWorld { first: 5, hosts: vec![1, 0], parents: vec![0], ..SpawnedWorld::default() },
        SpawnedWorld { first: 7, hosts: vec![1], parents: vec![5, 6], ..SpawnedWorld::default() },
    ];
    let network = Some(JobNetwork { rails: vec![Vec::new(); 2], ..JobNetwork::draw().unwrap() });
    let job = JobInfo { spawned, network, ..job(&[2, 3]) };
    assert_eq!((job.ranks(), job.world_of(1), job.world_of(6), job.world_of(7)), (8, 0..5, 5..7, 7..8));
    assert_eq!([0, 4, 5, 6, 7].map(|rank| job.host_of(rank)), [0, 1, 1, 0, 1]);
    assert_eq!(job.ranks_on(1).collect::<Vec<_>>(), [2, 3, 4, 5, 7]);
    // The first of the worlds knows of its own ranks alone.
    let place = RankPlace { rank: 6, size: 7, local_rank: 2, local_size: 3 };
    assert_eq!(job.check(place), Ok(()));
    assert_eq!(job.check(RankPlace { rank: 1, size: 5, local_rank: 1, local_size: 2 }), Ok(()));
    for wrong in
        [RankPlace { local_rank: 1, ..place }, RankPlace { size: 6, ..place }, RankPlace { rank: 8, ..place }]
    {
        assert!(job.check(wrong).is_err(), "{wrong}");
    }
    let gap = vec![SpawnedWorld { first: 6, hosts: vec![0], ..SpawnedWorld::default() }];
    assert!(JobInfo { spawned: gap, ..job }.check(place).is_err());
}

#[test]
fn ranks_of_other_jobs_are_known_by_the_numbers_that_they_have_there() {
    let own = SpawnedWorld { first: 5, hosts: vec![0], ..SpawnedWorld::default() };
    let other = |first, rank, ranks| SpawnedWorld {
        first,
        hosts: vec![0; ranks],
        parents: Vec::new(),
        origin: Some(JobRank { job: 9, rank }),
        network: None,
    };
    let spawned = vec![other(3, 0, 2), own, other(6, 7, 2)];
    let job = JobInfo { spawned, ..job(&[3]) };
    for (rank, process) in [(0, (5, 0)), (4, (9, 1)), (5, (5, 5)), (7, (9, 8))] {
        let process = JobRank { job: process.0, rank: process.1 };
        assert_eq!((job.process(rank), job.rank_of(process)), (process, Some(rank)));
    }
    for (of, rank) in [(5, 3), (5, 4), (5, 6), (9, 2), (9, 9), (8, 0)] {
        assert_eq!(job.rank_of(JobRank { job: of, rank }), None, "{of} {rank}");
    }
    assert_eq!([2, 3, 5, 7].map(|rank| job.is_own(rank)), [true, false, true, false]);
}
