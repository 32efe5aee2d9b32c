//! Reports the events that the ranks of a host have recorded, after the ranks have ended.
//!
//! Owns the progress of the report. The host sends the records in parts, no faster than the launcher takes
//! them.

use canele_trace::LogReader;

use super::{HostRanks, Report};

/// The number of records in a part.
const PART: usize = 512;
/// The most parts that are reported in a row.
const AT_A_TIME: usize = 16;

/// The progress of the report of events.
#[derive(Debug, Default)]
pub(super) struct TraceTelling {
    /// The processes that are left, for the last report.
    left: Vec<u32>,
    /// The place of the rank whose events are reported.
    place: usize,
    /// The next record to report.
    record: usize,
}

impl HostRanks {
    /// Starts the last reports after the host's processes have ended: the events of the ranks, then the
    /// processes that are left.
    pub(super) fn say_last_word(&mut self, left: Vec<u32>) {
        self.ending_until = None;
        self.telling = Some(TraceTelling { left, ..TraceTelling::default() });
        if !self.local_ranks.all().iter().any(|rank| rank.log.is_some()) {
            self.stop_telling();
        }
    }

    /// Stops the report of events.
    pub(super) fn stop_telling(&mut self) {
        if let Some(telling) = self.telling.take() {
            self.reports.push(Report::Empty { left: telling.left });
            self.over = true;
        }
    }

    /// Reports the next events, if the launcher keeps up with the reports.
    pub(super) fn tell_events(&mut self) {
        if self.reading_paused {
            return;
        }
        for _ in 0..AT_A_TIME {
            let Some(telling) = &mut self.telling else { return };
            let place = telling.place;
            let Some(rank) = self.local_ranks.ranks().rank(place as u32) else { return self.stop_telling() };
            let log = self.local_ranks.of(rank).log.as_ref();
            let records = log.map(|log| log.read(telling.record, PART)).unwrap_or_default();
            if !records.is_empty() {
                telling.record += PART;
                self.reports.push(Report::Recorded { rank, records });
                continue;
            }
            (telling.place, telling.record) = (place + 1, 0);
            if let Some(missing) = log.map(LogReader::missing) {
                self.reports.push(Report::RecordedAll { rank, missing });
            }
        }
    }
}
