//! The pages that a client has cached. Knows no messages.

use std::collections::BTreeMap;

/// The access of a client to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read a copy.
    Read,
    /// Read and write, as the only client that writes.
    Write,
}

/// A page in a client's memory.
#[derive(Debug)]
pub(crate) struct CachedPage {
    pub words: Vec<u64>,
    pub access: Access,
    /// True if it was written, or could have been, since the client has write access.
    pub is_dirty: bool,
}

/// The pages of a client by number, and the memory of dropped ones for reuse.
#[derive(Debug, Default)]
pub(crate) struct PageCache {
    pages: BTreeMap<u32, CachedPage>,
    spare: Vec<Vec<u64>>,
}

impl PageCache {
    pub fn get(&self, page: u32) -> Option<&CachedPage> {
        self.pages.get(&page)
    }

    pub fn get_mut(&mut self, page: u32) -> Option<&mut CachedPage> {
        self.pages.get_mut(&page)
    }

    /// Returns true if the page is cached with at least this access.
    pub fn has(&self, page: u32, access: Access) -> bool {
        self.get(page).is_some_and(|cached| access == Access::Read || cached.access == Access::Write)
    }

    /// Returns memory of `words` words for a page, with undefined content.
    pub fn memory(&mut self, words: usize) -> Vec<u64> {
        self.spare.pop().unwrap_or_else(|| vec![0; words])
    }

    /// Inserts a fetched page, and replaces an older copy.
    pub fn insert(&mut self, page: u32, words: Vec<u64>, access: Access) {
        let before = self.pages.insert(page, CachedPage { words, access, is_dirty: false });
        self.spare.extend(before.map(|cached| cached.words));
    }

    /// Keeps memory that no page was fetched into.
    pub fn keep_spare(&mut self, words: Vec<u64>) {
        self.spare.push(words);
    }

    /// Returns the pages with write access, in ascending order.
    pub fn held(&self) -> Vec<u32> {
        self.pages
            .iter()
            .filter(|(_, cached)| cached.access == Access::Write)
            .map(|(page, _)| *page)
            .collect()
    }

    /// Returns the highest page with write access.
    pub fn highest_held(&self) -> Option<u32> {
        self.pages.iter().rev().find(|(_, cached)| cached.access == Access::Write).map(|(page, _)| *page)
    }

    /// Ends write access to a page; its content stays as a read copy.
    pub fn end_write(&mut self, page: u32) {
        if let Some(cached) = self.pages.get_mut(&page) {
            cached.access = Access::Read;
            cached.is_dirty = false;
        }
    }

    /// Drops the copies with read access only.
    pub fn drop_read_copies(&mut self) {
        let dropped = self.pages.extract_if(.., |_, cached| cached.access == Access::Read);
        self.spare.extend(dropped.map(|(_, cached)| cached.words));
    }

    /// Drops all pages.
    pub fn clear(&mut self) {
        self.pages.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acquire_keeps_what_is_held() {
        let mut cache = PageCache::default();
        cache.insert(4, vec![4], Access::Write);
        cache.insert(9, vec![9], Access::Read);
        cache.insert(2, vec![2], Access::Write);
        assert!(cache.has(4, Access::Read) && cache.has(9, Access::Read) && !cache.has(9, Access::Write));
        assert_eq!((cache.held(), cache.highest_held()), (vec![2, 4], Some(4)));
        cache.drop_read_copies();
        assert!(cache.get(9).is_none() && cache.has(4, Access::Write));
        assert_eq!(cache.memory(1), [9], "memory is used again");
        cache.end_write(4);
        assert_eq!((cache.held(), cache.get(4).unwrap().words[0]), (vec![2], 4));
    }
}
