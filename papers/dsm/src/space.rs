//! The address space: its size, its servers, and the settings that all ranks must agree on.

use std::ops::Range;

use canele::{Flow, Op, Rank};

use crate::client::Client;
use crate::error::DsmError;
use crate::placement::Placement;
use crate::server::Server;

/// Most bytes of a page.
const MOST_PAGE_BYTES: usize = 1 << 26;
/// Most pages of an address space.
const MOST_PAGES: u32 = 1 << 24;

/// Size and distribution of an address space; equal on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Number of pages, which are zero at first.
    pub pages: u32,
    /// Bytes of a page, a multiple of 8.
    pub page_bytes: usize,
    /// Number of ranks that serve pages, from rank 0; all others are clients. A single rank is both.
    pub servers: u32,
    /// The distribution of pages over the servers.
    pub placement: Placement,
    /// The server that clients ask first for a page. If the page is not there they ask the other servers in
    /// turn, and remember the result.
    pub guess: Placement,
}

impl Default for Settings {
    /// Returns the settings for 64 pages of 65,536 bytes on one server.
    fn default() -> Self {
        Self {
            pages: 64,
            page_bytes: 1 << 16,
            servers: 1,
            placement: Placement::RoundRobin,
            guess: Placement::RoundRobin,
        }
    }
}

impl Settings {
    /// Checks the settings for a job of `ranks` ranks.
    ///
    /// # Errors
    /// Returns [`DsmError::Pages`], [`DsmError::PageBytes`] or [`DsmError::Servers`].
    pub fn check(&self, ranks: u32) -> Result<(), DsmError> {
        if self.pages == 0 || self.pages > MOST_PAGES {
            return Err(DsmError::Pages { pages: self.pages, most: MOST_PAGES });
        }
        let bytes = self.page_bytes;
        if bytes == 0 || bytes > MOST_PAGE_BYTES || !bytes.is_multiple_of(size_of::<u64>()) {
            return Err(DsmError::PageBytes { bytes, most: MOST_PAGE_BYTES });
        }
        let (servers, most) = (self.servers, if ranks == 1 { 1 } else { ranks - 1 });
        if servers == 0 || servers > most { Err(DsmError::Servers { servers, ranks }) } else { Ok(()) }
    }

    /// Returns the number of 8-byte items in a page.
    pub fn words(&self) -> usize {
        self.page_bytes / size_of::<u64>()
    }

    /// Returns the home of a page.
    pub fn home(&self, page: u32) -> u32 {
        self.placement.home(page, self.pages, self.servers)
    }

    /// Returns the server to ask first for a page.
    pub fn guess(&self, page: u32) -> u32 {
        self.guess.home(page, self.pages, self.servers)
    }

    fn compared(&self) -> [(&'static str, u64); 5] {
        [
            ("number of pages", self.pages.into()),
            ("bytes of a page", self.page_bytes as u64),
            ("number of servers", self.servers.into()),
            ("placement of pages", self.placement as u64),
            ("guess of the placement", self.guess as u64),
        ]
    }
}

/// An address space of pages that all ranks of a job share.
#[derive(Clone)]
pub struct AddressSpace {
    pub(crate) flow: Flow,
    settings: Settings,
}

impl AddressSpace {
    /// Makes an address space. All ranks call it, with the same settings and a flow without other messages
    /// ([`Flow::duplicate`]).
    ///
    /// # Errors
    /// Returns the errors of [`Settings::check`]; [`DsmError::Disagreement`], on all ranks, if the settings
    /// differ.
    pub fn new(flow: Flow, settings: Settings) -> Result<Self, DsmError> {
        settings.check(flow.size())?;
        let compared = settings.compared();
        // Reduces the largest value and the largest complement, which is that of the smallest value.
        let own = compared.map(|(_, value)| [value, !value]);
        let mut largest = [[0; 2]; 5];
        flow.allreduce(own.as_flattened(), largest.as_flattened_mut(), Op::Max)?;
        for ((what, own), [most, least]) in compared.into_iter().zip(largest) {
            if most != !least {
                return Err(DsmError::Disagreement { what, own });
            }
        }
        Ok(Self { flow, settings })
    }

    /// Returns size and distribution.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns this rank.
    pub fn rank(&self) -> Rank {
        self.flow.rank()
    }

    /// Returns true if this rank serves pages.
    pub fn is_server(&self) -> bool {
        self.flow.rank().0 < self.settings.servers
    }

    /// Returns the ranks that are clients.
    pub fn clients(&self) -> Range<u32> {
        let size = self.flow.size();
        if size == 1 { 0..1 } else { self.settings.servers..size }
    }

    /// Makes a page server of this rank, with zero pages.
    pub fn server(&self) -> Server {
        Server::new(self.clone())
    }

    /// Makes a client of this rank, without pages.
    pub fn client(&self) -> Client {
        Client::new(self.clone())
    }

    /// Runs `program` on each client while the servers serve; a rank that only serves returns none. The
    /// changes of a successful program are written back. Those of a failed program since its last release are
    /// lost.
    ///
    /// # Errors
    /// Returns the error of the program, or else of serving or of the goodbye.
    pub fn run<T, E: From<DsmError>>(
        &self,
        program: impl FnOnce(&mut Client) -> Result<T, E>,
    ) -> Result<Option<T>, E> {
        if self.flow.size() == 1 {
            return std::thread::scope(|threads| {
                let server = threads.spawn(|| self.server().serve());
                let result = self.run_client(program);
                let served = server.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                let value = result?;
                served.map_err(E::from)?;
                Ok(Some(value))
            });
        }
        if self.is_server() {
            self.server().serve()?;
            return Ok(None);
        }
        self.run_client(program).map(Some)
    }

    fn run_client<T, E: From<DsmError>>(
        &self,
        program: impl FnOnce(&mut Client) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut client = self.client();
        let value = program(&mut client)?;
        client.finish()?;
        Ok(value)
    }

    pub(crate) fn check_page(&self, page: u32) -> Result<(), DsmError> {
        let pages = self.settings.pages;
        if page < pages { Ok(()) } else { Err(DsmError::PageOutOfRange { page, pages }) }
    }

    pub(crate) fn servers(&self) -> impl Iterator<Item = Rank> + use<> {
        (0..self.settings.servers).map(Rank)
    }
}
