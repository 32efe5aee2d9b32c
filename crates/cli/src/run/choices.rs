//! Options of `canele run` that have a few values.

/// The way in which ranks wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// Poll for a while, then sleep
    Adaptive,
    /// Poll, and never sleep
    Poll,
    /// Sleep at once
    Sleep,
}

impl Wait {
    /// Returns the value of the environment variable CANELE_WAIT.
    pub fn value(self) -> &'static str {
        match self {
            Wait::Adaptive => "adaptive",
            Wait::Poll => "poll",
            Wait::Sleep => "sleep",
        }
    }
}

/// The effect of a rank's failure on the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OnFailure {
    /// The job ends
    Stop,
    /// The other ranks are informed and go on
    Continue,
}

/// The treatment of a job of several ranks whose program uses another MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Foreign {
    /// The job is not started, or ended
    Refuse,
    /// Each rank runs by itself
    Allow,
}

impl Foreign {
    /// Returns the value of the environment variable CANELE_FOREIGN.
    pub fn value(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Allow => "allow",
        }
    }
}

/// The handler that communicators begin with (MPI 5.0, §11.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum InitialErrhandler {
    /// All processes of the job end
    #[value(name = "mpi_errors_are_fatal")]
    Fatal,
    /// The processes of the communicator end
    #[value(name = "mpi_errors_abort")]
    Abort,
    /// Calls return a code
    #[value(name = "mpi_errors_return")]
    Return,
}

impl InitialErrhandler {
    /// Returns the value of the environment variable CANELE_MPI_ERRHANDLER.
    pub fn value(self) -> &'static str {
        match self {
            Self::Fatal => "fatal",
            Self::Abort => "abort",
            Self::Return => "return",
        }
    }
}

impl From<OnFailure> for canele_control::OnFailure {
    fn from(choice: OnFailure) -> Self {
        match choice {
            OnFailure::Stop => Self::Stop,
            OnFailure::Continue => Self::Continue,
        }
    }
}
