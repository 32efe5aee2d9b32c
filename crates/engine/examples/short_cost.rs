//! Short messages between two ranks in one process: what one send and one receive cost in instructions.
//!
//! `valgrind --tool=callgrind --toggle-collect='*exchange*' target/release/examples/short_cost 1000`

use canele_engine::{Engine, Error, FlowId, Mode, Rank, Tag, Want};
use canele_sys::tunables::Tunables;

/// One short message there.
#[inline(never)]
fn exchange(from: &Engine, to: &Engine, bytes: &[u8], into: &mut [u8]) -> Result<(), Error> {
    let want = Want { source: Some(Rank(0)), tag: Some(Tag(1)) };
    from.send(Rank(1), FlowId(0), Tag(1), Mode::Standard, bytes, None)?;
    to.recv(FlowId(0), want, into, None)?;
    Ok(())
}

fn main() -> Result<(), Error> {
    let messages: u32 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1000);
    let engines = canele_engine::local::ranks(2, &Tunables::default())?;
    let (bytes, mut into) = ([7u8; 8], [0u8; 8]);
    for engine in &engines {
        engine.iprobe(FlowId(0), Want { source: None, tag: None })?;
    }
    for _ in 0..messages {
        exchange(&engines[0], &engines[1], std::hint::black_box(&bytes), &mut into)?;
    }
    assert_eq!(bytes, into);
    println!("{messages} messages of {} bytes", bytes.len());
    Ok(())
}
