//! Ranks that fork during their traffic: the parent's traffic is exact, and the child has no part in it.

use canele::{Error, Flow, Job, Rank, Request, Tag};
use fork::{Fork, fork, waitpid};

use crate::{Outcome, pattern};

const DATA: Tag = Tag(1);

/// Exchanges `rounds` messages each way between two ranks; both fork from time to time.
pub fn run(rounds: u64) -> Outcome {
    let job = Job::start()?;
    let (world, me, other) = (job.world(), job.rank(), Rank(1 - job.rank().0));
    for number in 0..rounds {
        let receive = world.irecv(other, DATA, vec![0; pattern::length(other, me, number)])?;
        let send = world.isend(other, DATA, pattern::message(me, other, number, 0))?;
        let (receive, send) = match number % 16 {
            3 => fork_and_come_back(&world, receive, send, true)?,
            // This child outlives the job's last message, and must still end with the job.
            11 => fork_and_come_back(&world, receive, send, false)?,
            _ => (receive, send),
        };
        let (_, bytes) = receive.wait()?;
        pattern::check(other, me, number, &bytes)?;
        send.wait()?;
    }
    println!("exact");
    job.finish()?;
    Ok(())
}

type Pair = (Request<u8>, Request<u8>);

fn fork_and_come_back(
    world: &Flow,
    receive: Request<u8>,
    send: Request<u8>,
    ends: bool,
) -> Result<Pair, Box<dyn std::error::Error>> {
    match fork()? {
        Fork::Child => {
            let verdict = child(world, receive, send);
            if let Err(text) = &verdict {
                eprintln!("forked child: {text}");
            } else if !ends {
                std::thread::sleep(std::time::Duration::from_secs(1000));
            }
            std::process::exit(i32::from(verdict.is_err()));
        }
        Fork::Parent(pid) => {
            if ends {
                let status = waitpid(pid)?;
                if status != 0 {
                    return Err(format!("the forked child ended with {status:#x}").into());
                }
            }
            Ok((receive, send))
        }
    }
}

/// Runs the calls of a child while requests of its parent are pending.
fn child(world: &Flow, receive: Request<u8>, send: Request<u8>) -> Result<(), String> {
    let other = Rank(1 - world.rank().0);
    let attempts = [
        ("send", world.send(other, DATA, &[1u8]).err()),
        ("long send", world.send(other, DATA, &vec![1u8; 1 << 20]).err()),
        ("recv", world.recv(other, DATA, &mut [1u8]).err()),
        ("isend", world.isend(other, DATA, vec![1u8]).err()),
        ("irecv", world.irecv(other, DATA, vec![1u8]).err()),
        ("iprobe", world.iprobe(other, DATA).err()),
    ];
    for (what, error) in attempts {
        if !matches!(error, Some(Error::Forked)) {
            return Err(format!("{what} gave {error:?}"));
        }
    }
    drop(send);
    match receive.wait() {
        Err(Error::Forked) => Ok(()),
        // The request had ended before the fork.
        Ok(_) => Ok(()),
        Err(error) => Err(format!("wait gave {error}")),
    }
}
