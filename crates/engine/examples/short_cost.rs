//! The cost of messages and puts between two ranks in one process, in instructions at both ends.
//!
//! `valgrind --tool=callgrind --toggle-collect='*exchange*' target/release/examples/short_cost short_8 1000`

use std::hint::black_box;

use canele_engine::{Engine, Error, FlowId, Mode, Notice, Rank, Region, RegionMemory, Tag, Want};
use canele_sys::tunables::Tunables;

/// The name of a workload, the bytes of its messages, and the operation on each.
type Workload = (&'static str, usize, Work);

#[derive(Clone, Copy)]
enum Work {
    /// A send; the receive has this want.
    Message(Want),
    /// A put with a notice.
    Put,
}

const SOURCE: Option<Rank> = Some(Rank(0));
const TAG: Option<Tag> = Some(Tag(1));

const WORKLOADS: [Workload; 5] = [
    ("short_8", 8, Work::Message(Want { source: SOURCE, tag: TAG })),
    ("any_8", 8, Work::Message(Want { source: None, tag: TAG })),
    ("anything_8", 8, Work::Message(Want { source: None, tag: None })),
    ("eager_1024", 1024, Work::Message(Want { source: SOURCE, tag: TAG })),
    ("put_8", 8, Work::Put),
];

/// Sends and receives one message.
#[inline(never)]
fn exchange_message(
    from: &Engine,
    to: &Engine,
    bytes: &[u8],
    want: Want,
    into: &mut [u8],
) -> Result<(), Error> {
    from.send(Rank(1), FlowId(0), Tag(1), Mode::Standard, bytes, None)?;
    to.recv(FlowId(0), want, into, None)?;
    Ok(())
}

/// Puts once and takes the notice.
#[inline(never)]
fn exchange_put(
    from: &Engine,
    to: &Engine,
    bytes: &[u8],
    region: &Region,
    far: &RegionMemory,
) -> Result<Notice, Error> {
    from.put_notify(Rank(1), far, region.id(), 0, bytes, 1)?;
    to.wait_notice(None)
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let messages: u32 = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let Some((_, len, work)) = WORKLOADS.into_iter().find(|workload| workload.0 == name) else {
        let names = WORKLOADS.map(|workload| workload.0).join(" | ");
        eprintln!("short_cost {names} [MESSAGES]");
        std::process::exit(2);
    };
    let engines = canele_testing::start(2, &Tunables::default())?;
    let [from, to] = &engines[..] else { unreachable!("two were started") };
    let region = to.create_region(len)?;
    let far = region.far();
    let (bytes, mut into) = (vec![7u8; len], vec![0u8; len]);
    // The first message makes the link, whose cost is not measured.
    for engine in &engines {
        engine.iprobe(FlowId(0), Want { source: None, tag: None })?;
    }
    from.send(Rank(1), FlowId(0), Tag(1), Mode::Standard, &bytes, None)?;
    to.recv(FlowId(0), Want { source: SOURCE, tag: TAG }, &mut into, None)?;
    for _ in 0..messages {
        match work {
            Work::Message(want) => exchange_message(from, to, black_box(&bytes), want, &mut into)?,
            Work::Put => drop(exchange_put(from, to, black_box(&bytes), &region, &far)?),
        }
    }
    if let (Work::Put, Some(window)) = (work, region.window(0, len)) {
        window.read(0, &mut into);
    }
    assert_eq!(bytes, into);
    println!("{messages} messages of {len} bytes");
    Ok(())
}
