//! Objects that are made and dropped leave no descriptor, mapping or memory behind, in ranks and launcher.
//!
//! `LEAK_ROUNDS` sets the rounds of each kind.

mod launch;

use std::fs;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use canele::testing::{RankResult, Ranks};
use canele::{Job, Message, Op, Rank, Tag};

const WAIT: Duration = Duration::from_secs(60);
/// Rounds without the variable.
const ROUNDS: usize = 200;
/// Rounds before the first measurement; then pools, tables and the allocator's own memory have their size.
const FIRST_ROUNDS: usize = 100;
/// Kilobytes by which memory may differ, because an allocator keeps some for itself.
const SLACK: u64 = 512;
/// Checks, a hundredth of a second apart, until returned resources are gone; the launcher's report takes a
/// while.
const LOOKS: usize = 3000;

/// Makes and drops objects of one kind, together with the other rank; the number is the round's.
type Round = fn(&Job, Rank, usize) -> RankResult;

const KINDS: [(&str, Round); 12] = [
    ("regions", regions),
    ("regions that are found twice", found_twice),
    ("messages in regions", region_messages),
    ("mailboxes", mailboxes),
    ("posts", posts),
    ("channels", channels),
    ("flows", flows),
    ("flows with requests under way", flows_with_requests),
    ("requests", requests),
    ("awaited requests", awaited_requests),
    ("messages that a probe took", matched_messages),
    ("notices", notices),
];

fn regions(job: &Job, other: Rank, n: usize) -> RankResult {
    let region = job.endpoint().region(100_000)?;
    region.publish(&format!("r{n} {}", job.rank()))?;
    let far = job.endpoint().find_region(&format!("r{n} {other}"), WAIT)?;
    far.put(8, &[n as u64; 100])?;
    far.fence(Some(WAIT))?;
    job.world().barrier()?;
    let mut seen = [0; 100];
    region.read(8, &mut seen)?;
    assert_eq!(seen, [n as u64; 100]);
    Ok(())
}

fn found_twice(job: &Job, other: Rank, n: usize) -> RankResult {
    let region = job.endpoint().region(5000)?;
    region.publish(&format!("t{n} {}", job.rank()))?;
    let find = || job.endpoint().find_region(&format!("t{n} {other}"), WAIT);
    let (first, second) = (find()?, find()?.clone());
    drop(first);
    job.world().barrier()?;
    drop(region);
    job.world().barrier()?;
    // A clone keeps it mapped.
    second.put(0, &[1u64])?;
    Ok(())
}

fn region_messages(job: &Job, other: Rank, n: usize) -> RankResult {
    const BYTES: usize = 300_000;
    let (from, into) = (job.endpoint().region(BYTES)?, job.endpoint().region(BYTES)?);
    from.write(0, &[n as u64])?;
    let world = job.world();
    if job.rank() < other {
        world.send_region(other, Tag(1), &from, 0..BYTES)?;
        world.recv_region(other, Tag(1), &into, 0..BYTES)?;
    } else {
        world.recv_region(other, Tag(1), &into, 0..BYTES)?;
        world.send_region(other, Tag(1), &from, 0..BYTES)?;
    }
    let mut seen = [0u64];
    into.read(0, &mut seen)?;
    assert_eq!(seen, [n as u64]);
    Ok(())
}

fn mailboxes(job: &Job, other: Rank, n: usize) -> RankResult {
    let mailbox = job.endpoint().create_mailbox(&format!("{n} {}", job.rank()), 4)?;
    let sender = job.endpoint().find_mailbox(&format!("{n} {other}"), WAIT)?;
    for bytes in [10, 100_000] {
        let mut message = Message::with_capacity(bytes);
        message.pack(&vec![n as u8; bytes]);
        sender.post(message)?;
        assert_eq!(mailbox.retrieve()?.len(), bytes);
    }
    Ok(job.world().barrier()?)
}

fn posts(job: &Job, other: Rank, n: usize) -> RankResult {
    const PLACES: usize = 4;
    thread_local! {
        static BOTH: std::cell::OnceCell<(canele::Mailbox, canele::MailboxSender)> = const { std::cell::OnceCell::new() };
    }
    BOTH.with(|both| {
        if both.get().is_none() {
            let mailbox = job.endpoint().create_mailbox(&format!("posts {}", job.rank()), PLACES)?;
            let sender = job.endpoint().find_mailbox(&format!("posts {other}"), WAIT)?;
            let _ = both.set((mailbox, sender));
        }
        let (mailbox, sender) = both.get().expect("it was set");
        // The mailbox has this many places, so each round has as many regions in use.
        for _ in 0..PLACES {
            let mut message = Message::with_capacity(0);
            message.pack(&vec![1u8; 20_000 + n]);
            sender.post(message)?;
        }
        for _ in 0..PLACES {
            assert_eq!(mailbox.retrieve()?.len(), 20_000 + n);
        }
        Ok(job.world().barrier()?)
    })
}

fn channels(job: &Job, other: Rank, n: usize) -> RankResult {
    let channel = job.endpoint().channel(other, n as u32)?;
    channel.send(&[n])?;
    let mut got = [0];
    channel.recv(&mut got)?;
    assert_eq!(got, [n]);
    Ok(())
}

fn flows(job: &Job, _: Rank, n: usize) -> RankResult {
    let flow = job.world().duplicate()?;
    is_used_again(&flow, n);
    let mut sum = [0];
    flow.allreduce(&[1u32], &mut sum, Op::Sum)?;
    assert_eq!(sum, [2]);
    let mut many = vec![0u8; 200_000];
    flow.broadcast(Rank(0), &mut many)?;
    Ok(())
}

/// Checks that each round has the flow of the previous round.
fn is_used_again(flow: &canele::Flow, n: usize) {
    thread_local! {
        static FIRST: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
    }
    if n == 0 {
        FIRST.set(flow.on_lane().1.0);
    }
    assert_eq!(flow.on_lane().1.0, FIRST.get(), "round {n}");
}

fn flows_with_requests(job: &Job, other: Rank, n: usize) -> RankResult {
    let (world, flow) = (job.world(), job.world().duplicate()?);
    is_used_again(&flow, n);
    let receive = flow.irecv(other, Tag(1), vec![0usize; 1])?;
    let long = flow.irecv(other, Tag(2), vec![0u8; 300_000])?;
    let sends = (flow.isend(other, Tag(1), vec![n])?, flow.isend(other, Tag(2), vec![n as u8; 300_000])?);
    drop(flow);
    // The requests keep the flow, so this one has another number.
    let next = world.duplicate()?;
    let unreceived = next.isend(other, Tag(1), vec![!n])?;
    assert_eq!(receive.wait()?.1, [n]);
    assert!(long.wait()?.1.iter().all(|byte| *byte == n as u8));
    sends.0.wait()?;
    sends.1.wait()?;
    unreceived.wait()?;
    Ok(world.barrier()?)
}

fn awaited_requests(job: &Job, other: Rank, n: usize) -> RankResult {
    let receive = job.world().irecv(other, Tag(5), vec![0usize; 1])?;
    let given_up = job.world().irecv(other, Tag(6), vec![0usize; 1])?;
    job.world().isend(other, Tag(5), vec![n])?.wait()?;
    assert_eq!(block_on(receive)?.1, [n]);
    let mut given_up = std::pin::pin!(given_up);
    assert!(given_up.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    Ok(())
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn matched_messages(job: &Job, other: Rank, n: usize) -> RankResult {
    let world = job.world();
    let sends = (world.isend(other, Tag(7), vec![n; 10])?, world.isend(other, Tag(8), vec![n; 10_000])?);
    assert_eq!(world.mprobe(other, Tag(7))?.recv_vec::<usize>()?.1, [n; 10]);
    // A message that is not received is dropped with the result of the probe.
    drop(world.mprobe(other, Tag(8))?);
    sends.0.wait()?;
    sends.1.wait()?;
    Ok(())
}

fn requests(job: &Job, other: Rank, n: usize) -> RankResult {
    let world = job.world();
    let receive = world.irecv(other, Tag(2), vec![0usize; 1])?;
    world.isend(other, Tag(2), vec![n])?.wait()?;
    assert_eq!(receive.wait()?.1, [n]);
    let mut cancelled = world.irecv(other, Tag(3), vec![0u8; 100])?;
    assert!(cancelled.cancel()?);
    drop(cancelled);
    drop(world.irecv(other, Tag(4), vec![0u8; 100])?);
    Ok(())
}

fn notices(job: &Job, other: Rank, n: usize) -> RankResult {
    let region = job.endpoint().region(4096)?;
    region.publish(&format!("n{n} {}", job.rank()))?;
    let far = job.endpoint().find_region(&format!("n{n} {other}"), WAIT)?;
    far.put_notify(0, &[n], n as u64)?;
    assert_eq!(job.endpoint().wait_notice(Some(WAIT))?.id, n as u64);
    Ok(job.world().barrier()?)
}

/// The resources that a process holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    descriptors: usize,
    mappings: usize,
    /// Memory that is not shared; regions are counted as mappings.
    kilobytes: u64,
}

impl Held {
    fn by(process: &str) -> Held {
        let read = |what: &str| fs::read_to_string(format!("/proc/{process}/{what}")).unwrap();
        let pages: Vec<u64> = read("statm").split_whitespace().map(|word| word.parse().unwrap()).collect();
        Held {
            descriptors: fs::read_dir(format!("/proc/{process}/fd")).unwrap().count(),
            mappings: read("maps").lines().count(),
            kilobytes: (pages[1] - pages[2]) * 4,
        }
    }

    fn is_more_than(self, before: Held) -> bool {
        self.descriptors > before.descriptors
            || self.mappings > before.mappings + 2
            || self.kilobytes > before.kilobytes + SLACK
    }
}

fn parent_of(process: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("PPid:")).unwrap();
    line["PPid:".len()..].trim().to_owned()
}

fn compare(job: &Job, what: &str, process: &str, before: Held) {
    let mut now = Held::by(process);
    for _ in 0..LOOKS {
        if !now.is_more_than(before) {
            return;
        }
        // A thread that makes progress reads the launcher's messages.
        let _ = job.world().iprobe(canele::Source::Any, Tag(99));
        std::thread::sleep(Duration::from_millis(10));
        now = Held::by(process);
    }
    panic!("{what}: {before:?} has become {now:?}");
}

#[test]
fn nothing_is_left_of_what_is_made_and_dropped() {
    if std::env::var_os("CANELE_RANK").is_none() {
        // Builds the launcher.
        launch::command();
    }
    let rounds = std::env::var("LEAK_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let limit = Duration::from_secs(if rounds > ROUNDS { 7200 } else { 100 });
    Ranks::new(2).time_limit(limit).run(|job| {
        let other = Rank(1 - job.rank().0);
        let launcher = parent_of(&parent_of("self"));
        for (name, round) in KINDS {
            (0..FIRST_ROUNDS).try_for_each(|n| round(job, other, n))?;
            job.world().barrier()?;
            let (own, launchers) = (Held::by("self"), Held::by(&launcher));
            job.world().barrier()?;
            (FIRST_ROUNDS..FIRST_ROUNDS + rounds).try_for_each(|n| round(job, other, n))?;
            job.world().barrier()?;
            compare(job, name, "self", own);
            if job.rank() == Rank(0) {
                compare(job, &format!("{name}: the launcher"), &launcher, launchers);
            }
            job.world().barrier()?;
        }
        Ok(())
    });
}
