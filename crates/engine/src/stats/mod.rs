//! The reports of a rank: counters and waits of its threads, which the launcher reads in its memory, and
//! links.

mod counters;
mod links;
mod waits;

use std::sync::Arc;

use canele_rail::StatsPage;
use canele_sys::counters::{Counters, Snapshot};

use crate::core::Core;

pub(crate) use counters::Counts;
use waits::WaitTable;

/// The page for counters and waits, and the reports that the launcher wants.
pub(crate) struct Stats {
    page: Arc<StatsPage>,
    pub(crate) waits: WaitTable,
    /// The most links over sockets to be reported, if the launcher wants the list of links.
    links_wanted: Option<u32>,
}

impl Stats {
    /// Makes the state that is published in `page`, which the launcher maps.
    pub fn new(page: Arc<StatsPage>) -> Self {
        Self { page, waits: WaitTable::default(), links_wanted: None }
    }

    /// Handles the launcher's request for the links.
    pub fn handle_links_wanted(&mut self, most: u32) {
        self.links_wanted = Some(most);
    }

    /// Returns true if a user looks at the job.
    pub fn is_looked_at(&self) -> bool {
        self.links_wanted.is_some()
    }
}

impl Core {
    /// Publishes the counters in the memory that the launcher reads: before a sleep, at the end, and when the
    /// launcher asks.
    pub fn publish_counters(&self) {
        let Self { lane, membership, rma, stats, .. } = self;
        counters::publish(
            stats.page.counters(),
            lane,
            membership.launcher.system_calls,
            rma.put_counts.sum(),
        );
        lane.rails.mark_counted();
    }

    /// Publishes the counters and returns them.
    pub fn counters(&self) -> Snapshot {
        self.publish_counters();
        Counters::new(self.stats.page.counters()).snapshot()
    }

    /// Answers the launcher if it wants the links. An answer without room goes out at the launcher's next
    /// request.
    pub fn report_links(&mut self) {
        let Self { lane, connections, membership, stats, .. } = self;
        let Some(most) = stats.links_wanted else { return };
        if membership.launcher.try_send(&links::report(&lane.rails, connections, most)) {
            stats.links_wanted = None;
        }
    }
}
