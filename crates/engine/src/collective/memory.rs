//! The memory of one call: the three areas a schedule speaks of.

use super::reduce::Kernel;
use super::schedule::{Area, Blocks, Local, Span, Transfer};

/// The user's two buffers and the library's scratch.
pub(crate) struct Memory<'m> {
    pub input: &'m [u8],
    pub output: &'m mut [u8],
    pub scratch: &'m mut [u8],
}

impl Memory<'_> {
    /// What is to be sent.
    #[inline(always)]
    pub fn read(&self, span: Span) -> &[u8] {
        let area = match span.area {
            Area::Input => self.input,
            Area::Output => &*self.output,
            Area::Scratch => &*self.scratch,
        };
        &area[span.at..span.at + span.len]
    }

    /// Where is to be received.
    #[inline(always)]
    pub fn write(&mut self, span: Span) -> &mut [u8] {
        let area = match span.area {
            Area::Input => unreachable!("schedules never write to the input"),
            Area::Output => &mut *self.output,
            Area::Scratch => &mut *self.scratch,
        };
        &mut area[span.at..span.at + span.len]
    }

    /// Does work on memory.
    #[inline(always)]
    pub fn work(&mut self, local: Local, kernel: Option<Kernel>) {
        match local {
            Local::Copy { from, into } => {
                let (from, into) = self.pair(from, into);
                into.copy_from_slice(from);
            }
            Local::Scatter(blocks) => self.scatter(blocks),
            Local::Reduce { from, into, from_first } => {
                let (from, into) = self.pair(from, into);
                kernel.expect("a reduction has an operation")(into, from, from_first);
            }
        }
    }

    fn scatter(&mut self, blocks: Blocks) {
        let (mut from, mut into) = (blocks.from, blocks.into);
        for _ in 0..blocks.count {
            let (block, place) = self.pair(from, into);
            place.copy_from_slice(block);
            from.at += blocks.from_step;
            // One step behind the last place may be before the beginning; it is not looked at.
            into.at = into.at.wrapping_add_signed(blocks.into_step);
        }
    }

    #[inline(always)]
    fn pair(&mut self, from: Span, into: Span) -> (&[u8], &mut [u8]) {
        match (from.area, into.area) {
            (Area::Input, Area::Output) => (within(self.input, from), within_mut(self.output, into)),
            (Area::Input, Area::Scratch) => (within(self.input, from), within_mut(self.scratch, into)),
            (Area::Scratch, Area::Output) => (within(self.scratch, from), within_mut(self.output, into)),
            (Area::Output, Area::Scratch) => (within(self.output, from), within_mut(self.scratch, into)),
            (Area::Scratch, Area::Scratch) => apart(self.scratch, from, into),
            (Area::Output, Area::Output) => apart(self.output, from, into),
            (_, Area::Input) => unreachable!("schedules never write to the input"),
        }
    }

    /// Cuts the areas into what the sends of a round read and what its receives fill, in their order.
    ///
    /// # Panics
    /// If a receive overlaps another transfer: a round does not do that.
    pub fn cut<'a>(
        &'a mut self,
        sends: &[Transfer],
        receives: &[Transfer],
    ) -> (Vec<&'a [u8]>, Vec<&'a mut [u8]>) {
        let mut readable: Vec<(Span, &'a [u8])> = vec![(Span::input(0, self.input.len()), self.input)];
        let mut order: Vec<usize> = (0..receives.len()).collect();
        order.sort_by_key(|n| (receives[*n].span.at, receives[*n].span.len));
        let mut writable: Vec<Option<&'a mut [u8]>> = receives.iter().map(|_| None).collect();
        for (area, memory) in [(Area::Output, &mut *self.output), (Area::Scratch, &mut *self.scratch)] {
            let (mut rest, mut start) = (memory, 0);
            for n in order.iter().copied().filter(|n| receives[*n].span.area == area) {
                let span = receives[n].span;
                let (gap, tail) = rest.split_at_mut(span.at - start);
                let (mine, tail) = tail.split_at_mut(span.len);
                readable.push((Span { area, at: start, len: gap.len() }, gap));
                writable[n] = Some(mine);
                (rest, start) = (tail, span.at + span.len);
            }
            readable.push((Span { area, at: start, len: rest.len() }, rest));
        }
        let find = |span: Span| -> &'a [u8] {
            let holds = |all: &Span| {
                all.area == span.area && all.at <= span.at && span.at + span.len <= all.at + all.len
            };
            let (all, bytes) =
                readable.iter().find(|(all, _)| holds(all)).expect("a send overlaps no receive");
            &bytes[span.at - all.at..][..span.len]
        };
        let sends = sends.iter().map(|t| find(t.span)).collect();
        (sends, writable.into_iter().flatten().collect())
    }
}

fn within(area: &[u8], span: Span) -> &[u8] {
    &area[span.at..span.at + span.len]
}

fn within_mut(area: &mut [u8], span: Span) -> &mut [u8] {
    &mut area[span.at..span.at + span.len]
}

/// Two ranges of one area that do not overlap.
fn apart(area: &mut [u8], from: Span, into: Span) -> (&[u8], &mut [u8]) {
    if from.at < into.at {
        let (low, high) = area.split_at_mut(into.at);
        (within(low, from), &mut high[..into.len])
    } else {
        let (low, high) = area.split_at_mut(from.at);
        (&high[..from.len], within_mut(low, into))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use canele_sys::ids::Rank;

    #[test]
    fn a_round_is_cut_into_disjoint_buffers() {
        let (input, mut output, mut scratch) = ([9u8; 4], [0u8, 1, 2, 3, 4, 5, 6, 7], [10u8; 8]);
        let mut memory = Memory { input: &input, output: &mut output, scratch: &mut scratch };
        let transfer = |span| Transfer { peer: Rank(0), span };
        let sends =
            [Span::output(0, 2), Span::input(1, 2), Span::output(6, 2), Span::output(0, 1)].map(transfer);
        let receives =
            [Span::output(4, 2), Span::scratch(0, 8), Span::output(2, 2), Span::NOTHING].map(transfer);
        let (read, mut written) = memory.cut(&sends, &receives);
        assert_eq!(read, [&[0u8, 1][..], &[9, 9], &[6, 7], &[0]]);
        assert_eq!(written.iter().map(|w| w.len()).collect::<Vec<_>>(), [2, 8, 2, 0]);
        written[0].fill(40);
        written[2].fill(20);
        assert_eq!(output, [0, 1, 20, 20, 40, 40, 6, 7]);
    }

    #[test]
    #[should_panic(expected = "overlaps no receive")]
    fn a_round_that_sends_what_it_receives_is_refused() {
        let (mut output, mut scratch) = ([0u8; 8], [0u8; 0]);
        let mut memory = Memory { input: &[], output: &mut output, scratch: &mut scratch };
        let transfer = |span| Transfer { peer: Rank(0), span };
        memory.cut(&[transfer(Span::output(0, 5))], &[transfer(Span::output(4, 2))]);
    }
}
