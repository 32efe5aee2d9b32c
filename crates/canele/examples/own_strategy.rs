//! A strategy of a program's own: `canele run -n 2 own_strategy`.
//!
//! Rank 0 sends large messages on one flow and small urgent ones on another; rank 1 checks both. On a rail
//! that always has room no message waits, so there is nothing to choose.

use canele::strategy::{Backlog, By, PacketDraft, RailView, Strategy, tactics};
use canele::{Error, Job, Rank, Tag};

/// Sends answers and announcements, then as many messages as fit, the most urgent first. Large data is sent
/// only when no message waits.
struct UrgentFirst;

impl Strategy for UrgentFirst {
    fn name(&self) -> &'static str {
        "urgent-first"
    }

    fn next_packet(&mut self, backlog: &mut Backlog, rail: &RailView<'_>, packet: &mut PacketDraft) {
        tactics::control_first(rail, packet);
        tactics::aggregate(backlog, rail, packet, By::Priority);
        if packet.is_empty() {
            tactics::piece(backlog, packet, usize::MAX);
        }
    }
}

const MESSAGES: usize = 50;

fn main() -> Result<(), Error> {
    let job = Job::start()?;
    job.use_strategy(|| Box::new(UrgentFirst))?;
    let bulk = job.world();
    let urgent = bulk.duplicate()?;
    urgent.set_priority(7)?;
    let (large, mut got) = (vec![1u8; 1 << 20], vec![0u8; 1 << 20]);
    if job.rank() == Rank(0) {
        for n in 0..MESSAGES as u32 {
            bulk.scope(|scope| {
                scope.isend(Rank(1), Tag(n), &large)?;
                urgent.send(Rank(1), Tag(n), &[n])
            })?;
        }
    } else if job.rank() == Rank(1) {
        for n in 0..MESSAGES as u32 {
            let mut word = [0];
            bulk.scope(|scope| {
                scope.irecv(Rank(0), Tag(n), &mut got)?;
                urgent.recv(Rank(0), Tag(n), &mut word).map(drop)
            })?;
            assert!(word == [n] && got == large, "message {n} is not as it was sent");
            got.fill(0);
        }
        println!("{MESSAGES} large and {MESSAGES} urgent messages came as they were sent");
    }
    job.finish()
}
