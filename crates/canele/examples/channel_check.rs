//! Checks channels between ranks 0 and 1: `canele run -n 2 channel_check`. Ends with an error if a message is
//! lost or changed.

use std::time::Duration;

use canele::{Channel, Endpoint, Error, Failure, Job, Rank, Tag};

type Checked = Result<(), Box<dyn std::error::Error>>;

const SIZES: [usize; 17] =
    [0, 1, 9, 10, 48, 49, 64, 65, 4041, 4042, 4096, 4097, 8192, 16_384, 16_385, 1 << 20, (4 << 20) + 3];

fn main() -> Checked {
    let job = Job::start()?;
    let (me, other) = (job.rank().0, Rank(1 - job.rank().0));
    let endpoint = job.endpoint();
    let first = endpoint.channel(other, 1)?;
    let second = endpoint.channel(other, u32::MAX)?;
    lists(me, &first)?;
    for (sender, receiver) in [(false, false), (true, false), (false, true), (true, true)] {
        regions(me, endpoint, &first, sender, receiver)?;
    }
    apart(me, &first, &second)?;
    limits(me, endpoint, &first)?;
    flows(me, &job)?;
    let missing = endpoint.channel(Rank(2), 1);
    assert!(matches!(missing, Err(Error::NoSuchRank { size: 2, .. })));
    Ok(job.finish()?)
}

fn content(size: usize) -> Vec<u8> {
    (0..size).map(|n| (n * 31 + size) as u8).collect()
}

/// Sends one message in parts, and receives it in parts of other lengths.
fn lists(me: u32, channel: &Channel) -> Checked {
    for size in SIZES {
        let all = content(size);
        let (a, b) = all.split_at(size / 3);
        if me == 0 {
            channel.send_list(&[a, &[], b])?;
        } else {
            let mut got = vec![0; size + 10];
            let (head, rest) = got.split_at_mut(size / 2);
            let (middle, rest) = rest.split_at_mut(size / 4);
            assert_eq!(channel.recv_list_deadline(vec![head, middle, rest], Duration::from_secs(30))?, size);
            assert!(got[..size] == all && got[size..] == [0; 10]);
        }
    }
    Ok(())
}

/// Sends and receives with buffers in regions, at either end.
fn regions(me: u32, endpoint: &Endpoint, channel: &Channel, sender: bool, receiver: bool) -> Checked {
    for size in SIZES {
        let all = content(size);
        let region = endpoint.region(size + 64)?;
        match (me, sender, receiver) {
            (0, true, _) => {
                region.write(5, &all)?;
                channel.send_region(&region, 5..5 + size)?;
            }
            (0, false, _) => channel.send(&all)?,
            (_, _, true) => {
                assert_eq!(channel.recv_region(&region, 9..size + 64)?, size);
                let mut got = vec![1; size + 64];
                region.read(0, &mut got)?;
                assert!(
                    got[9..9 + size] == all && got[..9] == [0; 9] && got[9 + size..].iter().all(|b| *b == 0)
                );
            }
            (_, _, false) => {
                let mut got = vec![0u8; size];
                assert_eq!(channel.recv(&mut got)?, size);
                assert!(got == all);
            }
        }
    }
    Ok(())
}

/// Checks that messages of one channel are not received on another, and that each channel keeps its order.
fn apart(me: u32, first: &Channel, second: &Channel) -> Checked {
    if me == 0 {
        for n in 0..1000u32 {
            first.send(&[n])?;
            second.send(&[n as u64 + 5000, 1])?;
        }
    } else {
        let mut pair = [0u64; 2];
        for n in 0..1000 {
            assert_eq!(second.recv(&mut pair)?, 2);
            assert_eq!(pair, [n + 5000, 1]);
        }
        let mut one = [0u32];
        for n in 0..1000 {
            first.recv(&mut one)?;
            assert_eq!(one, [n]);
        }
    }
    Ok(())
}

/// Checks deadlines and ranges.
fn limits(me: u32, endpoint: &Endpoint, channel: &Channel) -> Checked {
    let region = endpoint.region(100)?;
    let short = Duration::from_millis(5);
    assert!(matches!(
        channel.send_region(&region, 90..101),
        Err(Error::Range { offset: 90, len: 11, region: 100 })
    ));
    if me == 1 {
        assert!(matches!(channel.recv_deadline(&mut [0u8], short), Err(Error::Deadline(_))));
        assert!(matches!(channel.recv_list_deadline(vec![&mut [0]], short), Err(Error::Deadline(_))));
        assert!(matches!(channel.recv_region_deadline(&region, 0..1, short), Err(Error::Deadline(_))));
        channel.send(&[1u8])?;
        channel.send(&[9u8; 33])?;
    } else {
        channel.recv(&mut [0u8])?;
        let too_long = channel.recv_region(&region, 40..72);
        assert!(matches!(too_long, Err(Error::Failed(Failure::Truncated { .. }))), "{too_long:?}");
        let mut beside = [1u8; 28];
        region.read(72, &mut beside)?;
        assert_eq!(beside, [0; 28]);
    }
    Ok(())
}

/// Sends the same regions on an ordinary flow.
fn flows(me: u32, job: &Job) -> Checked {
    let (world, size) = (job.world(), 1 << 20);
    let region = job.endpoint().region(size)?;
    if me == 0 {
        region.write(0, &content(size))?;
        world.send_region_deadline(Rank(1), Tag(9), &region, 0..size, Duration::from_secs(30))?;
    } else {
        let status = world.recv_region(Rank(0), Tag(9), &region, 0..size)?;
        assert_eq!((status.source, status.bytes), (Rank(0), size));
        let mut got = vec![0u8; size];
        region.read(0, &mut got)?;
        assert!(got == content(size));
    }
    Ok(())
}
