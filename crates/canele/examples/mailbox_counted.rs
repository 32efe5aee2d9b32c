//! Checks that each end counts a mailbox message once, with its own bytes, in any memory: `canele run -n 2
//! mailbox_counted`. Rank 0 owns the mailbox and rank 1 posts; then rank 0 posts to itself.

use std::time::Duration;

use canele::{Error, Job, Mailbox, Message};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const LENGTHS: [u64; 5] = [48, 100_000, 48, 100_000, 200_000];
    let job = Job::start()?;
    let endpoint = job.endpoint();
    let mailbox = if job.rank().0 == 0 { Some(endpoint.create_mailbox("counted", 9)?) } else { None };
    let sender = endpoint.find_mailbox("counted", Duration::from_secs(30))?;
    let post = || {
        LENGTHS.iter().try_for_each(|length| {
            let mut message = Message::new();
            message.pack(&vec![1u8; *length as usize]);
            sender.post(message)
        })
    };
    let retrieve = |mailbox: &Mailbox| LENGTHS.iter().try_for_each(|_| mailbox.retrieve().map(drop));
    // Returns the messages and bytes that `what` adds to each of some protocols.
    let added = |names: [&str; 3], what: &dyn Fn() -> Result<(), Error>| -> Result<_, Error> {
        let before = endpoint.counters()?;
        what()?;
        let after = endpoint.counters()?.since(&before);
        let value = |name: String| after.iter().find(|(row, _)| row.name == name).map(|(_, value)| value);
        Ok(names.map(|name| (value(name.to_owned()), value(format!("{name}_bytes")))))
    };
    let expected = [(Some(2), Some(96)), (Some(3), Some(400_000)), (Some(0), Some(0))];
    job.world().barrier()?;
    match &mailbox {
        None => assert_eq!(added(["short_sent", "direct_sent", "local_sent"], &post)?, expected),
        Some(mailbox) => {
            let names = ["short_received", "direct_received", "local_sent"];
            assert_eq!(added(names, &|| retrieve(mailbox))?, expected);
            let own =
                added(["short_sent", "direct_received", "local_sent"], &|| post().and(retrieve(mailbox)))?;
            assert_eq!(own, [(Some(0), Some(0)), (Some(0), Some(0)), (Some(5), Some(400_096))]);
        }
    }
    job.world().barrier()?;
    Ok(job.finish()?)
}
