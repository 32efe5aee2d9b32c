//! `canele info --peer R --bytes N`: the rail and the protocol such a message takes, and why.
//!
//! Decides nothing: asks the same function that decides when a message is sent, with the same settings.

use std::process::ExitCode;

use canele_engine::choice::{Ends, TABLE, choose};
use canele_rail::{Rail, shm::Shm, shm::layout::MOST_RANKS};
use canele_sys::{ids::Rank, tunables::Tunables};

use crate::{say, wrong_usage};

/// Prints what a message of `bytes` bytes from rank 0 to `peer` takes, for private and region buffers.
pub fn main(peer: u32, bytes: usize) -> ExitCode {
    if peer as usize >= MOST_RANKS {
        return wrong_usage(&format!("--peer {peer}: ranks are numbered from 0 to {}", MOST_RANKS - 1));
    }
    let tunables = match Tunables::from_env() {
        Ok(tunables) => tunables,
        Err(error) => return wrong_usage(&error.to_string()),
    };
    if peer == 0 {
        println!("rank 0 to itself: matched inside the library, no rail");
        return ExitCode::SUCCESS;
    }
    // The rings' sizes, and with them the largest eager message, depend on how many ranks share the budget.
    let ranks = peer as usize + 1;
    let (cells, payload) = (tunables.ring_cells, tunables.payload_ring_bytes);
    let rail = match Shm::open(Rank(0), ranks, cells, payload, tunables.inbox_bytes) {
        Ok(rail) => rail,
        Err(error) => {
            say(&format!("the rail shm cannot be opened: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let caps = rail.caps(canele_sys::ids::LinkId::new(0, canele_sys::ids::Rank(0)));
    println!("rail      {}: ranks 0 and {peer} are on the same host (a job of {ranks} ranks)", caps.name);
    println!("eager     up to {} bytes", tunables.eager_bytes.min(caps.max_bulk));
    for (buffers, source, target) in [("private buffers", false, false), ("region buffers", true, true)] {
        let choice = choose(caps, tunables.eager_bytes, bytes, Ends { source, target });
        let row = TABLE.iter().find(|row| row.protocol == choice.protocol);
        let (name, doc) = row.map_or(("?", "?"), |row| (row.name, row.doc));
        println!("{bytes} bytes between {buffers}: {name} ({doc})");
        for (other, estimate) in &choice.estimates {
            match estimate {
                Some(ns) if other == &name => println!("    {other:<9} about {ns:.0} ns; the first that can"),
                Some(ns) => println!("    {other:<9} about {ns:.0} ns"),
                None => println!("    {other:<9} not for this size and these buffers"),
            }
        }
    }
    ExitCode::SUCCESS
}
