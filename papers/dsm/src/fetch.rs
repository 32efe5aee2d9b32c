//! Fetches pages: all requests go first, then the answers arrive. A page that a server does not have is
//! requested from the next one.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use canele::Rank;

use crate::cache::{Access, PageCache};
use crate::error::DsmError;
use crate::space::AddressSpace;
use crate::traffic::Traffic;
use crate::wire::{Finding, MOST_OUTSTANDING, Operation, Request, in_scope, pack_request, unpack_answer};

/// The times of a fetch of pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FetchTimes {
    /// Time until all requests were answered, all pages announced, and the announcements answered: requests
    /// and rendezvous.
    pub requests: Duration,
    /// Time until all pages were there.
    pub whole: Duration,
}

impl FetchTimes {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.whole += other.whole;
    }
}

/// The servers on which pages were found. A client need not know the placement: it asks in turn, and
/// remembers.
#[derive(Debug, Default)]
pub(crate) struct Homes {
    found: BTreeMap<u32, u32>,
}

impl Homes {
    /// Returns the server that has the page, as far as known.
    pub fn server(&self, space: &AddressSpace, page: u32) -> Rank {
        let guess = || space.settings().guess(page);
        Rank(self.found.get(&page).copied().unwrap_or_else(guess))
    }

    /// Notes that the server did not have the page; the next request goes to the next server.
    fn pass_on(&mut self, space: &AddressSpace, page: u32) {
        let next = (self.server(space, page).0 + 1) % space.settings().servers;
        self.found.insert(page, next);
    }
}

/// A client's side of fetching.
pub(crate) struct Fetch<'a> {
    pub space: &'a AddressSpace,
    pub cache: &'a mut PageCache,
    pub homes: &'a mut Homes,
    pub traffic: &'a mut Traffic,
    pub access: Access,
    /// True if the server may answer later; then only one page is requested.
    pub deferrable: bool,
}

/// The result of a fetch.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    pub times: FetchTimes,
    /// Pages that other clients hold, each with its holder; they were not fetched.
    pub held: Vec<(u32, Rank)>,
}

impl Fetch<'_> {
    /// Fetches pages, given in ascending order without repetition.
    pub fn fetch(&mut self, pages: &[u32]) -> Result<Fetched, DsmError> {
        let mut fetched = Fetched::default();
        for window in pages.chunks(MOST_OUTSTANDING) {
            let mut missing = window.to_vec();
            for _ in 0..self.space.settings().servers {
                if !missing.is_empty() {
                    missing = self.ask_once(&missing, &mut fetched)?;
                }
            }
            if let Some(page) = missing.first() {
                return Err(DsmError::NotFound { page: *page, servers: self.space.settings().servers });
            }
        }
        Ok(fetched)
    }

    /// Requests each page from one server; returns those that were not found there.
    fn ask_once(&mut self, pages: &[u32], fetched: &mut Fetched) -> Result<Vec<u32>, DsmError> {
        let mut memory: Vec<Vec<u64>> =
            pages.iter().map(|_| self.cache.memory(self.space.settings().words())).collect();
        let mut findings = BTreeMap::new();
        let asked = self.transfer(pages, &mut memory, &mut findings, fetched);
        let mut missing = Vec::new();
        for (page, words) in pages.iter().zip(memory) {
            match findings.get(page) {
                Some(Finding::Found(())) if asked.is_ok() => self.cache.insert(*page, words, self.access),
                other => {
                    self.cache.keep_spare(words);
                    match other {
                        Some(Finding::NotFound) => missing.push(*page),
                        Some(Finding::Held(by)) => fetched.held.push((*page, Rank(*by))),
                        _ => {}
                    }
                }
            }
        }
        self.traffic.requests += pages.len() as u64;
        self.traffic.not_found += missing.len() as u64;
        missing.iter().for_each(|page| self.homes.pass_on(self.space, *page));
        asked.map(|()| missing)
    }

    /// Exchanges requests and answers with all servers concerned; afterwards `memory` has the pages that were
    /// found.
    fn transfer(
        &self,
        pages: &[u32],
        memory: &mut [Vec<u64>],
        findings: &mut BTreeMap<u32, Finding<()>>,
        fetched: &mut Fetched,
    ) -> Result<(), DsmError> {
        let begin = Instant::now();
        let mut places: BTreeMap<u32, &mut [u64]> =
            pages.iter().copied().zip(memory.iter_mut().map(Vec::as_mut_slice)).collect();
        let by_server = self.by_server(pages);
        let requests = in_scope(&self.space.flow, |scope| {
            for (server, pages) in &by_server {
                for (place, page) in pages.iter().enumerate() {
                    let request = self.request(*page, place + 1 < pages.len());
                    pack_request(scope, *server, &request)?.end()?;
                }
            }
            for (server, pages) in &by_server {
                for _ in pages {
                    let (page, finding) = unpack_answer(scope, *server, |page| {
                        if pages.binary_search(&page).is_ok() { places.remove(&page) } else { None }
                    })?;
                    findings.insert(page, finding);
                }
            }
            Ok(begin.elapsed())
        })?;
        fetched.times.add(FetchTimes { requests, whole: begin.elapsed() });
        Ok(())
    }

    fn by_server(&self, pages: &[u32]) -> BTreeMap<Rank, Vec<u32>> {
        let mut by_server = BTreeMap::<Rank, Vec<u32>>::new();
        for page in pages {
            by_server.entry(self.homes.server(self.space, *page)).or_default().push(*page);
        }
        by_server
    }

    fn request(&self, page: u32, more_follow: bool) -> Request {
        let operation = match self.access {
            Access::Read => Operation::Read,
            Access::Write => Operation::Write,
        };
        let client = self.space.flow.rank().0;
        Request { client, page, deferrable: self.deferrable, more_follow, operation }
    }
}
