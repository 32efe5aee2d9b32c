//! Calls that must be refused without any effect.

use canele::{Job, Rank, Tag};
use canele_dsm::{Access, AddressSpace, Client, DsmError, Settings};

use super::Checked;

fn space(job: &Job) -> Result<AddressSpace, DsmError> {
    AddressSpace::new(job.world().duplicate()?, Settings { pages: 6, page_bytes: 80, ..Settings::default() })
}

/// Prints the reason why a call was refused; the call must not succeed.
fn refused<T>(result: Result<T, DsmError>) -> Checked {
    match result {
        Ok(_) => Err("a call that must be refused succeeded".into()),
        Err(error) => {
            println!("refused: {error}");
            Ok(())
        }
    }
}

pub fn check(job: &Job) -> Checked {
    space(job)?.run(|client| -> Checked {
        let mapping = client.map::<u64>(1..5)?;
        refused(client.read(&mapping, 4))?;
        refused(client.write(&mapping, 4))?;
        refused(client.prefetch(&mapping, [0, 9], Access::Read))?;
        refused(client.map::<u64>(5..7))?;
        refused(client.map::<[u8; 7]>(0..1))?;
        refused(client.write_back(&mapping, 0))?;
        client.write(&mapping, 0)?[0] = 5;
        client.barrier()?;
        refused(client.write_back(&mapping, 0))?;
        assert_eq!(client.read(&mapping, 0)?[0], 5);
        Ok(())
    })?;
    Ok(())
}

/// Two clients want two pages in opposite orders.
pub fn held(job: &Job) -> Checked {
    let world = job.world();
    space(job)?.run(|client| -> Checked {
        let (pages, own) = (client.map::<u64>(0..6)?, client.space().rank());
        let other = Rank(3 - own.0);
        let meet = |_: &Client| -> Checked {
            world.send(other, Tag(1), &[1_u8])?;
            Ok(world.recv(other, Tag(1), &mut [0_u8]).map(drop)?)
        };
        let (first, second) = if own == Rank(1) { (2, 4) } else { (4, 2) };
        client.write(&pages, first)?[0] = 7;
        meet(client)?;
        if own == Rank(1) {
            // Waits until the other client gave it up.
            assert_eq!(client.write(&pages, second)?[0], 7);
        } else {
            refused(client.write(&pages, second))?;
            client.release()?;
            assert_eq!(client.write(&pages, second)?[0], 7, "it is waited for while nothing else is held");
        }
        Ok(())
    })?;
    Ok(())
}

/// The ranks disagree on the number of pages.
pub fn differ(job: &Job) -> Checked {
    let settings = Settings { pages: 6 + job.rank().0, ..Settings::default() };
    refused(AddressSpace::new(job.world().duplicate()?, settings))
}
