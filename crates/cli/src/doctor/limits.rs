//! The limits of the system for processes: processors, open files, processes, stack, memory. Reads limits,
//! changes none.

use canele_launch::descriptors_for;
use canele_rail::shm::layout::InboxLayout;
use canele_sys::bounded_read::read_kernel;
use canele_sys::segment::Segment;
use canele_sys::tunables::Tunables;
use canele_sys::{memory, topology};
use rustix::process::{Resource, getrlimit, getuid};

use super::finding::{Finding, ok, problem, remark};

/// Processes of a job beside its ranks: launcher or agent, supervisor, remote shell.
const BESIDE_RANKS: u64 = 4;
/// Threads of a single-threaded rank: its own, one for progress, one for files.
const THREADS_OF_RANK: u64 = 3;
/// Smallest stack that suffices for programs in Fortran and deep recursions.
const USUAL_STACK: u64 = 8 << 20;

/// Returns all findings, for a job with `ranks` ranks on this machine and `elsewhere` on others.
pub fn examine(ranks: u32, elsewhere: u32, tunables: &Tunables) -> Vec<Finding> {
    let mut found = processors(ranks);
    found.extend([descriptors(ranks, elsewhere), processes(ranks), stack(), shared_memory()]);
    found.push(messages(ranks, tunables, memory::spare()));
    found
}

fn processors(ranks: u32) -> Vec<Finding> {
    let what = "processors";
    let usable = topology::usable();
    let allowed = topology::allowed().map_or(usable, |allowed| allowed.len() as u32);
    let online = topology::online().unwrap_or(allowed).max(allowed);
    let mut found = vec![match (allowed < online, usable < allowed) {
        (true, _) => remark(
            what,
            format!("this process may run on {allowed} of the machine's {online}"),
            "ask the batch system or container for more, or leave taskset and cpusets away",
        ),
        (_, true) => remark(
            what,
            format!("{allowed}, and a control group grants the time of {usable}"),
            "start as many ranks as the quota has processors, or raise it (cpu.max); ranks are not bound there",
        ),
        _ => ok(what, format!("all of the machine's {online} may be used")),
    }];
    if ranks > usable {
        found.push(remark(
            "ranks",
            format!("{ranks} would share {usable} processors"),
            format!("at most {usable} ranks here are fastest; more work, and take turns"),
        ));
    }
    found
}

/// Returns the finding on open files. The launcher raises the soft limit of all processes of a job to the
/// hard one.
fn descriptors(ranks: u32, elsewhere: u32) -> Finding {
    let what = "open files";
    let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    // A rank needs links to all ranks of other hosts, over one rail; the launcher needs those for its ranks.
    let needed = descriptors_for(ranks).max(u64::from(elsewhere) + 64);
    let value = format!("a job may have {} at once, {ranks} ranks here need about {needed}", number(hard));
    if needed > hard {
        return problem(
            what,
            value,
            "raise the hard limit (`ulimit -Hn`, LimitNOFILE, /etc/security/limits.conf)",
        );
    }
    ok(what, value)
}

fn processes(ranks: u32) -> Finding {
    let what = "processes";
    let needed = u64::from(ranks) * THREADS_OF_RANK + BESIDE_RANKS;
    let limits = [
        ("ulimit -u", getrlimit(Resource::Nproc).current.filter(|_| !getuid().is_root()), own_threads()),
        ("pids.max of the control group", of_group("pids.max"), of_group("pids.current").unwrap_or(0)),
    ];
    let left = |(name, limit, used): (&'static str, Option<u64>, u64)| {
        limit.map(|limit| (limit.saturating_sub(used), name, limit))
    };
    let Some((left, name, limit)) = limits.into_iter().filter_map(left).min() else {
        return ok(what, "no limit");
    };
    let value = format!("{left} more may be started ({name}: {limit}), {ranks} ranks take up to {needed}");
    match left < needed {
        true => problem(what, value, format!("raise it ({name})")),
        false => ok(what, value),
    }
}

/// Returns the number of processes and threads of this user.
fn own_threads() -> u64 {
    let user = getuid().as_raw().to_string();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let threads = entries.filter_map(|entry| {
        let status = read_kernel(entry.path().join("status")).ok()?;
        (field(&status, "Uid:")? == user).then(|| field(&status, "Threads:")?.parse::<u64>().ok())?
    });
    threads.sum()
}

/// Returns the first word after a name at the start of a line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()
}

/// Returns a number of this process's control group, version 2.
fn of_group(file: &str) -> Option<u64> {
    let groups = read_kernel("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let folder = std::path::Path::new("/sys/fs/cgroup").join(group);
    std::fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()
}

fn stack() -> Finding {
    let what = "stack";
    match getrlimit(Resource::Stack).current {
        None => ok(what, "no limit"),
        Some(bytes) if bytes >= USUAL_STACK => ok(what, format!("{} for each process", size(bytes))),
        Some(bytes) => remark(
            what,
            format!("{} for each process", size(bytes)),
            "programs with large arrays on the stack end with signal 11: `ulimit -s unlimited` before the job",
        ),
    }
}

/// Returns the finding on memory that processes share. It comes from memfd_create(2), which has no file
/// system that can be full.
fn shared_memory() -> Finding {
    let what = "shared memory";
    match Segment::create("canele-doctor", 1) {
        Ok(_) => ok(what, "can be made (memfd); the size of /dev/shm does not matter, it is not used"),
        Err(error) => problem(
            what,
            error.to_string(),
            "ranks of one host need memfd_create(2): permit it in the container's seccomp profile",
        ),
    }
}

/// Returns the finding on the memory of the inboxes of `ranks` ranks, compared with the memory available.
fn messages(ranks: u32, tunables: &Tunables, spare: u64) -> Finding {
    let what = "memory";
    let (cells, payload) = (tunables.ring_cells, tunables.payload_ring_bytes);
    let layout = InboxLayout::new(ranks as usize, cells, payload, tunables.inbox_bytes);
    let first = u64::from(ranks).pow(2) * layout.first_bytes() as u64;
    let most = u64::from(ranks) * layout.bytes() as u64;
    let unexpected = u64::from(ranks) * tunables.unexpected_bytes as u64;
    let value = format!(
        "{} can be had, {ranks} ranks that all talk to each other share {} at first, {} at most, and hold up to {} of messages \
         that are not received",
        size(spare),
        size(first),
        size(most),
        size(unexpected)
    );
    if first > spare {
        return problem(
            what,
            value,
            "start fewer ranks here, free memory, or raise the control group's memory.max",
        );
    }
    if most.saturating_add(unexpected) > spare {
        let remedy = "it is enough for programs that receive what they are sent; otherwise lower CANELE_INBOX_BYTES and \
                      CANELE_UNEXPECTED_BYTES, or start fewer ranks";
        return remark(what, value, remedy);
    }
    ok(what, value)
}

fn number(limit: u64) -> String {
    if limit == u64::MAX { "any number".into() } else { limit.to_string() }
}

/// Returns a size with three digits and a unit.
fn size(bytes: u64) -> String {
    let (units, mut value, mut unit) = (["bytes", "KiB", "MiB", "GiB", "TiB"], bytes as f64, 0);
    while value >= 1000.0 && unit + 1 < units.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    let digits = if unit > 0 && value < 10.0 { 1 } else { 0 };
    format!("{value:.digits$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn memory_is_judged_by_what_a_job_needs_at_first_and_at_most() {
        let tunables = Tunables::default();
        let level = |ranks, spare| messages(ranks, &tunables, spare).level;
        assert_eq!(level(2, 1 << 40), Level::Ok);
        assert_eq!(level(2, 100 << 20), Level::Remark);
        assert_eq!(level(2, 1 << 20), Level::Problem);
    }

    #[test]
    fn sizes_have_three_digits_at_most() {
        assert_eq!([size(999), size(1 << 20), size(5 << 30)], ["999 bytes", "1.0 MiB", "5.0 GiB"]);
        assert_eq!(field("Uid:\t0\t0\nThreads:\t3\n", "Threads:"), Some("3"));
    }
}
