//! Datatypes: the type and the layout of a message's elements (MPI 5.0, chapter 5).
//!
//! This module owns predefined and derived datatypes, their bounds, constructor calls, packing, and the
//! representation "external32". It knows no handles: a datatype is an [`Arc`], identified by its address.
//!
//! ```text
//!   constructor ──▶ map: layout (places of bytes) + elements (types of numbers) + marks (bounds)
//!               └─▶ envelope: the call, for queries of the program
//! ```

mod array;
mod basic;
mod construct;
mod convert;
mod elements;
mod envelope;
mod external;
mod fortran;
mod in_file;
mod map;
mod pack;
mod pair;

use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use canele_mem::buffer::{InBuffer, OutBuffer, Raw, RawMut, Readable, ReusableMemory};
use canele_mem::layout::Layout;
use canele_sys::atomic::{AtomicBool, Ordering::Relaxed};

use crate::{Class, Error, Result};
pub use array::Dimension;
pub use basic::{Basic, BasicKind, Format};
pub use construct::length;
use elements::BasicElements;
pub use envelope::{
    Combiner, CountNumber, Distribution, Envelope, Integer, IntegerRun, Integers, Order, Width,
};
pub use fortran::{Family, match_size};
use map::Map;

/// A datatype. Only its commit state and its name change after its creation.
///
/// The fields that every message reads come first, in a cache line that is never written. The counts of the
/// [`Arc`] are in another line.
#[repr(C, align(64))]
pub struct Datatype {
    size: usize,
    contiguous: bool,
    committed: AtomicBool,
    extent: isize,
    lower_bound: isize,
    /// The layout of elements at a distance of the extent.
    layout: Arc<Layout>,
    /// The map, from which other datatypes are made.
    map: Map,
    envelope: Envelope,
    name: Mutex<String>,
}

/// Returns the error for a map that exceeds the address space.
#[cold]
fn too_large() -> Box<Error> {
    Error::new(
        Class::ValueTooLarge,
        "the arguments describe a datatype that exceeds the address space: make it smaller",
    )
}

static BASICS: LazyLock<Vec<Arc<Datatype>>> =
    LazyLock::new(|| Basic::ALL.iter().map(|basic| Datatype::predefined(*basic, basic.name())).collect());

impl Datatype {
    /// Returns the predefined datatype.
    pub fn basic(basic: Basic) -> &'static Arc<Self> {
        &BASICS[basic as usize]
    }

    /// Makes a predefined datatype with the contents of `basic`, for an ABI with more predefined datatypes
    /// than the standard.
    pub fn predefined(basic: Basic, name: &str) -> Arc<Self> {
        let datatype =
            Self::made(Map::basic(basic), Envelope::new(Combiner::Named)).expect("a small datatype");
        datatype.commit();
        datatype.set_name(name);
        datatype
    }

    fn made(map: Map, envelope: Envelope) -> Result<Arc<Self>> {
        let map = map.padded().ok_or_else(too_large)?;
        let (lower_bound, extent) = map.bounds().ok_or_else(too_large)?;
        let layout = Arc::new(map.layout.clone().with_extent(extent));
        Ok(Arc::new(Self {
            size: layout.size(),
            lower_bound,
            extent,
            contiguous: layout.is_contiguous(),
            map,
            layout,
            envelope,
            committed: AtomicBool::new(false),
            name: Mutex::default(),
        }))
    }

    /// Returns the size of an element's data in bytes.
    #[inline]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the extent in bytes.
    #[inline]
    pub fn extent(&self) -> isize {
        self.extent
    }

    /// Returns the lower bound in bytes.
    pub fn lower_bound(&self) -> isize {
        self.lower_bound
    }

    /// Returns the true lower bound: the lowest byte of data.
    pub fn true_lower_bound(&self) -> isize {
        self.layout.bounds().start
    }

    /// Returns the true extent: the distance from the lowest byte of data to behind the highest one.
    pub fn true_extent(&self) -> isize {
        let bounds = self.layout.bounds();
        bounds.end - bounds.start
    }

    /// Returns true if any number of elements is contiguous from the buffer's address on.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Commits the datatype for communication.
    pub fn commit(&self) {
        self.committed.store(true, Relaxed);
    }

    /// Returns true if the datatype is committed.
    #[inline]
    pub fn is_committed(&self) -> bool {
        self.committed.load(Relaxed)
    }

    /// Fails unless the datatype is committed.
    #[inline]
    pub fn check_committed(&self) -> Result<()> {
        if self.is_committed() { Ok(()) } else { Err(self.uncommitted()) }
    }

    #[cold]
    fn uncommitted(&self) -> Box<Error> {
        let text = format!("datatype {} is not committed: call MPI_Type_commit first", self.described());
        Error::new(Class::Datatype, text)
    }

    /// Returns the datatype's name, or its constructor.
    fn described(&self) -> String {
        match self.name() {
            name if name.is_empty() => format!("made by {:?}", self.combiner()),
            name => format!("{name:?}"),
        }
    }

    /// Returns the range of bytes that `count` elements span, relative to the buffer's address.
    pub fn span(&self, count: usize) -> Range<isize> {
        self.layout.span(count)
    }

    /// Returns the length of `count` elements' data in bytes.
    #[inline]
    pub fn total_bytes(&self, count: usize) -> Result<usize> {
        match self.size.checked_mul(count) {
            Some(total) if total <= isize::MAX as usize => Ok(total),
            _ => Err(self.too_many(count)),
        }
    }

    #[cold]
    fn too_many(&self, count: usize) -> Box<Error> {
        let size = self.size;
        let text = format!("count is {count}: so many elements of {size} bytes exceed the address space");
        Error::new(Class::Count, text)
    }

    /// Lends `count` elements for a send; [`Datatype::total_bytes`] has checked their length.
    #[inline]
    pub fn lend(&self, raw: Raw, count: usize) -> OutBuffer {
        match self.contiguous {
            true => raw.lend(0, self.size.saturating_mul(count)),
            false => self.layout.lend(raw, count),
        }
    }

    /// Lends `count` elements for a receive; [`Datatype::total_bytes`] has checked their length.
    #[inline(always)]
    pub fn lend_mut(&self, raw: RawMut, count: usize) -> InBuffer {
        match self.contiguous {
            true => raw.lend_mut(0, self.size.saturating_mul(count)),
            false => self.layout.lend_mut(raw, count),
        }
    }

    /// Lends `count` elements for a receive, in memory that is lent again later.
    pub fn lend_again(&self, memory: &mut ReusableMemory, count: usize) -> InBuffer {
        memory.lend_mut(&self.layout, count)
    }

    /// Fills `into` with the packed bytes of `count` elements from `at` on.
    pub fn pack(&self, raw: &impl Readable, count: usize, at: usize, into: &mut [u8]) {
        self.layout.pack(raw, count, at, into);
    }

    /// Writes `from` as the packed bytes of `count` elements from `at` on.
    pub fn unpack(&self, raw: &mut RawMut, count: usize, at: usize, from: &[u8]) {
        self.layout.unpack(raw, count, at, from);
    }

    /// Returns the layout of its elements.
    pub(crate) fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Calls `each(place, offset in the range, length)` for the contiguous parts of the `len` packed bytes
    /// from `at` on, in order. Places are relative to the buffer's address.
    pub fn stretches(&self, count: usize, at: usize, len: usize, each: impl FnMut(isize, usize, usize)) {
        self.layout.stretches(count, at, len, each);
    }

    /// Returns the basic datatype and its number in an element, if an element has only one.
    #[inline]
    pub fn uniform(&self) -> Option<(Basic, usize)> {
        match self.map.elements {
            BasicElements::Run(basic, count) if count > 0 => Some((basic, count)),
            _ => None,
        }
    }

    /// Returns the number of numbers in an element; a pair counts as two.
    pub fn elements(&self) -> usize {
        self.map.elements.totals().elements
    }

    /// Calls `each(basic, count)` for the runs of equal numbers of an element, in the order of the type map.
    pub fn each_run(&self, mut each: impl FnMut(Basic, usize)) {
        let all = self.map.elements.runs(&mut |basic, count| {
            each(basic, count);
            Ok(())
        });
        all.expect("looking at runs cannot fail");
    }

    /// Returns the number of elements in `bytes` received bytes, if they are complete.
    pub fn count_of(&self, bytes: usize) -> Option<usize> {
        match self.size {
            0 => (bytes == 0).then_some(0),
            size => bytes.is_multiple_of(size).then_some(bytes / size),
        }
    }

    /// Returns the number of numbers in `bytes` received bytes, if they are complete.
    pub fn elements_of(&self, bytes: usize) -> Option<usize> {
        if self.size == 0 {
            return (bytes == 0).then_some(0);
        }
        let whole = (bytes / self.size).checked_mul(self.elements())?;
        let elements = whole.checked_add(self.map.elements.within(bytes % self.size))?;
        (self.bytes_of(elements) == Some(bytes)).then_some(elements)
    }

    /// Returns the length in bytes of the first `elements` numbers of a message, unless it overflows.
    pub fn bytes_of(&self, elements: usize) -> Option<usize> {
        if self.size == 0 {
            return (elements == 0).then_some(0);
        }
        let whole = (elements / self.elements()).checked_mul(self.size)?;
        whole.checked_add(self.map.elements.bytes_of(elements % self.elements()))
    }

    /// Returns the datatype's constructor call.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Returns the constructor that made the datatype.
    pub fn combiner(&self) -> Combiner {
        self.envelope.combiner
    }

    /// Returns true if the datatype is predefined and has a name.
    pub fn is_named(&self) -> bool {
        self.combiner() == Combiner::Named
    }

    /// Returns true if the datatype is predefined, named or not; then it cannot be freed.
    pub fn is_predefined(&self) -> bool {
        use Combiner::{F90Complex, F90Integer, F90Real, Named, ValueIndex};
        matches!(self.combiner(), Named | F90Real | F90Complex | F90Integer | ValueIndex)
    }

    /// Returns the datatype's name; empty for a derived datatype without one.
    pub fn name(&self) -> String {
        self.name.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the datatype's name.
    pub fn set_name(&self, name: &str) {
        *self.name.lock().unwrap_or_else(PoisonError::into_inner) = name.to_owned();
    }
}

impl std::fmt::Debug for Datatype {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Datatype({}, {} bytes, extent {})", self.described(), self.size, self.extent)
    }
}

#[cfg(test)]
mod tests;
