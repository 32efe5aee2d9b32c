//! Accumulates, fetch-and-op, compare-and-swap (MPI 5.0, §12.3.4).

use canele_engine::Window;
use canele_mem::atomic_element::{put_value, value_of};
use canele_mem::buffer::Readable;

use super::elements::{Accumulation, fetch_and_change, try_accumulate, try_compare_and_swap};
use super::target::ElementsPlace;
use super::transfer::TargetData;
use super::{Win, fencing};
use crate::Result;
use crate::data::{Data, DataMut};
use crate::request::Request;

/// Largest number of bytes that are accumulated at once. Others may be excluded from the elements during that
/// time.
const PIECE: usize = 64 << 10;

impl Win {
    /// Combines elements of the origin into those of a target; `result` gets the old values if given.
    /// Operations without an operand take no origin elements. Returns a request like [`Win::put`].
    ///
    /// # Errors
    /// Fails like [`Win::put`], or if the operation is not defined for the elements.
    pub fn accumulate(
        &self,
        to: TargetData<'_>,
        how: Accumulation,
        origin: Option<Data<'_>>,
        result: Option<DataMut<'_>>,
        tracked: bool,
    ) -> Result<Option<Request>> {
        let len = to.bytes()?;
        if let Some(origin) = origin {
            self.common_length(to, origin.bytes()?)?;
        }
        if let Some(result) = &result {
            self.common_length(to, result.bytes()?)?;
        }
        let target = self.access(to.rank)?;
        self.trace_access(if result.is_some() { "get-accumulate" } else { "accumulate" }, target, len);
        self.accumulate_elements(to, how, origin, result, tracked)
    }

    /// Accumulates elements that may be accessed ([`Win::accumulate`]).
    fn accumulate_elements(
        &self,
        to: TargetData<'_>,
        how: Accumulation,
        origin: Option<Data<'_>>,
        result: Option<DataMut<'_>>,
        tracked: bool,
    ) -> Result<Option<Request>> {
        if to.bytes()? == 0 {
            return Ok(None);
        }
        match self.place(to.rank, to.disp, &to.of.span(to.count))? {
            ElementsPlace::Here(memory, at) => {
                let window = memory.window(0, memory.len()).unwrap_or(Window::empty());
                // Elements that are not changed atomically are accessed by plain loads and stores.
                fencing::load();
                self.accumulate_here((window, at), to, how, origin, result)?;
                fencing::store();
                Ok(None)
            }
            ElementsPlace::Served(at) => self.accumulate_served(to, at, how, origin, result, tracked),
        }
    }

    fn accumulate_here(
        &self,
        (window, at): (Window<'_>, isize),
        to: TargetData<'_>,
        how: Accumulation,
        origin: Option<Data<'_>>,
        mut result: Option<DataMut<'_>>,
    ) -> Result<()> {
        let len = to.bytes()?;
        // All pieces have nearly equal length, so that none is short.
        let piece = len.div_ceil(len.div_ceil(PIECE)).next_multiple_of(how.bytes);
        let stage = |wanted: bool| vec![0; if wanted { len.min(piece) } else { 0 }];
        let mut packed = stage(origin.is_some_and(|origin| !origin.of.is_contiguous()));
        let mut old = stage(result.is_some());
        for start in (0..len).step_by(piece) {
            let n = piece.min(len - start);
            let data = match &origin {
                None => &[],
                Some(origin) if origin.of.is_contiguous() => origin.raw.bytes(start.cast_signed(), n),
                Some(origin) => {
                    origin.of.pack(&origin.raw, origin.count, start, &mut packed[..n]);
                    &packed[..n]
                }
            };
            let stretches = |each: &mut dyn FnMut(Window<'_>, usize)| {
                to.of.stretches(to.count, start, n, |place, within, len| {
                    let part = window.part((at + place).cast_unsigned(), len);
                    each(part.expect("the elements lie in the window"), within);
                });
            };
            self.atomically(to.rank, |exclusion| {
                let old = result.is_some().then(|| &mut old[..n]);
                Ok(try_accumulate(&stretches, how, exclusion, data, old)?.then_some(()))
            })?;
            if let Some(result) = &mut result {
                result.of.unpack(&mut result.raw, result.count, start, &old[..n]);
            }
        }
        Ok(())
    }

    /// Combines one element into one of a target; returns the old value.
    ///
    /// # Errors
    /// Fails like [`Win::accumulate`].
    #[inline]
    pub fn fetch_and_op(
        &self,
        to: TargetData<'_>,
        how: Accumulation,
        origin: Option<Data<'_>>,
        mut result: DataMut<'_>,
    ) -> Result<()> {
        let target = self.access(to.rank)?;
        let len = how.bytes;
        self.trace_access("fetch-and-op", target, len);
        if to.of.is_contiguous()
            && let Some(window) = target.here(to.disp, len)
            && let Some(element) = window.element(0, len)
            && let Some(_entered) = self.enter(to.rank)
        {
            let operand = match origin {
                Some(origin) if matches!(len, 1 | 2 | 4 | 8) => value_of(origin.raw.bytes(0, len)),
                _ => 0,
            };
            let change = how.change()?;
            if !change.has_operand() {
                fencing::load();
            }
            let old = fetch_and_change(element, change, operand);
            put_value(old, result.raw.bytes_mut(0, len));
            return Ok(());
        }
        for bytes in origin.iter().map(|origin| origin.bytes()).chain([result.bytes()]) {
            self.common_length(to, bytes?)?;
        }
        self.accumulate_elements(to, how, origin, Some(result), false).map(drop)
    }

    /// Replaces an element of a target if it equals `compare` byte for byte; returns the old value.
    ///
    /// # Errors
    /// Fails like [`Win::put`].
    #[inline]
    pub fn compare_and_swap(
        &self,
        to: TargetData<'_>,
        [compare, new]: [Data<'_>; 2],
        mut result: DataMut<'_>,
    ) -> Result<()> {
        let (target, len) = (self.access(to.rank)?, to.bytes()?);
        self.trace_access("compare-and-swap", target, len);
        let operands = [compare.raw.bytes(0, len), new.raw.bytes(0, len)];
        if let Some(window) = target.here(to.disp, len)
            && let Some(element) = window.element(0, len)
            && let Some(_entered) = self.enter(to.rank)
        {
            let old = element.compare_and_swap(value_of(operands[0]), value_of(operands[1]));
            put_value(old, result.raw.bytes_mut(0, len));
            return Ok(());
        }
        match self.place(to.rank, to.disp, &to.of.span(1))? {
            ElementsPlace::Here(memory, at) => {
                fencing::load();
                let window = memory.window(at.cast_unsigned(), len).expect("the element lies in the window");
                let old = self.atomically(to.rank, |exclusion| {
                    Ok(try_compare_and_swap(&window, exclusion, operands))
                })?;
                fencing::store();
                result.raw.bytes_mut(0, len).copy_from_slice(&old);
                Ok(())
            }
            ElementsPlace::Served(at) => self.compare_and_swap_served(to, at, [compare, new], result),
        }
    }
}
