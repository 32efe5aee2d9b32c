//! A page server: answers requests until all clients have said goodbye.

use std::collections::BTreeSet;

use canele::{ANY_SOURCE, Rank, Scope, Source};

use crate::access::{AccessTable, WriteVerdict};
use crate::error::DsmError;
use crate::space::AddressSpace;
use crate::wire::{
    BARRIER_SERVER, DONE, Finding, MOST_OUTSTANDING, Operation, REQUEST, Request, check_announced, in_scope,
    protocol_error, send_answer, unpack_request,
};

/// Counts of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// Requests for pages.
    pub requests: u64,
    /// Requests for pages that live on other servers.
    pub not_found: u64,
    /// Requests for write access that were answered later, because another client held the page.
    pub deferred: u64,
    /// Pages that were written back.
    pub written_back: u64,
}

/// The pages that have their home on this rank. Made by [`AddressSpace::server`].
pub struct Server {
    space: AddressSpace,
    /// The pages by number; none for pages that live on other servers.
    pages: Vec<Option<Vec<u64>>>,
    access: AccessTable,
    /// Clients that have not said goodbye.
    present: BTreeSet<u32>,
    /// Clients that wait at a barrier.
    at_barrier: BTreeSet<u32>,
    served: Served,
}

impl Server {
    pub(crate) fn new(space: AddressSpace) -> Self {
        let settings = space.settings();
        let own = space.flow.rank().0;
        let page = |page| (settings.home(page) == own).then(|| vec![0; settings.words()]);
        Self {
            pages: (0..settings.pages).map(page).collect(),
            access: AccessTable::default(),
            present: BTreeSet::new(),
            at_barrier: BTreeSet::new(),
            served: Served::default(),
            space,
        }
    }

    /// Serves until all clients have said goodbye. It may be called again for clients that continue after a
    /// barrier of the job.
    ///
    /// # Errors
    /// A client died or violated the protocol ([`DsmError::Protocol`]).
    pub fn serve(&mut self) -> Result<Served, DsmError> {
        self.served = Served::default();
        self.present = self.space.clients().collect();
        let mut next = None;
        while !self.present.is_empty() {
            let request = match next.take() {
                Some(request) => request,
                None => self.receive()?,
            };
            if request.operation.is_fetch() {
                next = self.answer_all(request)?;
            } else {
                self.handle(&request)?;
            }
        }
        Ok(self.served)
    }

    fn receive(&self) -> Result<Request, DsmError> {
        in_scope(&self.space.flow, |scope| next_request(scope, ANY_SOURCE, &self.present))
    }

    /// Answers a request for a page, and following requests that are waiting, so that their pages leave
    /// together. Returns an unanswered request: the first one that is not for a page, or exceeds the limit.
    fn answer_all(&mut self, first: Request) -> Result<Option<Request>, DsmError> {
        let Self { space, pages, access, present, served, .. } = self;
        let (flow, pages) = (&space.flow, &*pages);
        in_scope(flow, |scope| {
            let mut request = first;
            for _ in 0..MOST_OUTSTANDING {
                if !request.operation.is_fetch() {
                    break;
                }
                served.requests += 1;
                let finding = find(pages, access, &request)?;
                served.not_found += u64::from(finding == Some(Finding::NotFound));
                served.deferred += u64::from(finding.is_none());
                if let Some(finding) = finding {
                    send_answer(scope, Rank(request.client), request.page, finding)?;
                }
                let from = if request.more_follow {
                    Rank(request.client)
                } else {
                    let Some(waiting) = flow.iprobe(ANY_SOURCE, REQUEST)? else { return Ok(None) };
                    waiting.source
                };
                request = next_request(scope, from.into(), present)?;
            }
            Ok(Some(request))
        })
    }

    /// Carries out a request that is not for a page.
    fn handle(&mut self, request: &Request) -> Result<(), DsmError> {
        let client = Rank(request.client);
        match request.operation {
            Operation::Read | Operation::Write => Ok(()),
            Operation::WriteBack | Operation::GiveUp => self.take_back(client, request),
            Operation::Barrier if self.space.flow.rank() == BARRIER_SERVER => {
                self.at_barrier.insert(client.0);
                self.open_barrier()
            }
            Operation::Barrier => {
                Err(protocol_error(client, "a barrier, which is not at this server".to_owned()))
            }
            Operation::Goodbye => {
                self.present.remove(&client.0);
                for (page, next) in self.access.remove_client(client.0) {
                    self.grant(page, Rank(next))?;
                }
                self.open_barrier()
            }
        }
    }

    /// Ends a client's write access to a page, and takes the page back if it was changed.
    fn take_back(&mut self, client: Rank, request: &Request) -> Result<(), DsmError> {
        let (flow, page) = (&self.space.flow, request.page);
        let is_held = self.access.is_held_by(page, client.0);
        let words = self.pages.get_mut(page as usize).and_then(Option::as_mut).filter(|_| is_held);
        let words = words
            .ok_or_else(|| protocol_error(client, format!("page {page} back, which it does not hold")))?;
        if request.operation == Operation::WriteBack {
            check_announced(flow, client, REQUEST, page, size_of_val(&words[..]))?;
            in_scope(flow, |scope| Ok(scope.unpack(client, REQUEST).cheaper(words)?))?;
            self.served.written_back += 1;
        }
        flow.send(client, DONE, &[page])?;
        match self.access.release(page) {
            Some(next) => self.grant(page, Rank(next)),
            None => Ok(()),
        }
    }

    /// Sends a page to a client that has waited for write access.
    fn grant(&self, page: u32, client: Rank) -> Result<(), DsmError> {
        let words = self.pages.get(page as usize).and_then(Option::as_deref);
        let finding = words.map_or(Finding::NotFound, Finding::Found);
        in_scope(&self.space.flow, |scope| Ok(send_answer(scope, client, page, finding)?))
    }

    /// Opens the barrier if all present clients wait at it.
    fn open_barrier(&mut self) -> Result<(), DsmError> {
        if self.at_barrier.len() < self.present.len() {
            return Ok(());
        }
        for client in std::mem::take(&mut self.at_barrier) {
            self.space.flow.send(Rank(client), DONE, &[0_u32])?;
        }
        Ok(())
    }
}

/// Returns the next request, which must come from a present client.
fn next_request(scope: &Scope<'_, '_>, from: Source, present: &BTreeSet<u32>) -> Result<Request, DsmError> {
    let request = unpack_request(scope, from)?;
    if present.contains(&request.client) {
        return Ok(request);
    }
    let what = "a request, though it is no client or has said goodbye".to_owned();
    Err(protocol_error(Rank(request.client), what))
}

/// Returns the finding for a page request; none if the answer is deferred.
fn find<'a>(
    pages: &'a [Option<Vec<u64>>],
    access: &mut AccessTable,
    request: &Request,
) -> Result<Option<Finding<&'a [u64]>>, DsmError> {
    let &Request { page, client, deferrable, .. } = request;
    let Some(words) = pages.get(page as usize).and_then(Option::as_deref) else {
        return Ok(Some(Finding::NotFound));
    };
    if request.operation == Operation::Read {
        return Ok(Some(Finding::Found(words)));
    }
    let verdict = access.request(page, client, deferrable);
    match verdict.ok_or_else(|| protocol_error(Rank(client), format!("two requests to write page {page}")))? {
        WriteVerdict::Granted => Ok(Some(Finding::Found(words))),
        WriteVerdict::HeldBy(holder) => Ok(Some(Finding::Held(holder))),
        WriteVerdict::Deferred => Ok(None),
    }
}
