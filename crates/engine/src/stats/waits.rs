//! The waits of the threads of this rank, and their publication for the launcher.
//!
//! A wait is noted when its thread first sleeps. It is published in shared memory when it lasts, and, with
//! all details, when a user looks at the job. So a message that comes soon costs nothing for it. The entry is
//! removed when the wait ends.

use std::collections::BTreeMap;

use canele_collective::FIRST_GIVEN_OUT;
use canele_control::{ThreadWait, UnexpectedMessage, WaitOperation, Waits};
use canele_rail::StatsPage;
use canele_sys::ids::FlowId;
use canele_sys::{call_stack, clock, fork};
use canele_trace::{Event, EventKind};

use crate::Error;
use crate::core::Core;
use crate::engine::Engine;

/// The most threads whose waits are kept; of further ones only the number.
const MOST_NOTED: usize = 64;
/// The flows on which libraries alone send messages: those from the start, without the two pairs of the world
/// and of a process's messages to itself.
const OF_LIBRARIES: std::ops::Range<u32> = 4..FIRST_GIVEN_OUT;

/// The waits of this rank.
#[derive(Default)]
pub(crate) struct WaitTable {
    noted: Vec<Noted>,
    /// True if a wait is published in shared memory.
    is_told: bool,
    /// True if what is published has all present waits.
    is_current: bool,
    /// The program's names of its flows.
    names: BTreeMap<FlowId, String>,
}

struct Noted {
    /// The thread's number, equal for all copies of this library.
    thread: u64,
    since_ns: u64,
    wait: ThreadWait,
}

impl WaitTable {
    /// Notes a wait of this thread.
    pub fn note(&mut self, wait: ThreadWait) {
        if self.noted.len() < MOST_NOTED {
            let (thread, since_ns) = (fork::thread_number(), clock::monotonic_ns());
            self.noted.push(Noted { thread, since_ns, wait });
            self.is_current = false;
        }
    }

    /// Removes the last wait of this thread; returns true if a wait is published.
    fn forget(&mut self) -> bool {
        let thread = fork::thread_number();
        // The last of them: a wait may be part of another one.
        if let Some(at) = self.noted.iter().rposition(|noted| noted.thread == thread) {
            self.noted.remove(at);
            self.is_current = false;
        }
        self.is_told
    }

    /// Gives a flow a name, or takes it away with an empty one.
    pub fn name(&mut self, flow: FlowId, name: &str) {
        match name {
            "" => self.names.remove(&flow),
            name => self.names.insert(flow, Waits::shortened(name).to_owned()),
        };
    }

    /// Returns the waits, and the start of each.
    fn waits(&self) -> (Waits, Vec<u64>) {
        let told = self.noted.iter().take(Waits::MOST_THREADS);
        let waits = Waits {
            threads: told.clone().map(|noted| noted.wait.clone()).collect(),
            threads_left_out: self.noted.len().saturating_sub(Waits::MOST_THREADS) as u32,
            ..Waits::default()
        };
        (waits, told.map(|noted| noted.since_ns).collect())
    }

    /// Returns the names of the flows that are mentioned.
    fn names_in(&self, waits: &Waits) -> Vec<(u32, String)> {
        let operations = waits.threads.iter().flat_map(|wait| &wait.operations);
        let mentioned = operations.filter_map(|operation| match operation {
            WaitOperation::Send(message)
            | WaitOperation::Receive(message)
            | WaitOperation::Probe(message) => message.flow,
            WaitOperation::Collective(collective) => Some(collective.flow),
            WaitOperation::Other { .. } | WaitOperation::Library => None,
        });
        let mut flows: Vec<u32> =
            mentioned.chain(waits.unexpected.iter().map(|message| message.flow)).collect();
        flows.sort_unstable();
        flows.dedup();
        flows.iter().filter_map(|flow| Some((*flow, self.names.get(&FlowId(*flow))?.clone()))).collect()
    }

    fn write(&mut self, page: &StatsPage, waits: Waits, since_ns: Vec<u64>) {
        self.is_told = !waits.threads.is_empty();
        self.is_current = true;
        let place = page.waits();
        place.write(&waits.encode(since_ns, place.room()));
    }
}

impl Engine {
    /// Gives a flow a name for users who look at the job, or removes it if the name is empty.
    ///
    /// # Errors
    /// `Forked`.
    pub fn name_flow(&self, flow: FlowId, name: &str) -> Result<(), Error> {
        let mut core = self.lock()?;
        core.stats.waits.name(flow, name);
        if let Some(tracer) = core.tracer.as_ref().filter(|_| !name.is_empty()) {
            let name = tracer.name(name);
            tracer.record(Event { name, flow: flow.0 as u16, ..Event::new(EventKind::FlowName) });
        }
        Ok(())
    }
}

impl Core {
    /// Publishes the waits of the threads of this rank, one of which lasts. Waits that are published already keep
    /// the details that a user has asked for.
    #[cold]
    pub fn publish_lasting_waits(&mut self) {
        if !self.stats.waits.is_current {
            self.publish_waits();
        }
    }

    /// Publishes the waits of the threads of this rank in shared memory.
    fn publish_waits(&mut self) {
        let (waits, since_ns) = self.stats.waits.waits();
        self.stats.waits.write(&self.stats.page, waits, since_ns);
    }

    /// Publishes the waits with all details for a user who looks at the job.
    #[cold]
    pub fn publish_detailed_waits(&mut self) {
        let (mut waits, since_ns) = self.stats.waits.waits();
        let is_message =
            |flow: FlowId| !OF_LIBRARIES.contains(&flow.0) && !self.collectives.is_flow_of_collectives(flow);
        let (messages, left_out) = self.lane.proto.unexpected_messages(Waits::MOST_UNEXPECTED, is_message);
        let told = messages.into_iter().map(|(flow, status)| UnexpectedMessage {
            source: status.source.0,
            flow: flow.0,
            tag: status.tag.0,
            bytes: status.bytes as u64,
        });
        waits.unexpected = told.collect();
        waits.unexpected_left_out = left_out;
        waits.names = self.stats.waits.names_in(&waits);
        waits.calls = call_stack::addresses(Waits::MOST_CALLS);
        let thread = fork::thread_number();
        let own = self.stats.waits.noted.iter().take(Waits::MOST_THREADS);
        waits.calls_of = own
            .rev()
            .position(|noted| noted.thread == thread)
            .map(|from_last| (waits.threads.len() - 1 - from_last) as u32);
        self.stats.waits.write(&self.stats.page, waits, since_ns);
    }

    /// Removes the wait of this thread, which has ended.
    #[cold]
    pub fn forget_wait(&mut self) {
        if self.stats.waits.forget() {
            self.publish_waits();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use canele_control::WaitMessage;
    use canele_sys::biased_lock::BiasedLock;

    use super::*;

    fn receive(peer: u32, flow: u32) -> ThreadWait {
        let message = WaitMessage { peer: Some(peer), flow: Some(flow), ..WaitMessage::default() };
        ThreadWait { operations: vec![WaitOperation::Receive(message)], ..ThreadWait::default() }
    }

    #[test]
    fn waits_of_a_thread_end_in_the_order_in_which_they_lie_in_each_other() {
        let mut table = WaitTable::default();
        table.note(receive(1, 0));
        table.note(receive(2, 0));
        assert!(!table.forget(), "nothing was told");
        let (waits, since) = table.waits();
        assert_eq!((waits.threads, since.len()), (vec![receive(1, 0)], 1));
    }

    #[test]
    fn published_waits_are_current_until_a_wait_begins_or_ends() {
        let mut table = WaitTable { is_current: true, ..WaitTable::default() };
        table.note(receive(1, 0));
        assert!(!std::mem::replace(&mut table.is_current, true));
        table.forget();
        assert!(!std::mem::replace(&mut table.is_current, true));
        table.forget();
        assert!(table.is_current, "there was none");
    }

    #[test]
    fn a_wait_is_taken_back_by_the_thread_whose_it_is() {
        // A thread gets its number when it first takes a lock.
        let numbered = || drop(BiasedLock::new(()).lock());
        let mut table = WaitTable::default();
        numbered();
        table.note(receive(1, 0));
        let mut table = thread::spawn(move || {
            numbered();
            table.note(receive(2, 0));
            table.forget();
            table.forget();
            table
        })
        .join()
        .unwrap();
        assert_eq!(table.waits().0.threads, [receive(1, 0)]);
        table.forget();
        assert!(table.waits().0.threads.is_empty());
    }

    #[test]
    fn of_many_threads_the_first_are_told_and_the_others_counted() {
        let mut table = WaitTable::default();
        (0..7).for_each(|peer| table.note(receive(peer, 0)));
        let (waits, _) = table.waits();
        assert_eq!((waits.threads.len(), waits.threads_left_out), (Waits::MOST_THREADS, 3));
    }

    #[test]
    fn names_are_told_of_flows_that_are_mentioned() {
        let mut table = WaitTable::default();
        table.name(FlowId(0), "world");
        table.name(FlowId(4), "rows");
        table.name(FlowId(6), "columns");
        table.name(FlowId(6), "");
        let waits = Waits {
            threads: vec![receive(1, 4), receive(1, 6)],
            unexpected: vec![UnexpectedMessage { source: 1, flow: 4, tag: 0, bytes: 0 }],
            ..Waits::default()
        };
        assert_eq!(table.names_in(&waits), [(4, "rows".to_owned())]);
    }
}
