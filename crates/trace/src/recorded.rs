//! The events of a rank, read after its end.

use std::collections::HashMap;

use crate::event::{Event, EventKind};
use crate::log;
use crate::site::{MOST_FRAMES, SiteFrame};
use crate::tracer::MOST_NAME;

/// The events of a rank, with the names and call sites to which they refer.
#[derive(Debug, Default)]
pub struct RankEvents {
    /// The events in the order in which they were recorded, without those that define names and sites.
    pub events: Vec<Event>,
    /// The names by their numbers.
    pub names: HashMap<u16, String>,
    /// The call sites by their numbers. Each lists its frames, the innermost first.
    pub sites: HashMap<u16, Vec<SiteFrame>>,
}

impl RankEvents {
    /// Decodes bytes returned by [`LogReader::read`](crate::LogReader::read). Incomplete records are left
    /// out.
    pub fn decode(bytes: &[u8]) -> Self {
        let mut all = Self::default();
        let mut frames: Vec<(u16, Vec<u64>)> = Vec::new();
        let mut records = log::records(bytes);
        while let Some(record) = records.next() {
            let Some(event) = Event::decode(record) else { continue };
            let most = match event.kind {
                EventKind::Name => MOST_NAME,
                EventKind::SiteFrames => MOST_FRAMES * size_of::<u64>(),
                _ => {
                    all.events.push(event);
                    continue;
                }
            };
            let len = (event.bytes as usize).min(most);
            let text: Vec<u8> = (0..Event::records_of_text(len))
                .filter_map(|_| records.next())
                .flat_map(|record| record.map(u64::to_le_bytes).concat())
                .take(len)
                .collect();
            if event.kind == EventKind::Name {
                all.names.insert(event.name, String::from_utf8_lossy(&text).into_owned());
            } else {
                let words = text.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
                frames.push((event.name, words.collect()));
            }
        }
        let name = |number: u16| all.names.get(&number).map(String::as_str);
        for (number, words) in frames {
            all.sites
                .insert(number, words.iter().filter_map(|word| SiteFrame::decode(*word, name)).collect());
        }
        all
    }
}
