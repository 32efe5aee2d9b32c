//! What a program has not freed when it finalises: operations under way are always told, other handles if wanted.

use canele_mpi::{Result, World};

use crate::point::wait;
use crate::requests::requests;
use crate::table::{HANDLES, ObjectKind};

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
    let objects = ObjectKind::ALL.iter().map(|(kind, plural)| (*plural, HANDLES.used(*kind)));
    let all = objects.chain([("requests", requests()?.used())]);
    Ok(all.filter(|(_, count)| *count > 0).collect())
}
