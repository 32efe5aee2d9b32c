//! The handshake of a connection: both ends prove that they know the job's key.
//!
//! Owns the messages of both ends before the first frame, and the decisions about them. The proofs are those
//! of [`canele_secure::MutualProof`], with nonces. Never reads a socket, a clock or a source of randomness.
//! Reads a fixed number of bytes, whatever the other end sends.
//!
//! ```text
//!   initiator                                                responder
//!      ── magic, version (8) │ nonce (32) │ sealed hello (32), tag (16) ──▶
//!      ◀── magic, version (8) │ nonce (32) │ sealed hello (32), tag (16) ──
//!      ── tag (16) ──▶
//!      ◀── sealed generation (4), tag (16) ──
//! ```
//! Both hellos contain ranks, job, sizes, dial and rail. Until a flight is opened, only its first 8 bytes are
//! read; those keep position and meaning in every version. By the last flight the responder chooses, before
//! any frame, which of several connections of two ranks is used. It also carries the number of that
//! connection. Frames follow it, and are not sealed.
//!
//! Any process that has seen a first flight can repeat it, so it does not prove the sender's identity. A
//! process that has seen none cannot make one. So the first flight identifies strangers before they are
//! answered, and ranks of other jobs, which use other keys. The third flight proves the initiator.

mod credentials;
mod hello;
mod refused;

use std::sync::Arc;

use canele_secure::{
    Initiator, KeyExchange, KeyPurpose, MutualProof, Prologue, Refused, Responder, Secret, SecureChannel,
    TAG, flight_length,
};
use canele_sys::ids::Rank;

use crate::OtherRanks;
use hello::{HELLO, Hello};

pub use canele_secure::NONCE;
pub use credentials::{Credentials, SocketNames};
pub use refused::HandshakeError;

/// The version of handshake and frames.
pub const VERSION: u16 = 4;
const MAGIC: [u8; 6] = *b"CANELE";
const PREFIX: usize = 8;
const GENERATION: usize = 4;

/// Bytes of the longest flight.
pub const LONGEST_FLIGHT: usize = PREFIX + flight_length(HELLO);

enum Expect {
    /// Responder: waits for the first flight.
    Hello,
    /// Initiator: waits for the second flight.
    Answer(Initiator),
    /// Responder: waits for the third flight, from the end that sent this hello.
    Proof(SecureChannel, Hello),
    /// Responder: the initiator is proven; the owner decides when to accept.
    Decision(SecureChannel),
    /// Initiator: waits for the fourth flight.
    Acceptance(SecureChannel),
    /// The handshake is complete.
    Nothing,
    /// The other end was refused.
    Refused,
}

/// One end of one handshake.
pub struct Handshake {
    credentials: Credentials,
    prologue: Prologue,
    exchange: KeyExchange,
    /// Ranks of other jobs that may be at the other end of an accepted connection.
    others: Arc<[OtherRanks]>,
    /// The other job's ranks that the other end belongs to, if it is of another job.
    among: Option<OtherRanks>,
    /// The rank that an initiator wants to reach, or that a responder has identified.
    peer: Option<Rank>,
    generation: u32,
    expect: Expect,
    /// Responder: the number of the initiator's attempt.
    dial: u32,
    /// The first flight of an initiator.
    first: Vec<u8>,
    got: [u8; LONGEST_FLIGHT],
    got_len: usize,
    out: Vec<u8>,
    out_sent: usize,
}

impl Handshake {
    /// Begins a handshake to reach `peer`. `dial` grows from one attempt to the next. Each nonce is used only
    /// once.
    pub fn initiate(credentials: &Credentials, peer: Rank, dial: u32, nonce: [u8; NONCE]) -> Self {
        Self::initiate_among(credentials, None, peer, dial, nonce)
    }

    /// Begins a handshake to reach `peer`, which is one of the ranks `among` if it is of another job.
    pub fn initiate_among(
        credentials: &Credentials,
        among: Option<OtherRanks>,
        peer: Rank,
        dial: u32,
        nonce: [u8; NONCE],
    ) -> Self {
        let mut handshake = Self::new(credentials, nonce);
        let to = among.and_then(|among| among.theirs(peer)).unwrap_or(peer);
        among.into_iter().for_each(|among| handshake.turn_to(among));
        handshake.peer = Some(peer);
        let hello = handshake.hello(to, dial).encode();
        let begun = handshake.with_proof(&handshake.credentials.key, |proof| proof.initiate(&hello));
        let (initiator, flight) = begun.expect("a hello is short, and the nonce is there");
        handshake.first = [&prefix()[..], &flight].concat();
        handshake.out.extend_from_slice(&handshake.first);
        handshake.expect = Expect::Answer(initiator);
        handshake
    }

    /// Begins a handshake at the listening end.
    pub fn respond(credentials: &Credentials, nonce: [u8; NONCE]) -> Self {
        Self::new(credentials, nonce)
    }

    /// Begins a handshake at the listening end, where ranks of other jobs may connect, too.
    pub fn respond_to_all(own: &Credentials, others: &Arc<[OtherRanks]>, nonce: [u8; NONCE]) -> Self {
        Self { others: others.clone(), ..Self::respond(own, nonce) }
    }

    /// Notes that the other end belongs to this other job.
    fn turn_to(&mut self, among: OtherRanks) {
        (self.credentials.job, self.credentials.key) = (among.job, among.key);
        self.among = Some(among);
    }

    fn new(credentials: &Credentials, nonce: [u8; NONCE]) -> Self {
        let SocketNames { listener, initiator } = &credentials.sockets;
        Self {
            credentials: credentials.clone(),
            prologue: Prologue::new("canele link").bind(&prefix()).bind(listener).bind(initiator),
            exchange: KeyExchange::Nonce(nonce),
            others: Arc::default(),
            among: None,
            peer: None,
            generation: 0,
            expect: Expect::Hello,
            dial: 0,
            first: Vec::new(),
            got: [0; LONGEST_FLIGHT],
            got_len: 0,
            out: Vec::new(),
            out_sent: 0,
        }
    }

    /// Returns the hello of this end.
    fn hello(&self, to: Rank, dial: u32) -> Hello {
        let Credentials { me, rail, job, cells, payload, .. } = self.credentials;
        Hello { from: me, to, job, cells, payload, dial, rail }
    }

    fn with_proof<T>(&self, key: &[u8; 32], make: impl FnOnce(MutualProof<'_>) -> T) -> T {
        let secret = Secret::derive(KeyPurpose::Links, key);
        make(MutualProof { secret: &secret, prologue: &self.prologue, exchange: self.exchange })
    }

    /// Returns the bytes to send next.
    pub fn to_send(&self) -> &[u8] {
        &self.out[self.out_sent..]
    }

    /// Notes that `bytes` bytes were sent.
    pub fn handle_sent(&mut self, bytes: usize) {
        self.out_sent += bytes;
        assert!(self.out_sent <= self.out.len(), "more was sent than there was");
        if self.out_sent == self.out.len() {
            self.out_sent = 0;
            self.out.clear();
        }
    }

    /// Returns the number of bytes that may be read from the connection now.
    pub fn wanted(&self) -> usize {
        self.flight() - self.got_len
    }

    fn flight(&self) -> usize {
        match self.expect {
            Expect::Hello | Expect::Answer(_) => LONGEST_FLIGHT,
            Expect::Proof(..) => TAG,
            Expect::Acceptance(_) => GENERATION + TAG,
            Expect::Decision(_) | Expect::Nothing | Expect::Refused => 0,
        }
    }

    /// Takes received bytes, at most [`Handshake::wanted`].
    ///
    /// # Errors
    /// The connection must be closed, after the remaining output was tried once.
    pub fn handle(&mut self, bytes: &[u8]) -> Result<(), HandshakeError> {
        self.got[self.got_len..self.got_len + bytes.len()].copy_from_slice(bytes);
        self.got_len += bytes.len();
        if matches!(self.expect, Expect::Hello | Expect::Answer(_)) {
            self.check_prefix()?;
        }
        if self.wanted() > 0 || bytes.is_empty() {
            return Ok(());
        }
        let flight = self.got;
        let length = std::mem::take(&mut self.got_len);
        let flight = &flight[..length];
        match std::mem::replace(&mut self.expect, Expect::Refused) {
            Expect::Hello => self.handle_hello(&flight[PREFIX..]),
            Expect::Answer(initiator) => self.handle_answer(flight, initiator),
            Expect::Proof(channel, hello) => self.handle_proof(flight, channel, &hello),
            Expect::Acceptance(channel) => self.handle_acceptance(flight, channel),
            unchanged => {
                self.expect = unchanged;
                Ok(())
            }
        }
    }

    /// Checks the only bytes that are read before the proof.
    fn check_prefix(&mut self) -> Result<(), HandshakeError> {
        let seen = self.got_len.min(MAGIC.len());
        if self.got[..seen] != MAGIC[..seen] {
            return Err(HandshakeError::Magic);
        }
        if self.got_len < PREFIX {
            return Ok(());
        }
        let theirs = u16::from_le_bytes([self.got[6], self.got[7]]);
        if theirs == VERSION {
            return Ok(());
        }
        if matches!(self.expect, Expect::Hello) {
            // The prefix lets the other end name both versions too.
            self.out.extend_from_slice(&prefix());
        }
        Err(HandshakeError::Version { ours: VERSION, theirs })
    }

    fn handle_hello(&mut self, flight: &[u8]) -> Result<(), HandshakeError> {
        let (responder, hello) = self.open_first(flight)?;
        let theirs = Hello::decode(&hello)?;
        if let Some(first) = self.among {
            // Several groups of ranks of one job share a key.
            let has_it = |among: &&OtherRanks| among.key == first.key && among.here(theirs.from).is_some();
            let among = self.others.iter().find(has_it).copied();
            self.turn_to(among.unwrap_or(first));
        }
        // The unproven sender number is not interpreted, only returned.
        let mine = self.hello(theirs.from, 0).encode();
        let (channel, answer) = responder.answer(&mine).map_err(|_| HandshakeError::Proof)?;
        self.out.extend_from_slice(&prefix());
        self.out.extend_from_slice(&answer);
        self.dial = theirs.dial;
        self.expect = Expect::Proof(channel, theirs);
        Ok(())
    }

    /// Opens a first flight with the key of this job, or with that of another job, which is noted.
    fn open_first(&mut self, flight: &[u8]) -> Result<(Responder, Vec<u8>), HandshakeError> {
        let open = |key: &[u8; 32]| self.with_proof(key, |proof| proof.respond(flight));
        if let Ok(opened) = open(&self.credentials.key) {
            return Ok(opened);
        }
        let is_new = |at: usize| self.others[..at].iter().all(|before| before.key != self.others[at].key);
        let mut of_jobs = self.others.iter().enumerate().filter(|(at, _)| is_new(*at));
        let of_job = of_jobs.find_map(|(_, among)| Some((*among, open(&among.key).ok()?)));
        let (among, opened) = of_job.ok_or(HandshakeError::Proof)?;
        self.among = Some(among);
        Ok(opened)
    }

    fn handle_answer(&mut self, flight: &[u8], initiator: Initiator) -> Result<(), HandshakeError> {
        if flight == self.first {
            return Err(HandshakeError::Oneself);
        }
        let (mut channel, hello) = initiator.handle_answer(&flight[PREFIX..])?;
        let expected = self.peer.expect("an initiator looks for a peer");
        let from = self.check_hello(&Hello::decode(&hello)?)?;
        if from != expected {
            return Err(HandshakeError::Rank { expected, theirs: from });
        }
        channel.sealer.seal(&[], &mut self.out)?;
        self.expect = Expect::Acceptance(channel);
        Ok(())
    }

    fn handle_proof(
        &mut self,
        flight: &[u8],
        mut channel: SecureChannel,
        hello: &Hello,
    ) -> Result<(), HandshakeError> {
        channel.opener.open(flight, &mut Vec::new())?;
        self.peer = Some(self.check_hello(hello)?);
        self.expect = Expect::Decision(channel);
        Ok(())
    }

    fn handle_acceptance(&mut self, flight: &[u8], mut channel: SecureChannel) -> Result<(), HandshakeError> {
        let mut generation = Vec::new();
        channel.opener.open(flight, &mut generation)?;
        self.generation = u32::from_le_bytes(generation.try_into().map_err(|_| HandshakeError::Proof)?);
        self.expect = Expect::Nothing;
        Ok(())
    }

    /// Checks a proven hello and returns the rank that sent it.
    fn check_hello(&self, theirs: &Hello) -> Result<Rank, HandshakeError> {
        let ours = &self.credentials;
        let (from, to) = (theirs.from, theirs.to);
        let expected = self.among.map_or(ours.job, |among| among.theirs);
        if theirs.job != expected {
            return Err(HandshakeError::Job { ours: expected, theirs: theirs.job });
        }
        if from == ours.me && self.among.is_none() {
            return Err(HandshakeError::Oneself);
        }
        if to != ours.me {
            return Err(HandshakeError::Rank { expected: to, theirs: ours.me });
        }
        if theirs.rail != ours.rail {
            return Err(HandshakeError::Rail { ours: ours.rail, theirs: theirs.rail });
        }
        let ranks = self.among.map_or(ours.ranks, |among| among.ranks);
        let own = Some(from).filter(|from| from.0 < ranks);
        let peer = self.among.map_or(own, |among| among.here(from));
        let peer = peer.ok_or(HandshakeError::NoSuchRank { theirs: from, ranks })?;
        let sizes = (theirs.cells, theirs.payload);
        if sizes != (ours.cells, ours.payload) {
            return Err(HandshakeError::Sizes { ours: (ours.cells, ours.payload), theirs: sizes });
        }
        Ok(peer)
    }

    /// Responder: returns true if a process with the key made the first flight, at any time.
    pub fn shows_key(&self) -> bool {
        matches!(self.expect, Expect::Proof(..) | Expect::Decision(_) | Expect::Nothing)
    }

    /// Responder: returns the proven rank that waits for [`Handshake::accept`].
    pub fn undecided(&self) -> Option<Rank> {
        self.peer.filter(|_| matches!(self.expect, Expect::Decision(_)))
    }

    /// Responder: returns the number of the proven initiator's attempt.
    pub fn dial(&self) -> u32 {
        self.dial
    }

    /// Responder: allows frames, and names the generation of the connection.
    pub fn accept(&mut self, generation: u32) {
        let Expect::Decision(mut channel) = std::mem::replace(&mut self.expect, Expect::Nothing) else {
            panic!("who has proven itself is accepted, once");
        };
        let sealed = channel.sealer.seal(&generation.to_le_bytes(), &mut self.out);
        sealed.expect("the first frame of a channel, of four bytes");
        self.generation = generation;
    }

    /// Returns the generation of the connection, once the handshake is over.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Returns true if everything was sent and received.
    pub fn is_over(&self) -> bool {
        matches!(self.expect, Expect::Nothing) && self.to_send().is_empty()
    }
}

/// Returns the first bytes of the first flight of either end.
fn prefix() -> [u8; PREFIX] {
    let mut prefix = [0; PREFIX];
    prefix[..MAGIC.len()].copy_from_slice(&MAGIC);
    prefix[MAGIC.len()..].copy_from_slice(&VERSION.to_le_bytes());
    prefix
}

impl From<Refused> for HandshakeError {
    fn from(_: Refused) -> Self {
        HandshakeError::Proof
    }
}

#[cfg(test)]
mod tests;
