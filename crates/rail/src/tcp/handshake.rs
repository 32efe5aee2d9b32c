//! Who is at the other end of a connection: both sides prove that they know the job's key.
//!
//! Owns the bytes exchanged before the first frame and the decisions about them. Never reads a socket, a clock or a source
//! of randomness, allocates nothing, and takes a fixed number of bytes whatever the other side says.
//!
//! ```text
//!   initiator                                                responder
//!      ── hello (72): magic, version │ ranks, job, sizes, dial, rail, nonce ── proof (32) ──▶
//!      ◀── hello (72) ── proof (32) ──
//!      ── proof (32) ──▶
//!      ◀── generation (4) ── proof (32) ──
//! ```
//! A proof is a keyed BLAKE3 hash of the prover's role and both hellos, and so of both nonces, both ranks, the job and
//! the version (three-pass mutual authentication of ISO/IEC 9798-4). Until it was compared, in constant time, only the
//! first 8 bytes are looked at; those keep their place and meaning in every version. The last flight lets the responder
//! choose, before any frame travels, which of several connections of two ranks is used, and says which of their
//! successive connections it is; its proof is of that too. Frames follow it.
//!
//! The proof of the first flight is of its hello alone. It can be repeated by anyone who has seen it, and so proves nothing of
//! the other end; but who has seen none cannot make one. Strangers are told apart by it before they are answered, and so are ranks of
//! other jobs, with which this one has other keys.

mod refused;

use std::sync::Arc;

use canele_sys::ids::Rank;

use crate::OtherRanks;
pub use refused::HandshakeError;

/// The version of handshake and frames.
pub const VERSION: u16 = 3;
const MAGIC: [u8; 6] = *b"CANELE";
const PREFIX: usize = 8;
const HELLO: usize = 72;
const PROOF: usize = 32;
const GENERATION: usize = 4;

/// Bytes of the longest flight.
pub const LONGEST_FLIGHT: usize = HELLO + PROOF;

/// Bytes of a nonce.
pub const NONCE: usize = 32;

/// What both ends must have in common, and who this end is.
#[derive(Clone)]
pub struct Credentials {
    /// This rank.
    pub me: Rank,
    /// The number of the rail.
    pub rail: u8,
    /// Ranks of the job.
    pub ranks: u32,
    /// The job.
    pub job: u64,
    /// Known to the ranks of the job and to nobody else.
    pub key: [u8; 32],
    /// Packets a link holds.
    pub cells: u32,
    /// Bytes of bulk a link holds.
    pub payload: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expect {
    /// Responder: the first flight.
    Hello,
    /// Initiator: the second flight.
    HelloAndProof,
    /// Responder: the third flight.
    Proof,
    /// Responder: who it is is proven; the owner decides when to accept.
    Decision,
    /// Initiator: the fourth flight.
    Acceptance,
    Nothing,
}

/// One end of one handshake.
pub struct Handshake {
    credentials: Credentials,
    /// Those of another job that may be at the other end of a connection that is accepted.
    others: Arc<[OtherRanks]>,
    /// Among whom the other end is, if it is of another job.
    among: Option<OtherRanks>,
    /// Whom an initiator looks for; whom a responder has found.
    peer: Option<Rank>,
    generation: u32,
    expect: Expect,
    mine: [u8; HELLO],
    theirs: [u8; HELLO],
    got: [u8; HELLO + PROOF],
    got_len: usize,
    out: [u8; HELLO + PROOF],
    out_len: usize,
    out_sent: usize,
}

impl Handshake {
    /// The end that connects, to reach `peer`; `dial` grows from one attempt to reach it to the next. A nonce is used once.
    pub fn initiate(credentials: &Credentials, peer: Rank, dial: u32, nonce: [u8; NONCE]) -> Self {
        Self::initiate_among(credentials, None, peer, dial, nonce)
    }

    /// The same to reach one of another job's ranks, if it is among those.
    pub fn initiate_among(
        credentials: &Credentials,
        among: Option<OtherRanks>,
        peer: Rank,
        dial: u32,
        nonce: [u8; NONCE],
    ) -> Self {
        let mut handshake = Self::new(credentials, nonce, Expect::HelloAndProof);
        let theirs = among.and_then(|among| among.theirs(peer)).unwrap_or(peer);
        among.into_iter().for_each(|among| handshake.turn_to(among));
        handshake.peer = Some(peer);
        handshake.mine[32..36].copy_from_slice(&dial.to_le_bytes());
        handshake.mine[12..16].copy_from_slice(&theirs.0.to_le_bytes());
        let proof = handshake.proof(b"beginning", 0, &handshake.mine, &[0; HELLO]);
        handshake.send(&[handshake.mine]);
        handshake.send(&[*proof.as_bytes()]);
        handshake
    }

    /// The end that listens.
    pub fn respond(credentials: &Credentials, nonce: [u8; NONCE]) -> Self {
        Self::new(credentials, nonce, Expect::Hello)
    }

    /// The same, where ranks of other jobs may connect, too.
    pub fn respond_to_all(own: &Credentials, others: &Arc<[OtherRanks]>, nonce: [u8; NONCE]) -> Self {
        Self { others: others.clone(), ..Self::respond(own, nonce) }
    }

    /// The other end is among these.
    fn turn_to(&mut self, among: OtherRanks) {
        (self.credentials.job, self.credentials.key) = (among.job, among.key);
        self.mine[16..24].copy_from_slice(&among.job.to_le_bytes());
        self.among = Some(among);
    }

    fn new(credentials: &Credentials, nonce: [u8; NONCE], expect: Expect) -> Self {
        let mut mine = [0; HELLO];
        mine[..6].copy_from_slice(&MAGIC);
        mine[6..8].copy_from_slice(&VERSION.to_le_bytes());
        mine[8..12].copy_from_slice(&credentials.me.0.to_le_bytes());
        mine[16..24].copy_from_slice(&credentials.job.to_le_bytes());
        mine[24..28].copy_from_slice(&credentials.cells.to_le_bytes());
        mine[28..32].copy_from_slice(&credentials.payload.to_le_bytes());
        mine[36] = credentials.rail;
        mine[40..].copy_from_slice(&nonce);
        Self {
            credentials: credentials.clone(),
            others: Arc::default(),
            among: None,
            peer: None,
            generation: 0,
            expect,
            mine,
            theirs: [0; HELLO],
            got: [0; HELLO + PROOF],
            got_len: 0,
            out: [0; HELLO + PROOF],
            out_len: 0,
            out_sent: 0,
        }
    }

    fn send<const N: usize>(&mut self, parts: &[[u8; N]]) {
        for part in parts {
            self.out[self.out_len..self.out_len + N].copy_from_slice(part);
            self.out_len += N;
        }
    }

    /// What to send next.
    pub fn to_send(&self) -> &[u8] {
        &self.out[self.out_sent..self.out_len]
    }

    /// So many bytes of it were sent.
    pub fn handle_sent(&mut self, bytes: usize) {
        self.out_sent += bytes;
        assert!(self.out_sent <= self.out_len, "more was sent than there was");
        if self.out_sent == self.out_len {
            (self.out_sent, self.out_len) = (0, 0);
        }
    }

    /// At most so many bytes may be read from the connection now.
    pub fn wanted(&self) -> usize {
        self.flight() - self.got_len
    }

    fn flight(&self) -> usize {
        match self.expect {
            Expect::Hello | Expect::HelloAndProof => HELLO + PROOF,
            Expect::Proof => PROOF,
            Expect::Acceptance => GENERATION + PROOF,
            Expect::Decision | Expect::Nothing => 0,
        }
    }

    /// Takes bytes that were read, at most [`Handshake::wanted`].
    ///
    /// # Errors
    /// The connection is to be closed, after what is still to send was tried once.
    pub fn handle(&mut self, bytes: &[u8]) -> Result<(), HandshakeError> {
        self.got[self.got_len..self.got_len + bytes.len()].copy_from_slice(bytes);
        self.got_len += bytes.len();
        if matches!(self.expect, Expect::Hello | Expect::HelloAndProof) {
            self.check_prefix()?;
        }
        if self.wanted() > 0 || bytes.is_empty() {
            return Ok(());
        }
        self.got_len = 0;
        match self.expect {
            Expect::Hello => self.handle_hello(),
            Expect::HelloAndProof => self.handle_answer(),
            Expect::Proof => self.handle_proof(),
            Expect::Acceptance => self.handle_acceptance(),
            Expect::Decision | Expect::Nothing => Ok(()),
        }
    }

    /// The only thing that is read before the proof.
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
        if self.expect == Expect::Hello {
            // So that the other end can name both versions too.
            self.out[..PREFIX].copy_from_slice(&self.mine[..PREFIX]);
            self.out_len = PREFIX;
        }
        Err(HandshakeError::Version { ours: VERSION, theirs })
    }

    fn handle_hello(&mut self) -> Result<(), HandshakeError> {
        self.theirs.copy_from_slice(&self.got[..HELLO]);
        let begins = |key: &[u8; 32]| proof(key, b"beginning", 0, &self.theirs, &[0; HELLO]);
        if let Err(wrong) = self.compare(begins(&self.credentials.key), HELLO) {
            let has_key = |among: &&OtherRanks| self.compare(begins(&among.key), HELLO).is_ok();
            // Several series of the ranks of one job have one key.
            let mut of_job = self.others.iter().filter(has_key);
            let first = *of_job.next().ok_or(wrong)?;
            let has_it = |among: &&OtherRanks| among.here(Rank(self.theirs_at(8))).is_some();
            let among = std::iter::once(&first).chain(of_job).find(has_it);
            self.turn_to(among.copied().unwrap_or(first));
        }
        // To whom it may concern: not interpreted, only given back.
        self.mine[12..16].copy_from_slice(&self.theirs[8..12]);
        let proof = self.proof(b"responder", 0, &self.theirs, &self.mine);
        self.send(&[self.mine]);
        self.send(&[*proof.as_bytes()]);
        self.expect = Expect::Proof;
        Ok(())
    }

    fn handle_answer(&mut self) -> Result<(), HandshakeError> {
        self.theirs.copy_from_slice(&self.got[..HELLO]);
        if self.theirs == self.mine {
            return Err(HandshakeError::Oneself);
        }
        self.compare(self.proof(b"responder", 0, &self.mine, &self.theirs), HELLO)?;
        let expected = self.peer.expect("an initiator looks for somebody");
        let from = self.check_hello()?;
        if from != expected {
            return Err(HandshakeError::Rank { expected, theirs: from });
        }
        let proof = self.proof(b"initiator", 0, &self.mine, &self.theirs);
        self.send(&[*proof.as_bytes()]);
        self.expect = Expect::Acceptance;
        Ok(())
    }

    fn handle_proof(&mut self) -> Result<(), HandshakeError> {
        self.compare(self.proof(b"initiator", 0, &self.theirs, &self.mine), 0)?;
        self.peer = Some(self.check_hello()?);
        self.expect = Expect::Decision;
        Ok(())
    }

    fn handle_acceptance(&mut self) -> Result<(), HandshakeError> {
        let generation = u32::from_le_bytes(self.got[..GENERATION].try_into().expect("4 bytes"));
        self.compare(self.proof(b"accepting", generation, &self.mine, &self.theirs), GENERATION)?;
        self.generation = generation;
        self.expect = Expect::Nothing;
        Ok(())
    }

    fn proof(
        &self,
        role: &[u8; 9],
        generation: u32,
        initiator: &[u8; HELLO],
        responder: &[u8; HELLO],
    ) -> blake3::Hash {
        proof(&self.credentials.key, role, generation, initiator, responder)
    }

    fn theirs_at(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.theirs[at..at + 4].try_into().expect("4 bytes"))
    }

    /// Compares the proof that came at `place` in constant time, as [`blake3::Hash`] does.
    fn compare(&self, due: blake3::Hash, place: usize) -> Result<(), HandshakeError> {
        let said: [u8; PROOF] = self.got[place..place + PROOF].try_into().expect("a proof's length");
        if due == blake3::Hash::from_bytes(said) { Ok(()) } else { Err(HandshakeError::Proof) }
    }

    /// What a hello says, once it is proven; from whom it is.
    fn check_hello(&self) -> Result<Rank, HandshakeError> {
        let ours = &self.credentials;
        let (from, to) = (Rank(self.theirs_at(8)), Rank(self.theirs_at(12)));
        let job = u64::from_le_bytes(self.theirs[16..24].try_into().expect("8 bytes"));
        let sizes = (self.theirs_at(24), self.theirs_at(28));
        let expected = self.among.map_or(ours.job, |among| among.theirs);
        if job != expected {
            return Err(HandshakeError::Job { ours: expected, theirs: job });
        }
        if from == ours.me && self.among.is_none() {
            return Err(HandshakeError::Oneself);
        }
        if to != ours.me {
            return Err(HandshakeError::Rank { expected: to, theirs: ours.me });
        }
        if self.theirs[36] != ours.rail {
            return Err(HandshakeError::Rail { ours: ours.rail, theirs: self.theirs[36] });
        }
        let ranks = self.among.map_or(ours.ranks, |among| among.ranks);
        let own = Some(from).filter(|from| from.0 < ranks);
        let peer = self.among.map_or(own, |among| among.here(from));
        let peer = peer.ok_or(HandshakeError::NoSuchRank { theirs: from, ranks })?;
        if sizes != (ours.cells, ours.payload) {
            return Err(HandshakeError::Sizes { ours: (ours.cells, ours.payload), theirs: sizes });
        }
        Ok(peer)
    }

    /// Responder: true if the first flight was made, once, by a process that has the key.
    pub fn shows_key(&self) -> bool {
        self.expect != Expect::Hello
    }

    /// Responder: who has proven itself and waits for [`Handshake::accept`].
    pub fn undecided(&self) -> Option<Rank> {
        if self.expect == Expect::Decision { self.peer } else { None }
    }

    /// Responder: the number of the proven initiator's attempt.
    pub fn dial(&self) -> u32 {
        u32::from_le_bytes(self.theirs[32..36].try_into().expect("4 bytes"))
    }

    /// Responder: lets frames follow, and says which of the connections of the two ranks it is.
    pub fn accept(&mut self, generation: u32) {
        assert_eq!(self.expect, Expect::Decision, "who has proven itself is accepted, once");
        let proof = self.proof(b"accepting", generation, &self.theirs, &self.mine);
        self.send(&[generation.to_le_bytes()]);
        self.send(&[*proof.as_bytes()]);
        self.generation = generation;
        self.expect = Expect::Nothing;
    }

    /// Which of the connections of the two ranks it is, once all is over.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Whether everything was sent and received.
    pub fn is_over(&self) -> bool {
        self.expect == Expect::Nothing && self.to_send().is_empty()
    }
}

fn proof(
    key: &[u8; 32],
    role: &[u8; 9],
    generation: u32,
    initiator: &[u8; HELLO],
    responder: &[u8; HELLO],
) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(role).update(&generation.to_le_bytes()).update(initiator).update(responder);
    hasher.finalize()
}

#[cfg(test)]
mod tests;
