//! Windows of a file, through which members exchange the data of one access.
//!
//! ```text
//!   member 0 ─┐ each copies its extents of a window of the file       ┌─ aggregator 0: pwrite of the first part
//!   member 1 ─┼─▶ [ window: data │ one bit for each present byte ] ───┼─▶ …
//!   member 2 ─┘                        ▲                              └─ (`cb_nodes` aggregators)
//!                                      └── data from other hosts for this host's aggregators (`shipping`)
//! ```
//! Windows follow each other along the file. The memory has two halves: the next window is filled while the
//! previous one is written. The exchange between two windows determines where the next one begins. It is also
//! the barrier: a member fills a half again only after an exchange that the writers of this half entered
//! after writing. Reads go the other way. Bytes that no member has passed are never written.

use std::ops::Range;

use canele_engine::collective::{Operation, Shape};

use super::File;
use super::access::Access;
use super::exchange::FileExchange;
use super::extents::Tiles;
use crate::Result;
use crate::comm::Comm;

/// The offset that a member with no data left sends.
const NOWHERE: i64 = i64::MAX;

/// The members that take part in an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scope {
    /// The members of this host; other hosts have windows of their own.
    Host,
    /// The members of all hosts.
    All,
}

/// The windows of one access.
pub(super) struct Windows<'a> {
    pub file: &'a File,
    pub exchange: &'a FileExchange,
    /// The members that access the file, one for each part of a window.
    pub aggregators: Vec<usize>,
    pub scope: Scope,
    /// True if bytes of the file around the data may be rewritten.
    pub sieves: bool,
}

/// The rest of a member's access: a range of the stream of its view.
struct Rest<'a> {
    tiles: &'a Tiles,
    left: Range<usize>,
}

impl Rest<'_> {
    /// Returns the file offset at which it begins.
    fn offset(&self) -> Option<u64> {
        (!self.left.is_empty()).then(|| self.tiles.offset_of(self.left.start))
    }

    /// Takes the range before an offset of the file.
    fn before(&mut self, end: u64) -> Range<usize> {
        let behind = self.tiles.first_from(end, self.left.clone());
        std::mem::replace(&mut self.left.start, behind)..behind
    }
}

/// A window of the file, or a part of one.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub start: u64,
    pub end: u64,
}

impl Span {
    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        (self.end - self.start) as usize
    }
}

impl Windows<'_> {
    /// Writes the data of all members.
    pub fn write(&self, mut own: Option<&mut Access>) -> Result<usize> {
        let view = own.as_ref().map(|access| access.view.clone());
        let mut rest = own
            .as_ref()
            .zip(view.as_ref())
            .map(|(access, view)| Rest { tiles: &view.tiles, left: access.start..access.start + access.len });
        let (mut scratch, mut sieve) = (Vec::new(), Vec::new());
        let mut failed = Ok(());
        let mut window = self.next_window(rest.as_ref())?;
        for half in [0, 1].into_iter().cycle() {
            let Some(span) = window else { break };
            if let (Some(access), Some(rest)) = (own.as_deref_mut(), rest.as_mut()) {
                failed = failed.and(self.fill(half, span, access, rest, &mut scratch));
            }
            window = self.next_window(rest.as_ref())?;
            if self.is_between_hosts() {
                failed = failed.and(self.ship_writes(half, span));
            }
            if let Some((_, part)) = self.own_part(span) {
                let written =
                    if failed.is_ok() { self.write_part(half, span, part, &mut sieve) } else { Ok(()) };
                self.exchange.clear(half, part, span.start);
                failed = failed.and(written);
            }
        }
        failed.map(|()| own.map_or(0, |access| access.len))
    }

    /// Copies this member's extents into a window. The rest then begins behind the window, even after an
    /// error.
    fn fill(
        &self,
        half: usize,
        span: Span,
        access: &mut Access,
        rest: &mut Rest<'_>,
        scratch: &mut Vec<u8>,
    ) -> Result<()> {
        let range = rest.before(span.end);
        if range.is_empty() {
            return Ok(());
        }
        let from = range.start;
        let bytes = access.memory.bytes_at(from - access.start, range.len(), scratch)?;
        let into = self.exchange.half(half);
        rest.tiles.each(range, |extent| {
            let at = extent.at - from;
            into.put((extent.offset - span.start) as usize, &bytes[at..at + extent.len]);
        });
        Ok(())
    }

    fn write_part(&self, half: usize, span: Span, part: Span, sieve: &mut Vec<u8>) -> Result<()> {
        if self.sieves {
            return self.write_part_sieved(half, span, part, sieve);
        }
        self.exchange.each_run(half, part, span.start, |at, len| {
            let offset = span.start + at as u64;
            self.exchange
                .write_to(half, at, len, &self.file.descriptor, offset)
                .map_err(|errno| self.file.failed(errno, &format!("write {len} bytes at {offset} of")))
        })
    }

    /// Reads the data for all members.
    pub fn read(&self, own: Option<&mut Access>) -> Result<usize> {
        let Some(access) = own else {
            return self.read_windows(None, |_, _, _| Ok(0));
        };
        let view = access.view.clone();
        let (start, len) = (access.start, access.len);
        let rest = Rest { tiles: &view.tiles, left: start..start + len };
        let memory = &mut access.memory;
        let mut scratch = Vec::new();
        self.read_windows(Some(rest), |half, (span, valid), range| {
            // Bytes behind the end of the file are not read.
            let there = view.tiles.first_from(valid, range.clone());
            let (from, n) = (range.start, there - range.start);
            let half = self.exchange.half(half);
            let take = |into: &mut [u8]| {
                view.tiles.each(from..there, |extent| {
                    let at = extent.at - from;
                    half.get((extent.offset - span.start) as usize, &mut into[at..at + extent.len]);
                });
            };
            match memory.room_at(from - start, n) {
                Some(room) => take(room),
                None => {
                    scratch.resize(n, 0);
                    take(&mut scratch);
                    memory.store(from - start, &scratch)?;
                }
            }
            Ok(n)
        })
    }

    /// Reads the windows; `take` copies the extents of one window that lie before the end of the file.
    fn read_windows(
        &self,
        mut rest: Option<Rest<'_>>,
        mut take: impl FnMut(usize, (Span, u64), Range<usize>) -> Result<usize>,
    ) -> Result<usize> {
        let mut failed = Ok(());
        let mut done = 0;
        let mut window = self.next_window(rest.as_ref())?;
        for half in [0, 1].into_iter().cycle() {
            let Some(span) = window else { break };
            let range = rest.as_mut().map_or(0..0, |rest| rest.before(span.end));
            if let Some(rest) = rest.as_ref().filter(|_| self.is_between_hosts()) {
                let wanted = self.exchange.half(half);
                rest.tiles.each(range.clone(), |extent| {
                    wanted.mark((extent.offset - span.start) as usize, extent.len);
                });
            }
            if let Some((number, part)) = self.own_part(span) {
                let (read, filled) = self.read_part(half, span, part);
                self.exchange.set_filled(half, number, filled);
                failed = failed.and(read);
            }
            window = self.next_window(rest.as_ref())?;
            if self.is_between_hosts() {
                failed = failed.and(self.ship_reads(half, span));
                // After this barrier the members of this host see the received data.
                barrier(&self.file.host)?;
            }
            if !range.is_empty() {
                match take(half, (span, self.valid_end(half, span)), range) {
                    Ok(taken) => done += taken,
                    Err(error) => failed = failed.and(Err(error)),
                }
            }
        }
        failed.map(|()| done)
    }

    /// Reads a part; returns the number of its bytes before the end of the file.
    fn read_part(&self, half: usize, span: Span, part: Span) -> (Result<()>, usize) {
        let (at, len) = ((part.start - span.start) as usize, part.len());
        match self.exchange.read_from(half, at, len, &self.file.descriptor, part.start) {
            Ok(filled) => (Ok(()), filled),
            Err(errno) => {
                let what = format!("read {len} bytes at {} of", part.start);
                (Err(self.file.failed(errno, &what)), 0)
            }
        }
    }

    /// Exchanges the offsets where members continue; returns the window that begins at the lowest one.
    fn next_window(&self, rest: Option<&Rest<'_>>) -> Result<Option<Span>> {
        let next = rest.and_then(Rest::offset).map_or(NOWHERE, u64::cast_signed);
        let comm = match self.scope {
            Scope::Host => &self.file.host,
            Scope::All => &self.file.comm,
        };
        let all = comm.numbers_of_all(&[next])?;
        let first = all.iter().copied().min().unwrap_or(NOWHERE);
        if first == NOWHERE {
            return Ok(None);
        }
        let (first, size) = (first.cast_unsigned(), self.exchange.window_bytes() as u64);
        // Windows end at multiples of their size, so that most are whole pages.
        Ok(Some(Span { start: first / PAGE * PAGE, end: (first / size + 1) * size }))
    }

    /// Returns true if parts of windows are sent between hosts.
    fn is_between_hosts(&self) -> bool {
        self.scope == Scope::All
    }

    /// Returns the part of a window with this number.
    pub fn part(&self, span: Span, number: usize) -> Option<Span> {
        part(span, number, self.aggregators.len())
    }

    /// Returns the part of a window that this member accesses, with its number.
    pub fn own_part(&self, span: Span) -> Option<(usize, Span)> {
        let me = self.file.comm.rank();
        let number = self.aggregators.iter().position(|aggregator| *aggregator == me)?;
        Some((number, self.part(span, number)?))
    }

    /// Returns the offset at which the file ends in a window that was read, or the end of the window.
    fn valid_end(&self, half: usize, span: Span) -> u64 {
        for number in 0..self.aggregators.len() {
            let Some(part) = self.part(span, number) else { break };
            let filled = self.exchange.filled(half, number);
            if filled < part.len() {
                return part.start + filled as u64;
            }
        }
        span.end
    }
}

/// Waits for the other members.
fn barrier(comm: &Comm) -> Result<()> {
    let shape = Shape::new(Operation::Barrier, 0);
    Ok(comm.engine().collective(comm.collectives(), shape, None, &[], &mut [])?)
}

const PAGE: u64 = 4096;

/// Returns the part of a window, in whole pages, that one of several members accesses.
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
