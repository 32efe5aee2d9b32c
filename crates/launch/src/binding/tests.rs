//! Tests of bindings on an invented machine, and of claims on this one.

use std::os::fd::OwnedFd;

use super::*;

/// Returns a machine of two packages of two memory nodes of two cores of two hardware threads. The nodes of a
/// package share a third cache in the first package and have their own in the second. Processors 0 to 7 are
/// the cores' first ones.
fn machine() -> Topology {
    static MADE: canele_sys::atomic::AtomicU32 = canele_sys::atomic::AtomicU32::new(0);
    let number = MADE.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let root = std::env::temp_dir().join(format!("canele-machine-{}-{number}", std::process::id()));
    let write = |path: String, text: String| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text + "\n").unwrap();
    };
    for id in 0..16 {
        let core = id % 8;
        let cpu = format!("cpu/cpu{id}");
        write(format!("{cpu}/topology/core_cpus_list"), format!("{core},{}", core + 8));
        write(format!("{cpu}/topology/physical_package_id"), (core / 4).to_string());
        write(format!("{cpu}/cache/index3/level"), "3".into());
        write(format!("{cpu}/cache/index3/type"), "Unified".into());
        let shared = ["0-3,8-11", "4-5,12-13", "6-7,14-15"][[0, 0, 0, 0, 1, 1, 2, 2][core as usize]];
        write(format!("{cpu}/cache/index3/shared_cpu_list"), shared.into());
    }
    for node in 0..4 {
        let (first, second) = (2 * node, 2 * node + 8);
        let list = format!("{first}-{},{second}-{}", first + 1, second + 1);
        write(format!("node/node{node}/cpulist"), list);
    }
    let topology = Topology::read(&root, &(0..16).collect::<Vec<u32>>());
    std::fs::remove_dir_all(&root).unwrap();
    topology
}

/// Returns the processors of each rank, as lists.
fn sets(bind: &str, map: &str, ranks: u32) -> Result<Vec<String>, String> {
    let map = (!map.is_empty()).then(|| map.parse()).transpose()?;
    let bind = if bind.is_empty() { BindTo::Auto } else { bind.parse()? };
    let mapping = Mapping::new(bind, map)?.ok_or("nothing")?;
    let sets = mapping.sets(&machine(), ranks)?;
    Ok(sets.iter().map(|set| ProcessorList(set).to_string()).collect())
}

#[track_caller]
fn bound(bind: &str, map: &str, expected: &[&str]) {
    let sets = sets(bind, map, expected.len() as u32);
    assert_eq!(
        sets.as_deref(),
        Ok(&expected.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>()[..]),
        "{bind} {map}"
    );
}

#[test]
fn ranks_are_bound_to_units_in_turn() {
    bound("hwthread", "", &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    bound("core", "", &["0,8", "1,9", "2,10"]);
    bound("l3cache", "", &["0-3,8-11", "4-5,12-13", "6-7,14-15", "0-3,8-11"]);
    bound("numa", "", &["0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15", "0-1,8-9"]);
    bound("socket", "", &["0-3,8-11", "4-7,12-15", "0-3,8-11"]);
    bound("host", "", &["0-15", "0-15"]);
    bound("core:2", "", &["0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15", "0-1,8-9"]);
    bound("hwthread:2", "", &["0,8", "1,9"]);
}

#[test]
fn ranks_are_spread_over_units_and_bound_inside() {
    bound("", "package", &["0-3,8-11", "4-7,12-15", "0-3,8-11"]);
    bound("core", "package", &["0,8", "4,12", "1,9", "5,13"]);
    bound("hwthread", "numa", &["0", "2", "4", "6", "1", "3", "5", "7", "8"]);
    bound("core", "package:fill", &["0,8", "1,9", "2,10", "4,12", "5,13"]);
    bound("package", "core", &["0-3,8-11", "0-3,8-11", "0-3,8-11", "0-3,8-11", "4-7,12-15"]);
    bound("", "numa:PE=2", &["0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15"]);
    bound("", "package:pe=2", &["0-1,8-9", "4-5,12-13", "2-3,10-11", "6-7,14-15"]);
    bound("", "core:pe=3", &["0-2,8-10", "3-5,11-13", "0-2,8-10"]);
    bound("hwthread", "node:pe=4", &["0-1,8-9", "2-3,10-11"]);
    bound("core", "ppr:3:socket", &["0,8", "1,9", "2,10", "4,12"]);
    bound("", "ppr:1:l3cache", &["0-3,8-11", "4-5,12-13", "6-7,14-15"]);
}

#[test]
fn what_a_machine_does_not_have_is_refused() {
    assert!(sets("", "ppr:2:package", 5).unwrap_err().contains("5 ranks need 3 units of the kind package, and this host has 2: start 4 or fewer, or write ppr:3:package"));
    assert!(sets("", "numa:pe=3", 1).unwrap_err().contains("more than the 2 that a numa has"));
    assert!(sets("numa", "package:pe=2", 1).unwrap_err().contains("not of numa"));
    for (bind, map) in
        [("core:0", ""), ("cores", ""), ("", "ppr"), ("", "ppr:2"), ("", "ppr:x:core"), ("", "core:x")]
    {
        assert!(sets(bind, map, 1).is_err(), "{bind} {map}");
    }
    assert_eq!(BindPolicy::new(BindTo::None, Some("package".parse().unwrap())), Ok(BindPolicy(Policy::None)));
    assert_eq!(BindPolicy::new(BindTo::Auto, Some("node".parse().unwrap())), Ok(BindPolicy(Policy::Auto)));
}

#[test]
fn processors_are_named_by_number() {
    let processors = |text: &str| text.parse::<Slots>()?.processors(&machine());
    let list = |text: &str| processors(text).map(|all| ProcessorList(&all).to_string());
    assert_eq!(list("0-1"), Ok("0-1,8-9".into()));
    assert_eq!(list("1:0-1,3"), Ok("4-5,7,12-13,15".into()));
    assert_eq!(list("0:*"), Ok("0-3,8-11".into()));
    assert_eq!(list("p3,9-10"), Ok("3,9-10".into()));
    for (text, words) in
        [("8", "core 8 of 8"), ("2:0", "package 2 of 2"), ("p16", "may not use"), ("1:4", "core 4 of 4")]
    {
        assert!(list(text).unwrap_err().contains(words), "{text}: {:?}", list(text));
    }
}

#[test]
fn ranks_of_a_host_have_their_own_slots() {
    let slots = |text: &str| text.parse::<Slots>().unwrap();
    let policy = BindPolicy::slots(vec![slots("0"), slots("1"), slots("2")]);
    assert_eq!(policy.of_ranks(&RankSet::from(1..3)), BindPolicy::slots(vec![slots("1"), slots("2")]));
    assert_eq!(BindPolicy::default().of_ranks(&RankSet::from(1..3)), BindPolicy::default());
}

#[test]
fn shares_are_whole_cores_and_equal() {
    let cores: Vec<Vec<u32>> = (0..4).map(|core| vec![core, core + 4]).collect();
    assert_eq!(shares(&cores, 4), cores);
    assert_eq!(shares(&cores, 2), [[0, 1, 4, 5], [2, 3, 6, 7]]);
    assert_eq!(shares(&cores, 3).len(), 3);
    assert!(shares(&cores, 5).is_empty());
    assert!(shares(&[], 1).is_empty());
}

#[test]
fn a_core_has_one_job_at_a_time() {
    // No machine has such a core.
    let core = u32::MAX - std::process::id();
    let first = claim(core).expect("no job has it");
    assert!(claim(core).is_none());
    drop(first);
    assert!(claim(core).is_some());
}

#[test]
fn lists_of_processors_are_short() {
    for (ids, text) in [(&[][..], ""), (&[3], "3"), (&[0, 1, 2, 8], "0-2,8"), (&[1, 3, 4], "1,3-4")] {
        assert_eq!(ProcessorList(ids).to_string(), text);
    }
}

/// Runs the test in a network namespace of its own, where no job has claims; skips it without the right to.
#[expect(deprecated, reason = "it is unsafe for tables of descriptors, which stay shared here")]
fn without_claims(test: impl FnOnce() + Send + 'static) {
    let run = || match rustix::thread::unshare(rustix::thread::UnshareFlags::NEWNET) {
        Ok(()) => test(),
        Err(_) => eprintln!("skipped: needs root"),
    };
    std::thread::spawn(run).join().unwrap();
}

/// Claims these cores as another user.
fn claim_as_stranger(cores: std::ops::Range<u32>) -> Vec<Option<OwnedFd>> {
    let stranger = move || {
        let uid = rustix::process::Uid::from_raw(65534);
        rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
        cores.map(claim).collect()
    };
    std::thread::spawn(stranger).join().unwrap()
}

#[test]
fn a_stranger_that_holds_all_cores_leaves_no_job_unbound() {
    without_claims(|| {
        let _held = claim_as_stranger(0..8);
        let chosen = shared(&machine(), 2);
        assert_eq!(chosen.binding.sets, [vec![0, 8], vec![1, 9]]);
        let remark = chosen.remark.expect("it is said");
        let who =
            format!("cores 0-1 of this host are claimed by user 65534 (process {})", std::process::id());
        assert!(remark.starts_with(&who), "{remark}");
    });
}

#[test]
fn cores_of_strangers_are_taken_only_where_free_ones_are_missing() {
    without_claims(|| {
        let _held = claim_as_stranger(0..5);
        let chosen = shared(&machine(), 3);
        assert_eq!((chosen.binding.sets.len(), chosen.claims.sockets.len(), chosen.remark), (3, 3, None));
        let more = shared(&machine(), 4);
        assert_eq!(more.binding.sets, [vec![0, 8], vec![1, 9], vec![2, 10], vec![3, 11]]);
        assert!(more.remark.is_some_and(|remark| remark.starts_with("cores 0-3 of")));
        // The claim of another job of this user remains.
        assert_eq!(shared(&machine(), 6).binding.sets.len(), 0);
    });
}

#[test]
fn a_name_without_a_listener_is_not_one_of_this_user() {
    without_claims(|| {
        let _silent = claims::socket_at(3);
        let own = rustix::process::getuid().as_raw();
        assert_eq!(holder(3, own, Instant::now()), Some(Holder::Another(None)));
        let mut events = crate::events::Events::new().unwrap();
        let claim = claim(4).unwrap();
        events.close_arrivals(vec![claim]);
        // This is more often than a queue has places.
        for _ in 0..80 {
            assert!((0..64).all(|_| holder(4, own, Instant::now()) == Some(Holder::ThisUser)));
            assert_eq!(events.wait(Some(Instant::now())), []);
        }
    });
}

#[test]
fn the_fewest_processors_of_a_rank_are_those_of_the_smallest_set() {
    let fewest = |bind: &str, map: Option<&str>, ranks| {
        let map = map.map(|map| map.parse().unwrap());
        BindPolicy::new(bind.parse().unwrap(), map).unwrap().fewest_processors(&machine(), ranks)
    };
    assert_eq!(fewest("core", None, 2), Some(2));
    assert_eq!(fewest("hwthread", None, 3), Some(1));
    assert_eq!(fewest("l3cache", None, 1), Some(8));
    assert_eq!(fewest("l3cache", None, 3), Some(4), "the caches of the second package are smaller");
    assert_eq!(fewest("none", None, 2), None);
    assert_eq!(fewest("core", Some("ppr:1:package"), 3), None, "this host has two packages");
    let slots = |text: &str| text.parse::<Slots>().unwrap();
    let policy = BindPolicy::slots(vec![slots("0-1"), slots("p3")]);
    assert_eq!(policy.fewest_processors(&machine(), 2), Some(1));
}
