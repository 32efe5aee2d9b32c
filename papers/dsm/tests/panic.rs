//! A client that panics in a job of one rank, beside the thread that serves.

use canele_dsm::{AddressSpace, DsmError, Settings};

#[test]
fn a_panic_of_the_client_ends_the_server() {
    let job = canele::Job::start().unwrap();
    let space = AddressSpace::new(job.world().duplicate().unwrap(), Settings::default()).unwrap();
    let run = std::panic::AssertUnwindSafe(|| {
        space.run(|client| -> Result<(), DsmError> {
            let pages = client.map::<u8>(0..1)?;
            client.write(&pages, 0)?;
            panic!("the program's own panic");
        })
    });
    assert!(std::panic::catch_unwind(run).is_err());
    // The next run has a server and pages of its own.
    let read = space.run(|client| {
        let pages = client.map::<u8>(0..1)?;
        Ok::<u8, DsmError>(client.write(&pages, 0)?[0])
    });
    assert_eq!(read.unwrap(), Some(0));
    job.finish().unwrap();
}
