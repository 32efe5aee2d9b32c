//! The memory of one call: the three areas that a schedule names.
//!
//! Owns nothing: the user's two buffers are borrowed slices ([`Slices`]), or memory that outlives the call
//! ([`Buffers`](crate::Buffers)); the scratch is the library's. Memory is accessed only while no transfer is
//! under way.

use canele_mem::buffer::{self, Divided, InBuffer, OutBuffer};
use canele_mem::copy::copy_slice;
use canele_mem::window::Window;
use canele_proto::request::Buffer;
use canele_sys::ids::Rank;

use crate::reduce::Reduction;
use crate::schedule::{Area, Blocks, Local, Reduced, Span, Transfer};

/// A function that takes buffers back that were lent from an area.
pub type Back<'b> = &'b mut dyn FnMut(Area, Buffer);

/// The user's input and output.
pub trait User {
    /// Returns true if a buffer has blocks that are not one stretch each: those are only lent.
    #[inline(always)]
    fn has_parts(&self) -> bool {
        false
    }
    /// Returns true if the buffer of an area has such blocks.
    fn has_parts_in(&self, _: Area) -> bool {
        false
    }
    /// Returns a range of the input.
    fn input(&self, span: Span) -> &[u8];
    /// Returns a range of the output.
    fn output(&self, span: Span) -> &[u8];
    /// Returns a range of the output, to be written.
    fn output_mut(&mut self, span: Span) -> &mut [u8];
    /// Returns one range of the input and one of the output.
    fn both(&mut self, from: Span, into: Span) -> (&[u8], &mut [u8]);
    /// Returns two ranges of the output that do not overlap.
    fn within_output(&mut self, from: Span, into: Span) -> (&[u8], &mut [u8]);
    /// Lends ranges of both while `f` runs, which gives all of them back.
    fn lending<T>(
        &mut self,
        sends: &[Span],
        receives: &[Span],
        f: impl FnOnce(Vec<OutBuffer>, Vec<InBuffer>, Back<'_>) -> T,
    ) -> T;
}

/// The user's two buffers, the library's scratch, and the shared buffer of a schedule that needs one.
pub struct Memory<'m, U> {
    /// The input and the output.
    pub user: U,
    /// The library's scratch.
    pub scratch: &'m mut Divided,
    /// The shared buffer of this rank.
    pub shared_buffer: Option<Window<'m>>,
}

impl<U: User> Memory<'_, U> {
    /// Returns the data of a send.
    #[inline(always)]
    pub(crate) fn read(&self, span: Span) -> &[u8] {
        match span.area {
            Area::Input => self.user.input(span),
            Area::Output => self.user.output(span),
            Area::Scratch => within(self.scratch.bytes(), span),
            Area::Shared => unreachable!("schedules only copy to the shared buffer"),
        }
    }

    /// Returns the memory of a receive.
    #[inline(always)]
    pub(crate) fn write(&mut self, span: Span) -> &mut [u8] {
        match span.area {
            Area::Input | Area::Shared => unreachable!("schedules do not write there"),
            Area::Output => self.user.output_mut(span),
            Area::Scratch => within_mut(self.scratch.bytes_mut(), span),
        }
    }

    /// Does work on memory of this rank.
    #[inline(always)]
    pub(crate) fn work(&mut self, local: Local, reduction: Option<&Reduction>) {
        match local {
            Local::Copy { from, into: Span { area: Area::Shared, at, .. } } => self.publish(from, at),
            Local::Copy { from, into } if self.has_parts(from, into) => self.copy_lent(from, into),
            Local::Copy { from, into } => {
                let (from, into) = self.pair(from, into);
                copy_slice(into, from);
            }
            Local::Scatter(blocks) => self.scatter(blocks),
            Local::Reduce { from, into, from_first } => {
                let (from, into) = self.pair(from, into);
                reduction.expect("a reduction has an operation").combine(into, from, from_first);
            }
            Local::Fetch { .. } | Local::HasRead { .. } => unreachable!("that is memory of another rank"),
        }
    }

    /// Returns true if one of two places is in a buffer whose blocks need not be one stretch each.
    #[inline(always)]
    fn has_parts(&self, one: Span, other: Span) -> bool {
        self.user.has_parts() && [one, other].iter().any(|span| self.user.has_parts_in(span.area))
    }

    /// Copies from or to a buffer that holds elements of a layout.
    #[cold]
    #[inline(never)]
    fn copy_lent(&mut self, from: Span, into: Span) {
        let transfer = |span| [Transfer { peer: Rank(0), span }];
        self.lending(&transfer(from), &transfer(into), |sends, receives, back| {
            for (source, mut target) in sends.into_iter().zip(receives) {
                target.copy_from_buffer(&source, from.len.min(into.len));
                back(from.area, Buffer::Out(source));
                back(into.area, Buffer::In(target));
            }
        });
    }

    #[inline(never)]
    fn publish(&mut self, from: Span, at: usize) {
        let shared_buffer = self.shared_buffer.expect("a schedule says that it needs a shared buffer");
        if !self.has_parts(from, from) {
            return shared_buffer.write(at, self.read(from));
        }
        let room = shared_buffer.part(at, from.len).expect("a shared buffer has room for what is published");
        self.lending(&[Transfer { peer: Rank(0), span: from }], &[], |sends, _, back| {
            for source in sends {
                source.copy_to(0, room);
                back(from.area, Buffer::Out(source));
            }
        });
    }

    /// Takes the data that another rank publishes.
    pub(crate) fn take(&mut self, published: Window<'_>, into: Span, reduced: Option<(Reduced, &Reduction)>) {
        let Some((Reduced { through, from_first }, reduction)) = reduced else {
            if self.has_parts(into, into) {
                return self.take_lent(published, into);
            }
            return published.backwards().read(0, self.write(into));
        };
        for at in (0..into.len).step_by(through.len) {
            let len = through.len.min(into.len - at);
            let through = through.part(0, len);
            published.backwards().read(at, self.write(through));
            let (from, into) = self.pair(through, into.part(at, len));
            reduction.combine(into, from, from_first);
        }
    }

    /// Takes the data that another rank publishes, into elements of a layout.
    #[cold]
    #[inline(never)]
    fn take_lent(&mut self, published: Window<'_>, into: Span) {
        self.lending(&[], &[Transfer { peer: Rank(0), span: into }], |_, receives, back| {
            for mut target in receives {
                target.copy_from(0, published);
                back(into.area, Buffer::In(target));
            }
        });
    }

    fn scatter(&mut self, blocks: Blocks) {
        let (mut from, mut into) = (blocks.from, blocks.into);
        for _ in 0..blocks.count {
            if self.has_parts(from, into) {
                self.copy_lent(from, into);
            } else {
                let (block, place) = self.pair(from, into);
                copy_slice(place, block);
            }
            from.at += blocks.from_step;
            // One step behind the last place may be before the beginning; it is not accessed.
            into.at = into.at.wrapping_add_signed(blocks.into_step);
        }
    }

    #[inline(always)]
    fn pair(&mut self, from: Span, into: Span) -> (&[u8], &mut [u8]) {
        let Self { user, scratch, .. } = self;
        match (from.area, into.area) {
            (Area::Input, Area::Output) => user.both(from, into),
            (Area::Input, Area::Scratch) => (user.input(from), within_mut(scratch.bytes_mut(), into)),
            (Area::Scratch, Area::Output) => (within(scratch.bytes(), from), user.output_mut(into)),
            (Area::Output, Area::Scratch) => (user.output(from), within_mut(scratch.bytes_mut(), into)),
            (Area::Scratch, Area::Scratch) => apart(scratch.bytes_mut(), from, into),
            (Area::Output, Area::Output) => user.within_output(from, into),
            (_, Area::Input) | (Area::Shared, _) | (_, Area::Shared) => {
                unreachable!("schedules never write to the input, and only copy to the shared buffer")
            }
        }
    }

    /// Lends the memory of the sends and receives of a round, in their order, while `f` runs.
    pub fn lending<T>(
        &mut self,
        sends: &[Transfer],
        receives: &[Transfer],
        f: impl FnOnce(Vec<OutBuffer>, Vec<InBuffer>, Back<'_>) -> T,
    ) -> T {
        let Self { user, scratch, .. } = self;
        let of_user = |list: &[Transfer]| -> Vec<Span> {
            list.iter().map(|transfer| transfer.span).filter(|span| span.area != Area::Scratch).collect()
        };
        user.lending(&of_user(sends), &of_user(receives), |out, into, back| {
            let (mut out, mut into) = (out.into_iter(), into.into_iter());
            let receives = receives.iter().map(|t| lend_mut(scratch, t.span, || into.next())).collect();
            let sends = sends.iter().map(|t| lend(scratch, t.span, || out.next())).collect();
            f(sends, receives, &mut |area, buffer| match (area, buffer) {
                (Area::Scratch, Buffer::Out(buffer)) => scratch.take_back(buffer),
                (Area::Scratch, Buffer::In(buffer)) => scratch.take_back_mut(buffer),
                (area, buffer) => back(area, buffer),
            })
        })
    }
}

/// Lends a range of the scratch, or passes on the user's buffer.
fn lend_mut(scratch: &mut Divided, span: Span, user: impl FnOnce() -> Option<InBuffer>) -> InBuffer {
    match span.area {
        Area::Scratch => scratch.lend_mut(span.at..span.at + span.len),
        _ => user().expect("as many were lent"),
    }
}

/// Lends a range of the scratch to be sent, or passes on the user's buffer.
fn lend(scratch: &mut Divided, span: Span, user: impl FnOnce() -> Option<OutBuffer>) -> OutBuffer {
    match span.area {
        Area::Scratch => scratch.lend(span.at..span.at + span.len),
        _ => user().expect("as many were lent"),
    }
}

/// Borrowed memory.
pub struct Slices<'m> {
    /// The input.
    pub input: &'m [u8],
    /// The output.
    pub output: &'m mut [u8],
}

impl User for Slices<'_> {
    #[inline(always)]
    fn input(&self, span: Span) -> &[u8] {
        within(self.input, span)
    }

    #[inline(always)]
    fn output(&self, span: Span) -> &[u8] {
        within(self.output, span)
    }

    #[inline(always)]
    fn output_mut(&mut self, span: Span) -> &mut [u8] {
        within_mut(self.output, span)
    }

    #[inline(always)]
    fn both(&mut self, from: Span, into: Span) -> (&[u8], &mut [u8]) {
        (within(self.input, from), within_mut(self.output, into))
    }

    #[inline(always)]
    fn within_output(&mut self, from: Span, into: Span) -> (&[u8], &mut [u8]) {
        apart(self.output, from, into)
    }

    fn lending<T>(
        &mut self,
        sends: &[Span],
        receives: &[Span],
        f: impl FnOnce(Vec<OutBuffer>, Vec<InBuffer>, Back<'_>) -> T,
    ) -> T {
        let (from, into) = self.cut(sends, receives);
        buffer::scope(|scope| {
            let out = from.into_iter().map(|bytes| scope.lend(bytes)).collect();
            let into = into.into_iter().map(|bytes| scope.lend_mut(bytes)).collect();
            f(out, into, &mut |_, buffer| match buffer {
                Buffer::Out(buffer) => scope.take_back(buffer),
                Buffer::In(buffer) => scope.take_back_mut(buffer),
                Buffer::None => {}
            })
        })
    }
}

impl Slices<'_> {
    /// Cuts input and output into the ranges of sends and of receives, in their order.
    ///
    /// # Panics
    /// If a range of a receive overlaps any other: a round does not do that.
    fn cut<'a>(&'a mut self, sends: &[Span], receives: &[Span]) -> (Vec<&'a [u8]>, Vec<&'a mut [u8]>) {
        let mut readable: Vec<(Span, &'a [u8])> = vec![(Span::input(0, self.input.len()), self.input)];
        let mut order: Vec<usize> = (0..receives.len()).collect();
        order.sort_by_key(|n| (receives[*n].at, receives[*n].len));
        let mut writable: Vec<Option<&'a mut [u8]>> = receives.iter().map(|_| None).collect();
        let (mut rest, mut start) = (&mut *self.output, 0);
        for n in order {
            let span = receives[n];
            let (gap, tail) = rest.split_at_mut(span.at - start);
            let (mine, tail) = tail.split_at_mut(span.len);
            readable.push((Span::output(start, gap.len()), gap));
            writable[n] = Some(mine);
            (rest, start) = (tail, span.at + span.len);
        }
        readable.push((Span::output(start, rest.len()), rest));
        let find = |span: Span| -> &'a [u8] {
            let holds = |all: &Span| {
                all.area == span.area && all.at <= span.at && span.at + span.len <= all.at + all.len
            };
            let (all, bytes) =
                readable.iter().find(|(all, _)| holds(all)).expect("a send overlaps no receive");
            &bytes[span.at - all.at..][..span.len]
        };
        let sends = sends.iter().map(|span| find(*span)).collect();
        (sends, writable.into_iter().flatten().collect())
    }
}

#[inline(always)]
pub(crate) fn within(area: &[u8], span: Span) -> &[u8] {
    &area[span.at..span.at + span.len]
}

#[inline(always)]
pub(crate) fn within_mut(area: &mut [u8], span: Span) -> &mut [u8] {
    &mut area[span.at..span.at + span.len]
}

/// Returns two ranges of one area that do not overlap.
#[inline(always)]
pub(crate) fn apart(area: &mut [u8], from: Span, into: Span) -> (&[u8], &mut [u8]) {
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

    #[test]
    fn a_round_is_cut_into_disjoint_buffers() {
        let (input, mut output) = ([9u8; 4], [0u8, 1, 2, 3, 4, 5, 6, 7]);
        let mut memory = Slices { input: &input, output: &mut output };
        let sends = [Span::output(0, 2), Span::input(1, 2), Span::output(6, 2), Span::output(0, 1)];
        let receives = [Span::output(4, 2), Span::output(2, 2), Span::output(2, 0)];
        let (read, mut written) = memory.cut(&sends, &receives);
        assert_eq!(read, [&[0u8, 1][..], &[9, 9], &[6, 7], &[0]]);
        assert_eq!(written.iter().map(|w| w.len()).collect::<Vec<_>>(), [2, 2, 0]);
        written[0].fill(40);
        written[1].fill(20);
        assert_eq!(output, [0, 1, 20, 20, 40, 40, 6, 7]);
    }

    #[test]
    #[should_panic(expected = "overlaps no receive")]
    fn a_round_that_sends_what_it_receives_is_refused() {
        let mut output = [0u8; 8];
        let mut memory = Slices { input: &[], output: &mut output };
        memory.cut(&[Span::output(0, 5)], &[Span::output(4, 2)]);
    }
}
