//! Messages of survivors between ranks of two jobs, each of which has its own numbers for the other's ranks.
//! A table of names precedes them, to which their lists refer.
//!
//! ```text
//!   names ┬ message, whose ranks are numbers of names
//!         └ job (8) │ rank there (4) …
//! ```

use canele_collective::survivors::{Malformed, Message};
use canele_control::{JobInfo, JobRank};
use canele_sys::ids::Rank;

/// Bytes of a name.
const NAME: usize = 12;

/// Encodes a message for a rank.
pub(super) fn encode(job: &JobInfo, to: Rank, mut message: Message) -> Vec<u8> {
    if job.is_own(to.0) {
        return message.encode();
    }
    let mut named = Vec::new();
    if let Some(body) = message.contribution_mut() {
        named = [&body.failed[..], &body.acknowledged].concat();
        named.sort_unstable();
        named.dedup();
        let number = |rank: &mut Rank| *rank = Rank(named.partition_point(|other| other < rank) as u32);
        body.failed.iter_mut().chain(&mut body.acknowledged).for_each(number);
    }
    let name = |rank: &Rank| {
        let JobRank { job, rank } = job.process(rank.0);
        [&job.to_le_bytes()[..], &rank.to_le_bytes()].concat()
    };
    let names = named.iter().flat_map(name);
    (named.len() as u32).to_le_bytes().into_iter().chain(names).chain(message.encode()).collect()
}

/// Decodes a message of a rank, in a job that knows `ranks` ranks.
///
/// # Errors
/// The message is invalid, or names a rank of a job that this one is not connected with.
pub(super) fn decode(job: &JobInfo, from: Rank, bytes: &[u8], ranks: usize) -> Result<Message, Malformed> {
    if job.is_own(from.0) {
        return Message::decode(bytes, ranks);
    }
    let (count, rest) = bytes.split_first_chunk().ok_or(Malformed)?;
    let count = u32::from_le_bytes(*count) as usize;
    let names = count.checked_mul(NAME).ok_or(Malformed)?;
    let (names, bytes) = rest.split_at_checked(names).ok_or(Malformed)?;
    let named = |name: &[u8; NAME]| {
        let (job_id, rank) = name.split_first_chunk().expect("twelve bytes are more than eight");
        let rank = u32::from_le_bytes(rank.try_into().expect("four are left"));
        job.rank_of(JobRank { job: u64::from_le_bytes(*job_id), rank }).map(Rank).ok_or(Malformed)
    };
    let named = names.as_chunks().0.iter().map(named).collect::<Result<Vec<_>, _>>()?;
    let mut message = Message::decode(bytes, count)?;
    if let Some(body) = message.contribution_mut() {
        for list in [&mut body.failed, &mut body.acknowledged] {
            list.iter_mut().for_each(|rank| *rank = named[rank.0 as usize]);
            list.sort_unstable();
            list.dedup();
        }
    }
    Ok(message)
}

#[cfg(test)]
mod tests {
    use canele_collective::survivors::{Contribution, Name};
    use canele_control::{Host, SpawnedWorld};
    use canele_sys::ids::FlowId;

    use super::*;

    /// Makes a job of so many ranks that numbers those of another one behind its own.
    fn job(id: u64, own: u32, other: u64, theirs: usize) -> JobInfo {
        let world = SpawnedWorld {
            first: own,
            hosts: vec![0; theirs],
            origin: Some(JobRank { job: other, rank: 0 }),
            ..SpawnedWorld::default()
        };
        JobInfo { id, spawned: vec![world], ..JobInfo::new(vec![Host::this(own)]) }
    }

    fn vote(failed: &[u32], acknowledged: &[u32]) -> Message {
        let list = |list: &[u32]| list.iter().copied().map(Rank).collect();
        let body = Contribution { words: vec![7], failed: list(failed), acknowledged: list(acknowledged) };
        Message::Vote(Name { flow: FlowId(10), number: 1 }, body)
    }

    #[test]
    fn ranks_in_messages_of_another_job_are_found_by_their_names() {
        let (first, second) = (job(5, 2, 6, 3), job(6, 3, 5, 2));
        // Rank 1 of the first job, and rank 2 of the second, which the first numbers 4.
        let sent = encode(&first, Rank(2), vote(&[1, 4], &[4]));
        assert_eq!(decode(&second, Rank(3), &sent, 5), Ok(vote(&[2, 4], &[2])));
        for message in [vote(&[], &[]), Message::Revoke(FlowId(12))] {
            let sent = encode(&first, Rank(2), message.clone());
            assert_eq!(decode(&second, Rank(3), &sent, 5), Ok(message));
        }
        let own = encode(&first, Rank(1), vote(&[1, 4], &[4]));
        assert_eq!(decode(&first, Rank(0), &own, 5), Ok(vote(&[1, 4], &[4])));
    }

    #[test]
    fn unknown_names_and_what_is_cut_off_are_refused() {
        let (first, second) = (job(5, 2, 6, 3), job(6, 3, 5, 2));
        let sent = encode(&first, Rank(2), vote(&[1, 4], &[]));
        (0..sent.len()).for_each(|len| assert!(decode(&second, Rank(3), &sent[..len], 5).is_err(), "{len}"));
        assert_eq!(decode(&job(6, 3, 5, 1), Rank(3), &sent, 4), Err(Malformed));
        let mut many = sent;
        many[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(decode(&second, Rank(3), &many, 5), Err(Malformed));
    }
}
