//! A range of pages as items of a type.

use std::marker::PhantomData;
use std::ops::Range;

use canele::Plain;

use crate::error::DsmError;
use crate::space::Settings;

/// A range of pages that hold items of type `T`, made by [`Client::map`](crate::Client::map). Its pages are numbered from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping<T> {
    first: u32,
    pages: u32,
    page_bytes: usize,
    items: PhantomData<fn() -> T>,
}

impl<T: Plain> Mapping<T> {
    pub(crate) fn new(pages: Range<u32>, settings: &Settings) -> Result<Self, DsmError> {
        let (first, end) = (pages.start, pages.end);
        if first > end || end > settings.pages {
            return Err(DsmError::RangeOutOfSpace { first, end, pages: settings.pages });
        }
        let (item, align, page) = (size_of::<T>(), align_of::<T>(), settings.page_bytes);
        if item == 0 || align > align_of::<u64>() || !page.is_multiple_of(item) {
            return Err(DsmError::Items { item, align, page });
        }
        Ok(Self { first, pages: end - first, page_bytes: page, items: PhantomData })
    }

    /// Returns the number of pages.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Returns the number of items in a page.
    pub fn items_per_page(&self) -> usize {
        self.page_bytes / size_of::<T>()
    }

    /// Returns the page of an item of the range, and its place there; the page may lie after the range.
    pub fn locate(&self, item: u64) -> (u64, usize) {
        let per_page = self.items_per_page() as u64;
        (item / per_page, (item % per_page) as usize)
    }

    /// Returns the number of a page in the address space.
    ///
    /// # Errors
    /// Returns [`DsmError::PageOutOfMapping`] if the mapping has no such page.
    pub fn number(&self, page: u32) -> Result<u32, DsmError> {
        if page < self.pages {
            Ok(self.first + page)
        } else {
            Err(DsmError::PageOutOfMapping { page, pages: self.pages })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map<T: Plain>(pages: Range<u32>) -> Result<Mapping<T>, DsmError> {
        Mapping::new(pages, &Settings { pages: 10, page_bytes: 48, ..Settings::default() })
    }

    #[test]
    fn items_have_places() {
        let mapping = map::<u32>(4..10).unwrap();
        assert_eq!((mapping.pages(), mapping.items_per_page()), (6, 12));
        assert_eq!(mapping.locate(25), (2, 1));
        assert_eq!(mapping.number(5).unwrap(), 9);
        assert!(matches!(mapping.number(6), Err(DsmError::PageOutOfMapping { page: 6, pages: 6 })));
    }

    #[test]
    #[allow(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    fn ranges_and_items_that_do_not_fit_are_refused() {
        assert!(map::<u8>(0..0).is_ok());
        assert!(matches!(map::<u8>(3..11), Err(DsmError::RangeOutOfSpace { end: 11, .. })));
        assert!(matches!(map::<u8>(3..2), Err(DsmError::RangeOutOfSpace { .. })));
        assert!(matches!(map::<[u8; 5]>(0..1), Err(DsmError::Items { item: 5, .. })));
        assert!(matches!(map::<()>(0..1), Err(DsmError::Items { item: 0, .. })));
        assert!(matches!(map::<u128>(0..1), Err(DsmError::Items { .. })));
    }
}
