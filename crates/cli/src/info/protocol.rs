//! `canele info --peer R --bytes N [--remote]`: the rail and the variant of a protocol such a message takes, and what the others
//! would cost.
//!
//! Decides nothing: asks the function that decides when a message is sent and received, with the settings of this process and the
//! capabilities of the rail that leads there.

use std::process::ExitCode;

use canele_engine::choice::{Ends, Path, choose};
use canele_rail::shm::{Shm, layout::MOST_LOCAL_RANKS};
use canele_rail::tcp::{Tcp, TcpLimits};
use canele_rail::{Caps, Rail};
use canele_sys::{ids::LinkId, ids::Rank, tunables::Tunables};

use crate::{say, wrong_usage};

/// Prints what a message of `bytes` bytes from rank 0 to `peer` takes, for private and region buffers.
pub fn main(peer: u32, bytes: usize, remote: bool) -> ExitCode {
    if !remote && peer as usize >= MOST_LOCAL_RANKS {
        return wrong_usage(&format!(
            "--peer {peer}: a host has at most {MOST_LOCAL_RANKS} ranks, numbered from 0"
        ));
    }
    let tunables = match Tunables::from_env() {
        Ok(tunables) => tunables,
        Err(error) => return wrong_usage(&error.to_string()),
    };
    if peer == 0 {
        println!("rank 0 to itself: matched inside the library, no rail");
        return ExitCode::SUCCESS;
    }
    let ranks = peer.saturating_add(1);
    let caps =
        if remote { Ok(Tcp::capabilities(TcpLimits::default())) } else { shared_memory(ranks, &tunables) };
    let caps = match caps {
        Ok(caps) => caps,
        Err(error) => {
            say(&format!("the rail shm cannot be opened: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let hosts = if remote { "different hosts" } else { "the same host" };
    println!("rail      {}: ranks 0 and {peer} are on {hosts} (a job of {ranks} ranks)", caps.name);
    println!("eager     up to {} bytes", Path::over(&caps, tunables.eager_bytes).whole_bytes());
    print_choices(&caps, tunables.eager_bytes, bytes);
    ExitCode::SUCCESS
}

/// What the rail to a peer of this host can do. The rings' sizes, and with them the largest eager message, depend on how many
/// ranks share the budget.
fn shared_memory(ranks: u32, tunables: &Tunables) -> Result<Caps, String> {
    let (cells, payload) = (tunables.ring_cells, tunables.payload_ring_bytes);
    let rail = Shm::open(Rank(0), 0..ranks, cells, payload, tunables.inbox_bytes);
    let rail = rail.map_err(|error| error.to_string())?;
    Ok(*rail.caps(LinkId::in_memory(Rank(1))))
}

fn print_choices(caps: &Caps, eager_bytes: usize, bytes: usize) {
    let buffers = [
        ("private buffers", false, false),
        ("a region and a private buffer", true, false),
        ("a private buffer and a region", false, true),
        ("region buffers", true, true),
    ];
    for (buffers, source, target) in buffers {
        let choice = choose(caps, eager_bytes, bytes, Ends { source, target });
        let row = choice.variant.row();
        println!("{bytes} bytes between {buffers}: {} ({})", row.name, row.doc);
        for (other, estimate) in &choice.estimates {
            match estimate {
                Some(ns) if *other == row.name => println!("    {other:<12} about {ns:.0} ns; taken"),
                Some(ns) => println!("    {other:<12} about {ns:.0} ns"),
                None => println!("    {other:<12} not for this size, these buffers and this rail"),
            }
        }
    }
}
