//! The operation that a thread waits for, passed down to the place where it sleeps, and described there. A
//! call that ends earlier pays nothing.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use canele_collective::Transfer;
use canele_control::{ThreadWait, WaitCollective, WaitMessage, WaitOperation, Waits};
use canele_proto::PendingOperation;
use canele_proto::matching::Want;
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

use crate::core::Core;
use crate::p2p::pending::{Pending, PendingKind};

/// The duration after which a thread that sleeps again publishes its wait in shared memory.
const TOLD_AFTER: Duration = Duration::from_millis(500);

/// The number of looks after which a thread that never sleeps counts as waiting.
const LONG_LOOK: u32 = 1 << 14;

/// The operation that a thread waits for.
#[derive(Clone, Copy)]
pub(crate) enum Awaited<'a> {
    /// The end of a request.
    Request(RequestId),
    /// The end of any of several operations.
    AnyOf(&'a [Pending]),
    /// The end of any of several operations, or an action of the program.
    AnyOfOrProgram(&'a [Pending]),
    /// A message that a receive would get.
    Probe(FlowId, Want),
    /// The other members of a collective.
    Collective(CollectiveCall<'a>),
    /// Another event, in words that follow "waits for", and the rank that it depends on.
    Other(&'static str, Option<Rank>),
    /// Another event, in words that are made when they are needed.
    Words(&'a dyn Fn() -> String),
    /// The end of the job: a thread of the library.
    End,
}

/// A blocking collective, and the rest of its round.
#[derive(Clone, Copy)]
pub(crate) struct CollectiveCall<'a> {
    pub operation: &'static str,
    pub flow: FlowId,
    pub tag: Tag,
    pub sends: &'a [Transfer],
    pub receives: &'a [Transfer],
}

/// One wait of a thread.
pub(crate) struct Waiting<'a> {
    pub awaited: Awaited<'a>,
    /// The time at which it was noted.
    noted: Option<Instant>,
    is_told: bool,
    /// True if it is recorded for a trace.
    is_traced: bool,
    ends_otherwise: bool,
    looks: u32,
}

impl<'a> Waiting<'a> {
    pub fn new(awaited: Awaited<'a>, ends_otherwise: bool) -> Self {
        Self { awaited, noted: None, is_told: false, is_traced: false, ends_otherwise, looks: 0 }
    }

    /// Records the wait, once, if this rank is traced.
    #[inline]
    pub fn trace(&mut self, core: &Core) {
        if core.tracer.is_some() && !self.is_traced {
            self.is_traced = core.begin_wait(&self.awaited);
        }
    }

    /// Returns the request, if the thread waits for its end alone.
    pub fn request(&self) -> Option<RequestId> {
        match self.awaited {
            Awaited::Request(id) => Some(id),
            Awaited::AnyOf([one]) => one.request(),
            _ => None,
        }
    }

    /// Notes the wait of a thread that is about to sleep, and publishes it if it lasts.
    #[cold]
    pub fn before_sleep(&mut self, core: &mut Core) {
        let now = Instant::now();
        match self.noted {
            None => self.note(core, now),
            Some(at) if !self.is_told && now - at >= TOLD_AFTER => {
                self.is_told = true;
                core.publish_lasting_waits();
            }
            Some(_) => {}
        }
    }

    /// Counts a look without a sleep.
    #[inline]
    pub fn after_look(&mut self, core: &mut Core) {
        self.looks += 1;
        if self.looks == LONG_LOOK && self.noted.is_none() {
            self.note(core, Instant::now());
        }
    }

    #[cold]
    fn note(&mut self, core: &mut Core, now: Instant) {
        self.noted = Some(now);
        let wait = ThreadWait { ends_otherwise: self.ends_otherwise, ..self.awaited.describe(core) };
        core.stats.waits.note(wait);
    }

    /// Ends the wait.
    #[inline]
    pub fn end(&self, core: &mut Core) {
        if self.is_traced {
            core.end_wait();
        }
        if self.noted.is_some() {
            core.forget_wait();
        }
    }
}

impl Awaited<'_> {
    /// Describes the wait by the present state of the protocols.
    fn describe(self, core: &Core) -> ThreadWait {
        let mut left_out = 0;
        let operations = match self {
            Self::Request(id) => vec![core.describe_request(id)],
            Self::AnyOf(list) | Self::AnyOfOrProgram(list) => {
                left_out = list.len().saturating_sub(Waits::MOST_OPERATIONS) as u32;
                list.iter().take(Waits::MOST_OPERATIONS).map(|one| core.describe_pending(*one)).collect()
            }
            Self::Probe(flow, want) => vec![WaitOperation::Probe(WaitMessage {
                peer: want.source.map(|rank| rank.0),
                flow: Some(flow.0),
                tag: want.tag.map(|tag| tag.0),
                ..WaitMessage::default()
            })],
            Self::Collective(call) => vec![WaitOperation::Collective(call.describe())],
            Self::Other(what, peer) => {
                vec![WaitOperation::Other { what: what.into(), peer: peer.map(|peer| peer.0) }]
            }
            Self::Words(words) => {
                let what = Waits::shortened(&words()).to_owned().into();
                vec![WaitOperation::Other { what, peer: None }]
            }
            Self::End => vec![WaitOperation::Library],
        };
        ThreadWait { operations, left_out, ..ThreadWait::default() }
    }
}

impl CollectiveCall<'_> {
    fn describe(self) -> WaitCollective {
        // Without receives the ranks matter that are to take a message.
        let transfers = if self.receives.is_empty() { self.sends } else { self.receives };
        let peers = transfers.iter().map(|transfer| transfer.peer().0);
        describe_collective(self.operation, (self.flow, self.tag), peers)
    }
}

/// Describes a collective whose call has this tag, which waits for these ranks.
fn describe_collective(
    operation: &'static str,
    (flow, tag): (FlowId, Tag),
    peers: impl Iterator<Item = u32>,
) -> WaitCollective {
    let (call, started) = canele_collective::Calls::number_of(tag);
    let mut peers: Vec<u32> = peers.collect();
    let peers_left_out = peers.len().saturating_sub(Waits::MOST_PEERS) as u32;
    peers.truncate(Waits::MOST_PEERS);
    WaitCollective { operation: Cow::Borrowed(operation), flow: flow.0, call, started, peers, peers_left_out }
}

impl Core {
    fn describe_request(&self, id: RequestId) -> WaitOperation {
        let Some(pending) = self.lane.proto.pending_operation(id) else {
            return WaitOperation::Other { what: "the end of an operation".into(), peer: None };
        };
        let PendingOperation { is_send, peer, flow, tag, bytes, is_moving } = pending;
        let message = WaitMessage {
            peer: peer.map(|peer| peer.0),
            flow: flow.map(|flow| flow.0),
            tag: tag.map(|tag| tag.0),
            bytes: bytes as u64,
            moving: is_moving,
        };
        if is_send { WaitOperation::Send(message) } else { WaitOperation::Receive(message) }
    }

    fn describe_pending(&self, pending: Pending) -> WaitOperation {
        match pending.kind {
            PendingKind::Request(id) => self.describe_request(id),
            PendingKind::Coalesced(_) => {
                WaitOperation::Other { what: "a short message to leave".into(), peer: None }
            }
            PendingKind::Rma(_) => {
                WaitOperation::Other { what: "an access to memory of another rank".into(), peer: None }
            }
            PendingKind::Collective(key) => match self.collectives.under_way(key) {
                Some((request, operation)) => {
                    let peers = request.missing().map(|rank| rank.0);
                    WaitOperation::Collective(describe_collective(operation, request.name(), peers))
                }
                None => WaitOperation::Other { what: "an operation among several ranks".into(), peer: None },
            },
        }
    }
}
