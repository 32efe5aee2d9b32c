//! The status of a completed operation (MPI 5.0, §3.2.5).

/// The source of a message, in ranks of its communicator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Undefined: there was no message, or its source has no meaning.
    Unknown,
    /// `MPI_PROC_NULL`.
    NoProcess,
    /// This rank.
    Rank(usize),
}

/// The status of a completed operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// The source of the message.
    pub source: Origin,
    /// The tag of the message; none if it has no meaning.
    pub tag: Option<u32>,
    /// The length of the message in bytes.
    pub bytes: usize,
    /// True if the operation was cancelled.
    pub cancelled: bool,
}

impl Status {
    /// The empty status, of a send or a null request.
    pub const EMPTY: Status = Status { source: Origin::Unknown, tag: None, bytes: 0, cancelled: false };
    /// The status of a receive from `MPI_PROC_NULL`.
    pub const NO_PROCESS: Status =
        Status { source: Origin::NoProcess, tag: None, bytes: 0, cancelled: false };
}
