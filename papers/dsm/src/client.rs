//! A client, which reads and writes pages that live on servers.

use std::ops::Range;

use canele::Plain;
use canele::bytemuck::{cast_slice, cast_slice_mut};

use crate::cache::{Access, PageCache};
use crate::error::DsmError;
use crate::fetch::{Fetch, FetchTimes, Fetched, Homes};
use crate::mapping::Mapping;
use crate::space::AddressSpace;
use crate::traffic::Traffic;
use crate::wire::{
    BARRIER_SERVER, DONE, MOST_OUTSTANDING, Operation, Request, in_scope, pack_request, protocol_error,
};

/// A client's view of an address space, and its cached pages. Made by [`AddressSpace::client`] or
/// [`AddressSpace::run`].
///
/// A page appears as a slice that borrows the client, so no page changes or disappears during its use. A
/// dropped client says goodbye like [`Client::abandon`].
pub struct Client {
    space: AddressSpace,
    cache: PageCache,
    homes: Homes,
    traffic: Traffic,
    /// True if the servers wait for this client's goodbye.
    is_present: bool,
}

impl Client {
    pub(crate) fn new(space: AddressSpace) -> Self {
        let (cache, homes, traffic) = (PageCache::default(), Homes::default(), Traffic::default());
        Self { space, cache, homes, traffic, is_present: true }
    }

    /// Returns the address space.
    pub fn space(&self) -> &AddressSpace {
        &self.space
    }

    /// Returns the counts of this client's requests so far.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// Maps a range of pages as items of type `T`. Nothing is fetched.
    ///
    /// # Errors
    /// Returns [`DsmError::RangeOutOfSpace`], or [`DsmError::Items`] if items of this type do not divide a
    /// page.
    pub fn map<T: Plain>(&self, pages: Range<u32>) -> Result<Mapping<T>, DsmError> {
        Mapping::new(pages, self.space.settings())
    }

    /// Returns a page for reading: the cached copy, or, after a read fault, a new one.
    ///
    /// # Errors
    /// Returns [`DsmError::PageOutOfMapping`] or [`DsmError::NotFound`], or a server died.
    pub fn read<T: Plain>(&mut self, mapping: &Mapping<T>, page: u32) -> Result<&[T], DsmError> {
        let number = self.number(mapping, page)?;
        if !self.cache.has(number, Access::Read) {
            self.traffic.read_faults += 1;
            self.fetch(&[number], Access::Read, false)?;
        }
        self.cached(mapping, page)
            .ok_or(DsmError::NotFound { page: number, servers: self.space.settings().servers })
    }

    /// Returns pages for reading, and requests all missing ones at once.
    ///
    /// # Errors
    /// Returns the errors of [`Client::read`].
    pub fn read_many<T: Plain>(
        &mut self,
        mapping: &Mapping<T>,
        pages: &[u32],
    ) -> Result<Vec<&[T]>, DsmError> {
        self.prefetch(mapping, pages.iter().copied(), Access::Read)?;
        let servers = self.space.settings().servers;
        let page =
            |page: &u32| self.cached(mapping, *page).ok_or(DsmError::NotFound { page: *page, servers });
        pages.iter().map(page).collect()
    }

    /// Returns a cached page; several may be used together.
    pub fn cached<T: Plain>(&self, mapping: &Mapping<T>, page: u32) -> Option<&[T]> {
        let cached = self.cache.get(self.number(mapping, page).ok()?)?;
        Some(cast_slice(&cached.words))
    }

    /// Returns a page for writing and reading. This client alone may write it until it is written back. The
    /// content is that of the last write-back. If another client has write access, this one waits for it.
    ///
    /// # Errors
    /// Returns the errors of [`Client::read`]; [`DsmError::Held`] if it had to wait for a page while it holds
    /// one with a higher number.
    pub fn write<T: Plain>(&mut self, mapping: &Mapping<T>, page: u32) -> Result<&mut [T], DsmError> {
        let number = self.number(mapping, page)?;
        if !self.cache.has(number, Access::Write) {
            self.traffic.write_faults += 1;
            let highest = self.cache.highest_held().filter(|held| *held > number);
            let fetched = self.fetch(&[number], Access::Write, highest.is_none())?;
            if let (Some((page, holder)), Some(held)) = (fetched.held.first(), highest) {
                return Err(DsmError::Held { page: *page, holder: *holder, held });
            }
        }
        let servers = self.space.settings().servers;
        let cached = self.cache.get_mut(number).filter(|cached| cached.access == Access::Write);
        let cached = cached.ok_or(DsmError::NotFound { page: number, servers })?;
        cached.is_dirty = true;
        Ok(cast_slice_mut(&mut cached.words))
    }

    /// Fetches the missing pages, with all requests outstanding at once (at most 256). For writing it takes
    /// only pages that no other client holds.
    ///
    /// # Errors
    /// Returns the errors of [`Client::read`].
    pub fn prefetch<T: Plain>(
        &mut self,
        mapping: &Mapping<T>,
        pages: impl IntoIterator<Item = u32>,
        access: Access,
    ) -> Result<FetchTimes, DsmError> {
        let numbers = pages.into_iter().map(|page| self.number(mapping, page));
        let mut missing = numbers.collect::<Result<Vec<u32>, DsmError>>()?;
        missing.retain(|page| !self.cache.has(*page, access));
        missing.sort_unstable();
        missing.dedup();
        let fetched = self.fetch(&missing, access, false)?;
        self.traffic.prefetched += (missing.len() - fetched.held.len()) as u64;
        Ok(fetched.times)
    }

    /// Writes a page back to its home, and ends the write access to it. A read copy stays.
    ///
    /// # Errors
    /// Returns [`DsmError::NotHeld`] or [`DsmError::PageOutOfMapping`], or its server died.
    pub fn write_back<T: Plain>(&mut self, mapping: &Mapping<T>, page: u32) -> Result<(), DsmError> {
        let number = self.number(mapping, page)?;
        if !self.cache.has(number, Access::Write) {
            return Err(DsmError::NotHeld { page: number });
        }
        self.bring_home(&[number])
    }

    /// Writes back all pages that this client has write access to.
    ///
    /// # Errors
    /// A server died.
    pub fn release(&mut self) -> Result<(), DsmError> {
        let held = self.cache.held();
        held.chunks(MOST_OUTSTANDING).try_for_each(|window| self.bring_home(window))
    }

    /// Drops all read copies, so that later reads see the write-backs of others.
    pub fn acquire(&mut self) {
        self.cache.drop_read_copies();
    }

    /// Writes pages back, waits until all present clients have called it too, and drops all read copies.
    ///
    /// # Errors
    /// A server died.
    pub fn barrier(&mut self) -> Result<(), DsmError> {
        self.release()?;
        self.is_present = true;
        in_scope(&self.space.flow, |scope| {
            Ok(pack_request(scope, BARRIER_SERVER, &self.request(0, Operation::Barrier))?.end()?)
        })?;
        self.space.flow.recv(BARRIER_SERVER, DONE, &mut [0_u32])?;
        self.acquire();
        Ok(())
    }

    /// Writes pages back, drops all pages and says goodbye to the servers. The client may continue once its
    /// servers serve again.
    ///
    /// # Errors
    /// A server died.
    pub fn finish(&mut self) -> Result<(), DsmError> {
        self.release()?;
        self.acquire();
        self.say_goodbye()
    }

    /// Says goodbye to the servers; changes that were not written back are lost.
    ///
    /// # Errors
    /// A server died.
    pub fn abandon(&mut self) -> Result<(), DsmError> {
        self.cache.clear();
        self.say_goodbye()
    }

    fn say_goodbye(&mut self) -> Result<(), DsmError> {
        if !std::mem::take(&mut self.is_present) {
            return Ok(());
        }
        in_scope(&self.space.flow, |scope| {
            for server in self.space.servers() {
                pack_request(scope, server, &self.request(0, Operation::Goodbye))?.end()?;
            }
            Ok(())
        })
    }

    /// Sends pages to their homes, changed ones with their content, and waits until they have arrived.
    fn bring_home(&mut self, pages: &[u32]) -> Result<(), DsmError> {
        let (cache, homes, space) = (&self.cache, &self.homes, &self.space);
        in_scope(&space.flow, |scope| {
            for page in pages {
                let Some(cached) = cache.get(*page) else { continue };
                let operation = if cached.is_dirty { Operation::WriteBack } else { Operation::GiveUp };
                let request = self.request(*page, operation);
                let mut packer = pack_request(scope, homes.server(space, *page), &request)?;
                if cached.is_dirty {
                    packer.cheaper(&cached.words)?;
                }
                packer.end()?;
            }
            Ok(())
        })?;
        for page in pages {
            let (server, mut done) = (homes.server(space, *page), [0_u32]);
            space.flow.recv(server, DONE, &mut done)?;
            if done[0] != *page {
                return Err(protocol_error(
                    server,
                    format!("page {} as written back instead of {page}", done[0]),
                ));
            }
        }
        for page in pages {
            self.traffic.written_back +=
                u64::from(self.cache.get(*page).is_some_and(|cached| cached.is_dirty));
            self.cache.end_write(*page);
        }
        Ok(())
    }

    fn fetch(&mut self, pages: &[u32], access: Access, deferrable: bool) -> Result<Fetched, DsmError> {
        let Self { space, cache, homes, traffic, is_present } = self;
        *is_present |= !pages.is_empty();
        Fetch { space, cache, homes, traffic, access, deferrable }.fetch(pages)
    }

    /// Returns the number of a mapping's page in this address space.
    fn number<T: Plain>(&self, mapping: &Mapping<T>, page: u32) -> Result<u32, DsmError> {
        let number = mapping.number(page)?;
        self.space.check_page(number)?;
        let page = self.space.settings().page_bytes;
        let (item, align) = (size_of::<T>(), align_of::<T>());
        if page.is_multiple_of(item) { Ok(number) } else { Err(DsmError::Items { item, align, page }) }
    }

    fn request(&self, page: u32, operation: Operation) -> Request {
        let client = self.space.flow.rank().0;
        Request { client, page, deferrable: false, more_follow: false, operation }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Dead servers wait for no goodbye.
        let _ = self.abandon();
    }
}
