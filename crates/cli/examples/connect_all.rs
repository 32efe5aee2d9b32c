//! Connects all pairs of ranks and prints the costs: seconds, and memory of a rank.
//!
//! `canele run -n 64 connect_all`. Every rank sends 8 bytes to every other one at once. Rank 0 prints one
//! line: ranks, then seconds from its starting signal until all have received from all. Then follow, in MB,
//! the figures of the rank with most memory: its inbox, the page tables of its mappings, and its private
//! memory. The parts of the last two that the links added are printed, too. Then all ranks finish at once:
//! the command's time after the line is the end of the job.
#![forbid(unsafe_code)]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use canele::{Error, Job, Rank, Tag, wait_all};

const READY: Tag = Tag(1);
const GO: Tag = Tag(2);
const DATA: Tag = Tag(3);
const DONE: Tag = Tag(4);
const LEAVE: Tag = Tag(5);

/// Memory of a rank in bytes.
#[derive(Clone, Copy, Default)]
struct Memory {
    inbox: u64,
    tables: u64,
    private: u64,
}

impl Memory {
    fn now(me: Rank) -> Memory {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            line.split_ascii_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0) * 1024
        };
        Memory { inbox: inbox(me), tables: field("VmPTE:"), private: field("RssAnon:") }
    }

    fn most(self, other: Memory) -> Memory {
        Memory {
            inbox: self.inbox.max(other.inbox),
            tables: self.tables.max(other.tables),
            private: self.private.max(other.private),
        }
    }
}

/// Returns the reserved bytes of this rank's inbox: the blocks of its file.
fn inbox(me: Rank) -> u64 {
    let name = format!("/memfd:canele-inbox-{} (deleted)", me.0);
    let descriptors = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let mut found = descriptors.filter(|entry| {
        fs::read_link(entry.path()).is_ok_and(|target| target.to_string_lossy() == name.as_str())
    });
    found.next().and_then(|entry| fs::metadata(entry.path()).ok()).map_or(0, |file| file.blocks() * 512)
}

fn main() -> Result<(), Error> {
    let job = Job::start()?;
    let (world, me, size) = (job.world(), job.rank(), job.size());
    let others = || (0..size).map(Rank).filter(|rank| *rank != me);
    // At this point all ranks have started, and are linked to rank 0 only.
    if me.0 == 0 {
        others().try_for_each(|from| world.recv(from, READY, &mut [0_u64]).map(drop))?;
        others().try_for_each(|to| world.send(to, GO, &[0_u64]))?;
    } else {
        world.send(Rank(0), READY, &[0_u64])?;
        world.recv(Rank(0), GO, &mut [0_u64])?;
    }
    let (since, before) = (Instant::now(), Memory::now(me));
    let sends: Result<Vec<_>, Error> =
        others().map(|to| world.isend(to, DATA, vec![u64::from(me.0)])).collect();
    for from in others() {
        let mut number = [u64::MAX];
        world.recv(from, DATA, &mut number)?;
        assert_eq!(number, [u64::from(from.0)]);
    }
    wait_all(sends?)?;
    if me.0 != 0 {
        let now = Memory::now(me);
        let grown = (now.tables + now.private).saturating_sub(before.tables + before.private);
        world.send(Rank(0), DONE, &[now.inbox, now.tables, now.private, grown])?;
        world.recv(Rank(0), LEAVE, &mut [0_u64])?;
        return job.finish();
    }
    let (mut most, mut grown) = (Memory::now(me), 0);
    for from in others() {
        let mut numbers = [0; 4];
        world.recv(from, DONE, &mut numbers)?;
        let [inbox, tables, private, its_growth] = numbers;
        (most, grown) = (most.most(Memory { inbox, tables, private }), its_growth.max(grown));
    }
    let seconds = since.elapsed().as_secs_f64();
    let mb = |bytes: u64| bytes as f64 / 1e6;
    println!(
        "{size} ranks, {seconds:.2} s; MB a rank, at most: inbox {:.2}, page tables {:.2}, private {:.2}, of these two {:.2} \
         for the links",
        mb(most.inbox),
        mb(most.tables),
        mb(most.private),
        mb(grown)
    );
    others().try_for_each(|to| world.send(to, LEAVE, &[0_u64]))?;
    job.finish()
}
