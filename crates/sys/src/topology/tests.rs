//! Tests with machines made of a few files, and with the machine that the tests run on.

use super::*;
use std::path::PathBuf;

/// A folder like `/sys/devices/system`, removed when dropped.
struct System(PathBuf);

impl System {
    fn new(name: &str, files: &[(&str, &str)]) -> System {
        let root = std::env::temp_dir().join(format!("canele-topology-{name}-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        System(root)
    }
}

impl Drop for System {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn ids(topology: &Topology) -> Vec<u32> {
    topology.processors().iter().map(|processor| processor.id).collect()
}

#[test]
fn cores_come_before_their_second_processors() {
    // Two packages of two cores; processors 0-3 are the cores' first ones, 4-7 their second ones.
    let files: Vec<(String, String)> = (0..8)
        .flat_map(|id| {
            let core = id % 4;
            let folder = format!("cpu/cpu{id}/topology");
            [
                (format!("{folder}/thread_siblings_list"), format!("{core},{}\n", core + 4)),
                (format!("{folder}/physical_package_id"), format!("{}\n", core % 2)),
            ]
        })
        .chain([
            ("node/node0/cpulist".to_owned(), "0,2,4,6\n".to_owned()),
            ("node/node1/cpulist".to_owned(), "1,3,5,7\n".to_owned()),
            ("node/possible".to_owned(), "0-1\n".to_owned()),
        ])
        .collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let system = System::new("two-packages", &files);

    let all = Topology::read(&system.0, &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(ids(&all), [0, 2, 1, 3, 4, 6, 5, 7], "neighbours share a node");
    assert_eq!(
        all.processors()[6],
        Processor { id: 5, core: 1, package: 1, node: 1, second_cache: 1, third_cache: 1 }
    );
    assert_eq!(all.cores(), 4);

    let some = Topology::read(&system.0, &[1, 5, 7]);
    assert_eq!(ids(&some), [1, 7, 5], "only what is allowed, still one of each core first");
    assert_eq!(some.cores(), 2);
}

#[test]
fn missing_files_mean_a_plain_machine() {
    let system = System::new("bare", &[]);
    let topology = Topology::read(&system.0, &[2, 5]);
    assert_eq!(
        topology.processors()[1],
        Processor { id: 5, core: 5, package: 0, node: 0, second_cache: 5, third_cache: 2 }
    );
    assert_eq!(topology.cores(), 2);
}

#[test]
fn strange_files_mean_a_plain_machine() {
    let files = [
        ("cpu/cpu0/topology/core_cpus_list", "nonsense\n"),
        ("cpu/cpu0/topology/physical_package_id", "-1\n"),
        ("node/node0/cpulist", "3-1\n"),
    ];
    let system = System::new("strange", &files);
    let topology = Topology::read(&system.0, &[0]);
    assert_eq!(
        topology.processors(),
        [Processor { id: 0, core: 0, package: 0, node: 0, second_cache: 0, third_cache: 0 }]
    );
}

#[test]
fn ranks_go_round() {
    let system = System::new("round", &[]);
    let topology = Topology::read(&system.0, &[4, 6]);
    let chosen: Vec<_> = (0..5).map(|rank| topology.choose(rank).unwrap().id).collect();
    assert_eq!(chosen, [4, 6, 4, 6, 4]);
    assert_eq!(Topology::read(&system.0, &[]).choose(0), None);
}

#[test]
fn this_machine_has_processors_to_bind_to() {
    let allowed_before = allowed().unwrap();
    let topology = Topology::discover().unwrap();
    let mut found = ids(&topology);
    found.sort_unstable();
    assert_eq!(found, allowed_before);
    // The binding is that of a thread of its own, and ends with it.
    let last = topology.choose(found.len() as u32 - 1).unwrap().id;
    let bound = ProcessorSet::new(&[last]);
    let bound = std::thread::spawn(move || bound.bind_thread().and_then(|()| allowed())).join().unwrap();
    assert_eq!(bound.unwrap(), [last]);
    assert_eq!(allowed().unwrap(), allowed_before);
}

#[test]
fn a_process_is_restricted_to_what_all_its_processors_lie_in() {
    // Two packages of two processors; those of a package share the third cache, and each has a first data
    // cache.
    let mut files = Vec::new();
    for id in 0..4 {
        let (cpu, pair) = (format!("cpu/cpu{id}"), if id < 2 { "0-1" } else { "2-3" });
        files.push((format!("{cpu}/topology/physical_package_id"), format!("{}\n", id / 2)));
        files.push((format!("{cpu}/topology/core_cpus_list"), format!("{id}\n")));
        for (index, level, kind, shared) in
            [(0, 1, "Instruction", "0-3"), (1, 1, "Data", ""), (2, 3, "Unified", pair)]
        {
            let cache = format!("{cpu}/cache/index{index}");
            files.push((format!("{cache}/level"), format!("{level}\n")));
            files.push((format!("{cache}/type"), format!("{kind}\n")));
            let shared = if shared.is_empty() { id.to_string() } else { shared.to_owned() };
            files.push((format!("{cache}/shared_cpu_list"), shared));
        }
    }
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let system = System::new("resources", &files);
    let read = |allowed: &[u32]| resources::read(&system.0, allowed);
    let kinds =
        [Resource::Package, Resource::Cache(3), Resource::Cache(1), Resource::Core, Resource::Processor];
    let with = |numbers: [Option<u32>; 5]| kinds.into_iter().zip(numbers).collect::<Vec<_>>();
    assert_eq!(read(&[3]), with([Some(1), Some(2), Some(3), Some(3), Some(3)]));
    assert_eq!(read(&[2, 3]), with([Some(1), Some(2), None, None, None]));
    assert_eq!(read(&[1, 2]), with([None; 5]));
    assert_eq!(read(&[]), []);
}

#[test]
fn caches_are_those_of_the_first_processor_in_use() {
    let cache = |processor: u32, index: u32, texts: [&str; 4]| {
        let folder = format!("cpu/cpu{processor}/cache/index{index}");
        let names = ["level", "type", "size", "shared_cpu_list"];
        names
            .into_iter()
            .zip(texts)
            .map(|(name, text)| (format!("{folder}/{name}"), format!("{text}\n")))
            .collect::<Vec<_>>()
    };
    let files = [
        cache(2, 3, ["3", "Unified", "32M", "2-9"]),
        cache(2, 0, ["1", "Data", "48K", "2"]),
        cache(2, 1, ["1", "Instruction", "32K", "2"]),
        cache(2, 2, ["2", "Unified", "2048K", "2,3"]),
        cache(0, 0, ["1", "Data", "7K", "0"]),
        vec![("cpu/online".to_owned(), "2-9\n".to_owned())],
    ]
    .concat();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let system = System::new("caches", &files);
    let all = caches::read_caches(&system.0);
    let cache = |level, bytes, processors| Cache { level, bytes, processors };
    assert_eq!(all, [cache(1, 48 << 10, 1), cache(2, 2 << 20, 2), cache(3, 32 << 20, 8)]);
    let topology = Topology::read(&system.0, &[2]);
    assert_eq!((topology.processors()[0].second_cache, topology.processors()[0].third_cache), (2, 2));
    assert_eq!(caches::read_caches(Path::new("/no/such")), []);
}
