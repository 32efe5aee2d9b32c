//! A rank dies in the middle; the others must end, and name the dead rank. For a job of three ranks with
//! `--on-failure continue`.

use canele::{Flow, Job, Rank, Tag};
use canele_dsm::{AddressSpace, DsmError, Settings};

use super::Checked;

const TURN: Tag = Tag(1);

fn told<T>(own: Rank, result: Result<T, DsmError>) -> Checked {
    match result {
        Ok(_) => Err(format!("{own} went on without a rank that died").into()),
        Err(error) => {
            println!("told: {own}: {error}");
            Ok(())
        }
    }
}

/// Checks the death of `who`: `client` (rank 2, which holds a page that rank 1 waits for) or `server` (rank
/// 0, which has served pages).
pub fn check(job: Job, who: &str) -> Checked {
    let space = AddressSpace::new(job.world().duplicate()?, Settings { pages: 3, ..Settings::default() })?;
    match who {
        "client" => client_dies(&job.world(), &space)?,
        "server" => server_dies(&job.world(), &space)?,
        _ => return Err("client or server".into()),
    }
    Ok(job.finish()?)
}

fn client_dies(world: &Flow, space: &AddressSpace) -> Checked {
    let own = space.rank();
    if space.is_server() {
        return told(own, space.server().serve());
    }
    let mut client = space.client();
    let pages = client.map::<u8>(0..3)?;
    if own == Rank(2) {
        client.write(&pages, 0)?;
        world.send(Rank(1), TURN, &[1_u8])?;
        world.recv(Rank(1), TURN, &mut [0_u8])?;
        std::process::abort();
    }
    world.recv(Rank(2), TURN, &mut [0_u8])?;
    world.send(Rank(2), TURN, &[1_u8])?;
    told(own, client.write(&pages, 0).map(drop))
}

fn server_dies(world: &Flow, space: &AddressSpace) -> Checked {
    let own = space.rank();
    if space.is_server() {
        let mut server = space.server();
        std::thread::spawn(move || server.serve());
        for client in [1, 2] {
            world.recv(Rank(client), TURN, &mut [0_u8])?;
        }
        std::process::abort();
    }
    let mut client = space.client();
    let pages = client.map::<u8>(0..3)?;
    client.read(&pages, 0)?;
    world.send(Rank(0), TURN, &[1_u8])?;
    // The receive ends when rank 0 does.
    if world.recv(Rank(0), TURN, &mut [0_u8]).is_ok() {
        return Err("rank 0 sent what it should not".into());
    }
    told(own, client.read(&pages, 1).map(drop))
}
