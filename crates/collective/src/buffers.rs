//! Buffers that outlive the call that started a collective: known by their address, or memory of the library.
//!
//! Owns the two buffers of such a call. No part of them is lent once the collective has ended.

use std::sync::Arc;

use canele_mem::buffer::{Divided, InBuffer, OutBuffer, PartedMemory, Raw, Readable};
use canele_proto::request::Buffer;

use crate::memory::{Back, Memory, User, within, within_mut};
use crate::schedule::{Area, Span, Transfer};

/// The input or the output of a collective; places in it are counted from its beginning.
#[derive(Default)]
pub enum CollectiveBuffer {
    /// No buffer.
    #[default]
    Nowhere,
    /// An input: the program's memory from this address on.
    At(Raw),
    /// An output in the program's memory, or memory of the library's own.
    Own(Box<Divided>),
    /// The program's memory, in which each block is elements of a layout: a schedule may only send, receive,
    /// copy and publish ranges of blocks.
    Parts(Arc<PartedMemory>),
}

/// The input and the output.
#[derive(Default)]
pub struct Buffers {
    /// The input.
    pub input: CollectiveBuffer,
    /// The output.
    pub output: CollectiveBuffer,
}

impl CollectiveBuffer {
    #[inline(always)]
    fn bytes(&self, span: Span) -> &[u8] {
        match self {
            Self::At(raw) => raw.bytes(span.at as isize, span.len),
            Self::Own(own) => own.part(span.range()),
            Self::Parts(_) => unreachable!("elements of a layout are lent"),
            Self::Nowhere => within(&[], nothing(span)),
        }
    }

    #[inline(always)]
    fn bytes_mut(&mut self, span: Span) -> &mut [u8] {
        match self {
            Self::Own(own) => own.part_mut(span.range()),
            Self::At(_) => unreachable!("schedules never write to the input"),
            Self::Parts(_) => unreachable!("elements of a layout are lent"),
            Self::Nowhere => within_mut(&mut [], nothing(span)),
        }
    }

    fn lend(&mut self, span: Span) -> OutBuffer {
        match self {
            Self::At(raw) => raw.lend(span.at as isize, span.len),
            Self::Own(own) => own.lend(span.range()),
            Self::Parts(parts) => parts.lend(span.range()),
            Self::Nowhere => Divided::default().lend(0..nothing(span).len),
        }
    }

    fn lend_mut(&mut self, span: Span) -> InBuffer {
        match self {
            Self::Own(own) => own.lend_mut(span.range()),
            Self::Parts(parts) => parts.lend_mut(span.range()),
            Self::At(_) => unreachable!("schedules never write to the input"),
            Self::Nowhere => Divided::default().lend_mut(0..nothing(span).len),
        }
    }

    fn take_back(&mut self, buffer: Buffer) {
        match (self, buffer) {
            (Self::Own(own), Buffer::Out(buffer)) => own.take_back(buffer),
            (Self::Own(own), Buffer::In(buffer)) => own.take_back_mut(buffer),
            // Memory that is read in place is back once the call has ended, so no wait is needed.
            _ => {}
        }
    }
}

/// Checks a span of a missing buffer: a range without bytes may be anywhere.
fn nothing(span: Span) -> Span {
    assert_eq!(span.len, 0, "a collective has bytes in a buffer that was not given");
    Span { at: 0, ..span }
}

impl Buffers {
    fn place(&mut self, area: Area) -> &mut CollectiveBuffer {
        match area {
            Area::Input => &mut self.input,
            Area::Output => &mut self.output,
            Area::Scratch | Area::Shared => unreachable!("that is the library's"),
        }
    }
}

impl User for &mut Buffers {
    #[inline(always)]
    fn has_parts(&self) -> bool {
        [&self.input, &self.output].into_iter().any(|buffer| matches!(buffer, CollectiveBuffer::Parts(_)))
    }

    fn has_parts_in(&self, area: Area) -> bool {
        let buffer = match area {
            Area::Input => &self.input,
            Area::Output => &self.output,
            Area::Scratch | Area::Shared => return false,
        };
        matches!(buffer, CollectiveBuffer::Parts(_))
    }

    #[inline(always)]
    fn input(&self, span: Span) -> &[u8] {
        self.input.bytes(span)
    }

    #[inline(always)]
    fn output(&self, span: Span) -> &[u8] {
        self.output.bytes(span)
    }

    #[inline(always)]
    fn output_mut(&mut self, span: Span) -> &mut [u8] {
        self.output.bytes_mut(span)
    }

    #[inline(always)]
    fn both(&mut self, from: Span, into: Span) -> (&[u8], &mut [u8]) {
        (self.input.bytes(from), self.output.bytes_mut(into))
    }

    #[inline(always)]
    fn within_output(&mut self, from: Span, into: Span) -> (&[u8], &mut [u8]) {
        match &mut self.output {
            CollectiveBuffer::Own(own) => own.apart(from.range(), into.range()),
            CollectiveBuffer::At(_) => unreachable!("schedules never write to the input"),
            CollectiveBuffer::Parts(_) => unreachable!("elements of a layout are lent"),
            CollectiveBuffer::Nowhere => (within(&[], nothing(from)), within_mut(&mut [], nothing(into))),
        }
    }

    fn lending<T>(
        &mut self,
        sends: &[Span],
        receives: &[Span],
        f: impl FnOnce(Vec<OutBuffer>, Vec<InBuffer>, Back<'_>) -> T,
    ) -> T {
        let into = receives.iter().map(|span| self.place(span.area).lend_mut(*span)).collect();
        let out = sends.iter().map(|span| self.place(span.area).lend(*span)).collect();
        f(out, into, &mut |area, buffer| self.place(area).take_back(buffer))
    }
}

impl Memory<'_, &mut Buffers> {
    /// Lends the memory of the sends and receives of a round; each buffer must be given back.
    pub fn lend(&mut self, sends: &[Transfer], receives: &[Transfer]) -> (Vec<OutBuffer>, Vec<InBuffer>) {
        self.lending(sends, receives, |out, into, _| (out, into))
    }

    /// Takes back a buffer that was lent from an area.
    pub fn take_back(&mut self, area: Area, buffer: Buffer) {
        match (area, buffer) {
            (Area::Scratch, Buffer::Out(buffer)) => self.scratch.take_back(buffer),
            (Area::Scratch, Buffer::In(buffer)) => self.scratch.take_back_mut(buffer),
            (area, buffer) => self.user.place(area).take_back(buffer),
        }
    }
}
