//! Accesses of all members: alone where that is as good, else in two phases through memory that the members of a host share.
//!
//! ```text
//!   member 0 ─┐ each copies its stretches of a window of the file     ┌─ writer 0: pwrite of the first part
//!   member 1 ─┼─▶ [ window: data │ one bit for each byte that is there ] ─▶ …
//!   member 2 ─┘                                                       └─ (as many writers as cb_nodes says)
//! ```
//! Windows follow each other along the file; two halves of the memory take turns, so that the next window is filled while the last one is
//! written. The exchange between two windows says where the next one begins, and is the barrier between filling and writing: who fills a
//! half again has passed an exchange that its writers entered after they had written it. Reads go the other way. Bytes that no member has
//! given are never written.

use super::File;
use super::access::Access;
use super::exchange::Exchange;
use super::extents::{Extent, Extents};
use super::hints::{Hints, Use};
use crate::Result;

/// Stretches of at least so many bytes on average are written by each member itself.
const LONG_WRITES: usize = 128 << 10;
/// The same of reads, which do not exclude each other, in a file of one host.
const LONG_READS: usize = 4 << 10;
/// No member has anything left.
const NOWHERE: i64 = i64::MAX;

/// What a member says before an access of all.
struct Said {
    first: i64,
    end: i64,
    mean_len: i64,
    alone: bool,
}

impl File {
    /// Reads or writes with all members; gives the bytes that were. An access that could not be prepared takes part, with nothing.
    pub(super) fn access_together(&self, access: &mut Result<Access>, writes: bool) -> Result<usize> {
        let hints = self.state().hints.clone();
        let together = self.is_shared(access, writes, &hints)?;
        let exchange = if together { self.exchange(hints.cb_buffer_size)? } else { None };
        let Some(exchange) = exchange else {
            return match access {
                Ok(access) => self.access_alone(access),
                // It is told once all have ended.
                Err(_) => Ok(0),
            };
        };
        let writers =
            hints.cb_nodes.div_ceil(self.hosts).clamp(1, self.host.size().min(Exchange::most_readers()));
        let own = access.as_mut().ok().filter(|access| access.len > 0);
        let windows = Windows { file: self, exchange: &exchange, writers };
        if writes { windows.write(own.map(|access| &*access)) } else { windows.read(own) }
    }

    /// Whether the members of this host take the way through shared memory; all of them say the same.
    fn is_shared(&self, access: &Result<Access>, writes: bool, hints: &Hints) -> Result<bool> {
        let way = if writes { hints.cb_write } else { hints.cb_read };
        if self.host.size() == 1 || way == Use::Disable {
            return Ok(false);
        }
        let said = match access {
            Ok(access) if access.len > 0 => {
                let (first, end) = access.range();
                let mean = access.view.tiles.mean_len().min(access.len);
                let alone = access.atomic || !access.is_ordered();
                [first.cast_signed(), end.cast_signed(), mean as i64, i64::from(alone)]
            }
            _ => [0, 0, i64::MAX, 0],
        };
        let all = self.host.numbers_of_all(&said)?;
        let read = |of: &[i64]| Said { first: of[0], end: of[1], mean_len: of[2], alone: of[3] != 0 };
        let mut all: Vec<Said> =
            all.chunks_exact(said.len()).map(read).filter(|of| of.end > of.first).collect();
        if all.iter().any(|of| of.alone) || all.is_empty() {
            return Ok(false);
        }
        let long = if writes || self.hosts > 1 { LONG_WRITES } else { LONG_READS };
        let pays = all.iter().any(|of| of.mean_len < long as i64);
        all.sort_by_key(|of| of.first);
        let interleaved = all.windows(2).any(|pair| pair[0].end > pair[1].first);
        Ok(way == Use::Enable || interleaved && pays)
    }
}

/// The windows of one access.
struct Windows<'a> {
    file: &'a File,
    exchange: &'a Exchange,
    /// The first members of the host, which access the file.
    writers: usize,
}

/// What is left of a member's stretches.
struct Rest<'a> {
    extents: Extents<'a>,
    next: Option<Extent>,
}

impl<'a> Rest<'a> {
    fn of(mut extents: Extents<'a>) -> Self {
        let next = extents.next();
        Self { extents, next }
    }

    /// The next stretch before a place, cut off there.
    fn before(&mut self, end: u64) -> Option<Extent> {
        let extent = self.next.filter(|extent| extent.offset < end)?;
        let len = (extent.len as u64).min(end - extent.offset) as usize;
        self.next = if len < extent.len {
            Some(Extent { offset: end, at: extent.at + len, len: extent.len - len })
        } else {
            self.extents.next()
        };
        Some(Extent { len, ..extent })
    }
}

/// A window of the file.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub start: u64,
    pub end: u64,
}

impl Windows<'_> {
    fn write(&self, own: Option<&Access>) -> Result<usize> {
        let mut rest = own.map(|access| Rest::of(access.view.tiles.extents(access.start, access.len)));
        let mut scratch = Vec::new();
        let mut failed = Ok(());
        let mut window = self.next_window(rest.as_ref())?;
        for half in [0, 1].into_iter().cycle() {
            let Some(span) = window else { break };
            if let (Some(access), Some(rest)) = (own, rest.as_mut()) {
                self.fill(half, span, access, rest, &mut scratch);
            }
            window = self.next_window(rest.as_ref())?;
            if let Some(part) = self.own_part(span) {
                let written = if failed.is_ok() { self.write_part(half, span, part) } else { Ok(()) };
                self.exchange.clear(half, part, span.start);
                failed = failed.and(written);
            }
        }
        failed.map(|()| own.map_or(0, |access| access.len))
    }

    /// Copies this member's stretches into a window.
    fn fill(&self, half: usize, span: Span, access: &Access, rest: &mut Rest<'_>, scratch: &mut Vec<u8>) {
        let Some(first) = rest.next else { return };
        let from = first.at;
        let behind = access.view.tiles.first_from(span.end, from..access.start + access.len);
        if behind <= from {
            return;
        }
        let bytes = access.memory.bytes_at(from - access.start, behind - from, scratch);
        while let Some(extent) = rest.before(span.end) {
            let at = extent.at - from;
            self.exchange.put(half, (extent.offset - span.start) as usize, &bytes[at..at + extent.len]);
        }
    }

    fn write_part(&self, half: usize, span: Span, part: Span) -> Result<()> {
        self.exchange.each_run(half, part, span.start, |at, len| {
            let offset = span.start + at as u64;
            self.exchange
                .write_to(half, at, len, &self.file.descriptor, offset)
                .map_err(|errno| self.file.failed(errno, &format!("write {len} bytes at {offset} of")))
        })
    }

    fn read(&self, own: Option<&mut Access>) -> Result<usize> {
        let Some(access) = own else {
            return self.read_windows(None, |_, _, _| 0);
        };
        let view = access.view.clone();
        let (start, len) = (access.start, access.len);
        let rest = Rest::of(view.tiles.extents(start, len));
        let memory = &mut access.memory;
        let mut scratch = Vec::new();
        self.read_windows(Some(rest), |half, (span, valid), stretches| {
            let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else { return 0 };
            let (from, n) = (first.at - start, last.at + last.len - first.at);
            let take = |into: &mut [u8]| {
                let mut done = 0;
                for extent in stretches {
                    let there = valid.saturating_sub(extent.offset).min(extent.len as u64) as usize;
                    let (at, place) = (extent.at - first.at, (extent.offset - span.start) as usize);
                    self.exchange.get(half, place, &mut into[at..at + there]);
                    done += there;
                    if there < extent.len {
                        break;
                    }
                }
                done
            };
            match memory.room_at(from, n) {
                Some(room) => take(room),
                None => {
                    scratch.resize(n, 0);
                    let done = take(&mut scratch);
                    memory.store(from, &scratch[..done]);
                    done
                }
            }
        })
    }

    /// Reads the windows; `take` copies the stretches of one that lie before the end of the file.
    fn read_windows(
        &self,
        mut rest: Option<Rest<'_>>,
        mut take: impl FnMut(usize, (Span, u64), &[Extent]) -> usize,
    ) -> Result<usize> {
        let mut failed = Ok(());
        let (mut done, mut stretches) = (0, Vec::new());
        let mut window = self.next_window(rest.as_ref())?;
        for half in [0, 1].into_iter().cycle() {
            let Some(span) = window else { break };
            stretches.clear();
            if let Some(rest) = rest.as_mut() {
                stretches.extend(std::iter::from_fn(|| rest.before(span.end)));
            }
            if let Some(part) = self.own_part(span) {
                let (at, len) = ((part.start - span.start) as usize, (part.end - part.start) as usize);
                let read = self.exchange.read_from(half, at, len, &self.file.descriptor, part.start);
                let read = read.map_err(|errno| {
                    self.file.failed(errno, &format!("read {len} bytes at {} of", part.start))
                });
                self.exchange.set_filled(half, self.file.host.rank(), *read.as_ref().unwrap_or(&0));
                failed = failed.and(read.map(drop));
            }
            window = self.next_window(rest.as_ref())?;
            done += take(half, (span, self.valid_end(half, span)), &stretches);
        }
        failed.map(|()| done)
    }

    /// Tells the other members of the host where this one goes on; gives the window that begins at the first of these places.
    fn next_window(&self, rest: Option<&Rest<'_>>) -> Result<Option<Span>> {
        let next = rest.and_then(|rest| rest.next).map_or(NOWHERE, |extent| extent.offset.cast_signed());
        let all = self.file.host.numbers_of_all(&[next])?;
        let first = all.iter().copied().min().unwrap_or(NOWHERE);
        if first == NOWHERE {
            return Ok(None);
        }
        let (first, size) = (first.cast_unsigned(), self.exchange.window_bytes() as u64);
        // Windows end at multiples of their size, so that most are whole pages.
        Ok(Some(Span { start: first / PAGE * PAGE, end: (first / size + 1) * size }))
    }

    /// The part of a window that this member writes or reads.
    fn own_part(&self, span: Span) -> Option<Span> {
        part(span, self.file.host.rank(), self.writers)
    }

    /// Where the file ends in a window that was read, or the window.
    fn valid_end(&self, half: usize, span: Span) -> u64 {
        for reader in 0..self.writers {
            let Some(part) = part(span, reader, self.writers) else { break };
            let filled = self.exchange.filled(half, reader) as u64;
            if filled < part.end - part.start {
                return part.start + filled;
            }
        }
        span.end
    }
}

const PAGE: u64 = 4096;

/// The part of a window that one of several members writes: whole pages.
fn part(span: Span, member: usize, members: usize) -> Option<Span> {
    if member >= members {
        return None;
    }
    let each = (span.end - span.start).div_ceil(members as u64).next_multiple_of(PAGE);
    let start = span.start + each * member as u64;
    (start < span.end).then(|| Span { start, end: span.end.min(start + each) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_window_are_the_window() {
        for (start, end) in [(0, 4096), (4096, 8 << 20), (8192, 20480)] {
            for members in 1..7 {
                let parts: Vec<_> = (0..7).filter_map(|n| part(Span { start, end }, n, members)).collect();
                assert_eq!((parts[0].start, parts[parts.len() - 1].end), (start, end));
                assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
            }
        }
    }
}
