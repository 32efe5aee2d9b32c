//! What a rank reports of itself: counters and what its threads wait for, which the launcher reads in its memory, and links.

mod counters;
mod links;
mod waits;

use std::sync::Arc;

use canele_rail::StatsPage;
use canele_sys::counters::{Counters, Snapshot};

use crate::core::Core;

pub(crate) use counters::Counts;
use waits::WaitTable;

/// Where counters and waits are published, and what the launcher wants to be told.
pub(crate) struct Stats {
    page: Arc<StatsPage>,
    pub(crate) waits: WaitTable,
    /// The launcher wants the list of links: this many over sockets, at most.
    links_wanted: Option<u32>,
}

impl Stats {
    /// Publishes in `page`, which the launcher maps.
    pub fn new(page: Arc<StatsPage>) -> Self {
        Self { page, waits: WaitTable::default(), links_wanted: None }
    }

    /// Handles the launcher's wish to be told the links.
    pub fn handle_links_wanted(&mut self, most: u32) {
        self.links_wanted = Some(most);
    }

    /// True if a person looks at the job.
    pub fn is_looked_at(&self) -> bool {
        self.links_wanted.is_some()
    }
}

impl Core {
    /// Publishes the counters where the launcher can read them: before a sleep, at the end, and when the launcher asks.
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

    /// Answers the launcher if it wants the links. An answer that finds no room is given when the launcher asks next.
    pub fn report_links(&mut self) {
        let Self { lane, connections, membership, stats, .. } = self;
        let Some(most) = stats.links_wanted else { return };
        if membership.launcher.try_send(&links::report(&lane.rails, connections, most)) {
            stats.links_wanted = None;
        }
    }
}
