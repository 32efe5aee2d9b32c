//! The encoding of a page's events: numbers in groups of 7 bits, the lowest first, in base64.
//!
//! ```text
//!   rows       count; of each: rank, thread, count of slices; of each slice:
//!              ns since the start before, ns that it takes, kind + 4 × name, site (0: none)
//!   messages   count; of each: ns since the send before, ns until its receive (2n, or 2n − 1 backwards), sender, receiver, bytes
//! ```

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::super::recorded::{SliceKind, Trace, TracedMessage};

/// The kind number of a one-sided access, which follows those of slices.
pub const ACCESS: u64 = 3;

/// The texts that events refer to.
#[derive(Default)]
pub struct EventNames<'t> {
    names: Vec<&'t str>,
    sites: Vec<&'t str>,
    numbers: HashMap<(bool, &'t str), u64>,
}

impl<'t> EventNames<'t> {
    pub fn names(&self) -> Vec<&'t str> {
        self.names.clone()
    }

    pub fn sites(&self) -> Vec<&'t str> {
        self.sites.clone()
    }

    fn number(&mut self, is_site: bool, text: &'t str) -> u64 {
        let list = if is_site { &mut self.sites } else { &mut self.names };
        *self.numbers.entry((is_site, text)).or_insert_with(|| {
            list.push(text);
            list.len() as u64 - 1
        })
    }
}

/// A slice or an access in the numbers of the page.
struct PageSlice {
    start: u64,
    took: u64,
    named: u64,
    site: u64,
}

/// Encodes the events of a trace; `names` gets the texts that they refer to.
pub fn encode<'t>(trace: &'t Trace, names: &mut EventNames<'t>) -> Vec<u8> {
    let mut rows: BTreeMap<(u32, u32), Vec<PageSlice>> = BTreeMap::new();
    for (rank, recorded) in &trace.ranks {
        for slice in &recorded.slices {
            let kind = match slice.kind {
                SliceKind::Call => 0,
                SliceKind::Collective => 1,
                SliceKind::Wait => 2,
            };
            let named = kind + 4 * names.number(false, &slice.name);
            let site = slice.site.as_ref().map_or(0, |site: &'t Rc<str>| names.number(true, site) + 1);
            let (start, took) = (ns(slice.start), ns(slice.end - slice.start));
            let row = rows.entry((*rank, slice.thread)).or_default();
            row.push(PageSlice { start, took, named, site });
        }
        for access in &recorded.accesses {
            let named = ACCESS + 4 * names.number(false, &access.name);
            let row = rows.entry((*rank, access.thread)).or_default();
            row.push(PageSlice { start: ns(access.at), took: 0, named, site: 0 });
        }
    }
    let mut bytes = Vec::new();
    put(&mut bytes, rows.len() as u64);
    for ((rank, thread), mut slices) in rows {
        slices.sort_by_key(|slice| (slice.start, std::cmp::Reverse(slice.took)));
        put_all(&mut bytes, [u64::from(rank), u64::from(thread), slices.len() as u64]);
        let mut before = 0;
        for PageSlice { start, took, named, site } in slices {
            put_all(&mut bytes, [start - before, took, named, site]);
            before = start;
        }
    }
    put_messages(&mut bytes, trace);
    bytes
}

fn put_messages(bytes: &mut Vec<u8>, trace: &Trace) {
    let mut messages: Vec<&TracedMessage> = trace.messages.values().collect();
    messages.sort_by(|a, b| a.sent_at.total_cmp(&b.sent_at));
    put(bytes, messages.len() as u64);
    let mut before = 0;
    for message in messages {
        let (sent, received) = (ns(message.sent_at), ns(message.received_at));
        let apart = match received.checked_sub(sent) {
            Some(apart) => apart.saturating_mul(2),
            None => (sent - received).saturating_mul(2) - 1,
        };
        let ends = [u64::from(message.from), u64::from(message.to)];
        put_all(bytes, [sent - before, apart, ends[0], ends[1], message.bytes]);
        before = sent;
    }
}

/// Converts microseconds to nanoseconds.
fn ns(us: f64) -> u64 {
    (us * 1000.0).round().max(0.0) as u64
}

/// The largest number that is encoded: JavaScript's numbers are exact up to it.
const MOST: u64 = (1 << 53) - 1;

fn put_all<const N: usize>(bytes: &mut Vec<u8>, numbers: [u64; N]) {
    numbers.into_iter().for_each(|number| put(bytes, number));
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    let mut left = number.min(MOST);
    while left >= 128 {
        bytes.push((left % 128) as u8 | 128);
        left /= 128;
    }
    bytes.push(left as u8);
}

/// Returns bytes as base64 text.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word =
            group.iter().enumerate().fold(0u32, |word, (at, byte)| word | u32::from(*byte) << (16 - 8 * at));
        for digit in 0..4 {
            let is_there = digit <= group.len();
            text.push(if is_there { DIGITS[(word >> (18 - 6 * digit)) as usize & 63] as char } else { '=' });
        }
    }
    text
}
