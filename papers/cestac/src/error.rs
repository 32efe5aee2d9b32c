//! Errors of opening a session.

/// The error of a session that was not opened.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The parallel form needs three ranks, one for each sample.
    #[error("the parallel form needs 3 ranks, and the job has {ranks}: start it with `canele run -n 3`")]
    Ranks {
        /// Number of ranks of the job.
        ranks: u32,
    },
    /// A thread computes with one seed at a time.
    #[error("this thread has a session of the parallel form: drop it before another is opened")]
    AlreadyOpen,
    /// The ranks could not agree on a flow of their own.
    #[error("the other ranks cannot be reached: {0}")]
    Communication(#[from] canele::Error),
}
