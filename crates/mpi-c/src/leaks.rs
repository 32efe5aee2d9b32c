//! What a program has not freed when it finalises: operations under way are always told, other handles if wanted.

use canele_mpi::{Result, World};

use crate::handle::*;
use crate::point::wait;
use crate::requests::requests;

/// Tells it on the error output.
///
/// # Errors
/// In a forked child.
pub fn tell(world: &World) -> Result<()> {
    wait::sweep()?;
    let rank = world.engine().rank();
    let under_way = requests()?.under_way();
    if under_way > 0 {
        eprintln!(
            "canele: {rank}: MPI_Finalize: {under_way} operations are still under way and are given up: wait for their requests first"
        );
    }
    if world.engine().tunables().mpi_leaks {
        for (kind, count) in counts()? {
            eprintln!("canele: {rank}: MPI_Finalize: {count} {kind} not freed");
        }
    }
    Ok(())
}

/// How many handles of each kind there are, of those of which there are any.
fn counts() -> Result<Vec<(&'static str, usize)>> {
    let all = [
        ("communicators", COMMS.used()),
        ("groups", GROUPS.used()),
        ("datatypes", DATATYPES.used()),
        ("operations", OPS.used()),
        ("error handlers", ERRHANDLERS.used()),
        ("info objects", INFOS.used()),
        ("messages", MESSAGES.used()),
        ("sessions", SESSIONS.used()),
        ("requests", requests()?.used()),
    ];
    Ok(all.into_iter().filter(|(_, count)| *count > 0).collect())
}
