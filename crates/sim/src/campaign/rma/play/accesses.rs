//! The accesses of a rank, which are drawn during the run, and their expected outcomes.

use std::sync::Arc;

use canele_mem::layout::Layout;
use canele_proto::rma::{
    ElementAccess, ElementAction, Form, MemoryAddress, PutReport, RmaLockKind, RmaRequest, WindowAction,
};

use super::{ExpectedOutcome, RmaPlay};
use crate::campaign::rma::operations::{ADD, FOLD};
use crate::campaign::rma::reference::{AREA, FETCHED, LOCKED, ORDERED, REPLACED, SUMS, area_at, sums_at};

impl RmaPlay<'_> {
    pub(super) fn place(&self, to: usize, offset: usize) -> MemoryAddress {
        MemoryAddress { key: self.keys[to].into(), offset: self.starts[to] + offset as u64 }
    }

    fn access(
        &self,
        to: usize,
        action: ElementAction,
        operation: u16,
        offset: usize,
        len: usize,
    ) -> RmaRequest {
        let place = self.place(to, offset);
        let (operation, len) = ((operation, 8), len as u64);
        RmaRequest::Access(ElementAccess { action, place, operation, len, elements: None })
    }

    /// Returns elements of `block` bytes that fit into `room`, with their number and distance.
    fn elements(&mut self, block: usize, room: usize) -> (Arc<Layout>, usize, usize) {
        let stride = block * (1 + self.random.below(4));
        let count = 1 + self.random.below((room / stride).min(900));
        let layout = match self.random.chance(50) {
            true => Layout::block(block).repeated(count, stride as isize),
            // This layout is too irregular to be sent as a whole.
            false => Layout::sequence((0..count).filter_map(|n| {
                let gap = if n % 3 == 0 { 0 } else { stride - block };
                Layout::block(block).shifted((n * stride + gap) as isize)
            })),
        };
        (Arc::new(layout.expect("it fits")), count, stride)
    }

    /// Makes a random access of a rank.
    pub(super) fn act(&mut self, me: usize) {
        self.parties[me].left -= 1;
        let (ranks, to) = (self.ranks(), self.random.below(self.ranks()));
        match self.random.below(20) {
            0..5 => self.put(me, to),
            5..8 => self.get(me, to),
            8..11 => self.add(me, to),
            11 | 12 => {
                let n = self.random.next_u64();
                self.done[me][to].fold(n);
                let access = self.access(to, ElementAction::Accumulate, FOLD, 8 * (ORDERED + me), 8);
                self.submit(me, to, (access, None), n.to_le_bytes().to_vec(), 0, ExpectedOutcome::End);
            }
            13 | 14 => {
                self.done[me][to].fetches += 1;
                let access = self.access(to, ElementAction::GetAccumulate, ADD, 8 * FETCHED, 8);
                self.submit(me, to, (access, None), 1u64.to_le_bytes().to_vec(), 8, ExpectedOutcome::Fetched);
            }
            15 => {
                let there = self.random.up_to(6);
                self.done[me][to].replaces += 1;
                let access = self.access(to, ElementAction::CompareAndSwap, 0, 8 * REPLACED, 8);
                let operands = [there, there + 1].map(u64::to_le_bytes).concat();
                self.submit(me, to, (access, None), operands, 8, ExpectedOutcome::Replaced(there));
            }
            16 | 17 if !self.parties[me].in_section => {
                self.parties[me].in_section = true;
                let kind =
                    self.random.pick(&[RmaLockKind::Exclusive, RmaLockKind::Exclusive, RmaLockKind::Shared]);
                self.lock(me, to, kind);
            }
            18 => {
                self.flush(me, to, ExpectedOutcome::End);
                // This put leaves the memory; the next flush reports it.
                let place = self.place(to, area_at(ranks, ranks) - 3);
                self.submit(
                    me,
                    to,
                    (RmaRequest::Put { place, len: 8, report: PutReport::Flush }, None),
                    vec![1; 8],
                    0,
                    ExpectedOutcome::End,
                );
                self.flush(me, to, ExpectedOutcome::Refused);
            }
            _ => self.flush(me, to, ExpectedOutcome::End),
        }
    }

    fn flush(&mut self, me: usize, to: usize, expected: ExpectedOutcome) {
        let flush = RmaRequest::Flush { window: self.keys[to] };
        self.submit(me, to, (flush, None), Vec::new(), 0, expected);
    }

    /// Locks the memory of an owner, with or without a wait for the lock.
    fn lock(&mut self, me: usize, to: usize, kind: RmaLockKind) {
        self.window(me, to, WindowAction::Lock(kind), ExpectedOutcome::End);
        if self.random.chance(50) {
            let flush = RmaRequest::Flush { window: self.keys[to] };
            return self.submit(me, to, (flush, None), Vec::new(), 0, ExpectedOutcome::Granted(kind));
        }
        if kind == RmaLockKind::Exclusive {
            // Another holder of the lock reads this word, waits, and writes it back plus one. If the lock did
            // not keep this add out, the holder's write would undo it.
            self.done[me][to].sections_begun += 1;
            let access = self.access(to, ElementAction::Accumulate, ADD, 8 * LOCKED, 8);
            self.submit(me, to, (access, None), 1u64.to_le_bytes().to_vec(), 0, ExpectedOutcome::End);
        }
        if self.random.chance(50) {
            self.put(me, to);
        }
        let done = if kind == RmaLockKind::Exclusive {
            ExpectedOutcome::SectionDone
        } else {
            ExpectedOutcome::Unlocked(kind)
        };
        self.window(me, to, WindowAction::Unlock, done);
    }

    pub(super) fn window(&mut self, me: usize, to: usize, action: WindowAction, expected: ExpectedOutcome) {
        let request = RmaRequest::Window { window: self.keys[to], action };
        self.submit(me, to, (request, None), Vec::new(), 0, expected);
    }

    fn put(&mut self, me: usize, to: usize) {
        let begin = area_at(self.ranks(), me);
        // A get of large data that is under way may read before or after this put.
        for run in &mut self.parties[me].runs {
            let apart = self.net.protos[me].form(&run.rma_request) == Form::Apart;
            if run.to == to && apart && matches!(run.expected, ExpectedOutcome::Bytes(_)) {
                run.expected = ExpectedOutcome::End;
            }
        }
        if self.random.chance(40) {
            let block = self.random.pick(&[1, 4, 8, 24, 100]);
            let from = self.random.below(AREA / 2);
            let (layout, count, _) = self.elements(block, AREA / 2);
            let data: Vec<u8> = (0..block * count).map(|_| self.random.next_u64() as u8).collect();
            let area = &mut self.done[me][to].area;
            layout.each_stretch(1, 0, data.len(), |at, done, len| {
                let at = from + at.unsigned_abs();
                area[at..at + len].copy_from_slice(&data[done..done + len]);
            });
            let access = self.access(to, ElementAction::Put, 0, begin + from, data.len());
            return self.submit(me, to, (access, Some((layout, 1))), data, 0, ExpectedOutcome::End);
        }
        let len = self.random.pick(&[0, 1, 8, 24, 25, 48, 900, 4096, 20_000]);
        let from = self.random.below(AREA - len);
        let data: Vec<u8> = (0..len).map(|_| self.random.next_u64() as u8).collect();
        self.done[me][to].area[from..from + len].copy_from_slice(&data);
        let place = self.place(to, begin + from);
        self.submit(
            me,
            to,
            (RmaRequest::Put { place, len: len as u64, report: PutReport::Flush }, None),
            data,
            0,
            ExpectedOutcome::End,
        );
    }

    fn get(&mut self, me: usize, to: usize) {
        let begin = area_at(self.ranks(), me);
        if self.random.chance(40) {
            let block = self.random.pick(&[1, 4, 8, 24, 100]);
            let from = self.random.below(AREA / 2);
            let (layout, count, _) = self.elements(block, AREA / 2);
            let mut bytes = vec![0; block * count];
            let area = &self.done[me][to].area;
            layout.each_stretch(1, 0, block * count, |at, done, len| {
                let at = from + at.unsigned_abs();
                bytes[done..done + len].copy_from_slice(&area[at..at + len]);
            });
            let access = self.access(to, ElementAction::Get, 0, begin + from, bytes.len());
            let len = bytes.len();
            return self.submit(
                me,
                to,
                (access, Some((layout, 1))),
                Vec::new(),
                len,
                ExpectedOutcome::Bytes(bytes),
            );
        }
        let len = self.random.pick(&[0, 1, 8, 24, 900, 4096, 20_000]);
        let from = self.random.below(AREA - len);
        let expected = ExpectedOutcome::Bytes(self.done[me][to].area[from..from + len].to_vec());
        let place = self.place(to, begin + from);
        self.submit(me, to, (RmaRequest::Get { place, len: len as u64 }, None), Vec::new(), len, expected);
    }

    fn add(&mut self, me: usize, to: usize) {
        let from = self.random.below(SUMS / 2);
        let (layout, count, _) = self.elements(8, 8 * SUMS / 2);
        let n = 1 + self.random.up_to(1 << 20);
        let sums = &mut self.done[me][to].sums;
        layout.each_stretch(1, 0, 8 * count, |at, _, len| {
            let first = from + at.unsigned_abs() / 8;
            sums[first..first + len / 8].iter_mut().for_each(|sum| *sum += n);
        });
        let begin = sums_at(self.ranks()) + 8 * from;
        let access = self.access(to, ElementAction::Accumulate, ADD, begin, 8 * count);
        let data = n.to_le_bytes().repeat(count);
        self.submit(me, to, (access, Some((layout, 1))), data, 0, ExpectedOutcome::End);
    }
}
