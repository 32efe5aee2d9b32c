//! What is known of an operation that has ended (MPI 5.0, §3.2.5).

/// Whom a message is from, as its communicator counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// There was no message, or its source has no meaning.
    Unknown,
    /// No process: the operation named none.
    NoProcess,
    /// This rank.
    Rank(usize),
}

/// What is known of an operation that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// Who sent the message.
    pub source: Origin,
    /// Its tag; none where that has no meaning.
    pub tag: Option<u32>,
    /// Its length in bytes.
    pub bytes: usize,
    /// Whether the operation was cancelled.
    pub cancelled: bool,
}

impl Status {
    /// Of an operation of which nothing is to be known: a send, a null request.
    pub const EMPTY: Status = Status { source: Origin::Unknown, tag: None, bytes: 0, cancelled: false };
    /// Of a receive from no process.
    pub const NO_PROCESS: Status =
        Status { source: Origin::NoProcess, tag: None, bytes: 0, cancelled: false };
}
