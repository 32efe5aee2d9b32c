//! The tools interface (MPI 5.0, chapter 15): variables that control and measure the library, and events.
//!
//! ```text
//!   tunables ──▶ control variables ──────┐
//!   counters ──▶ performance variables ──┼──▶ categories: by prefixes of names
//!   protocols ─▶ events ─────────────────┘
//! ```
//! The tables are those of the library itself: a variable has the name of its tunable or counter. They are
//! constant while a process runs, so an index stays valid. These calls work before the process joins its job,
//! and they return errors without raising any.

pub mod category;
pub mod control;
pub mod enumeration;
pub mod event;
pub mod performance;

/// The reason why a call of the tools interface fails (MPI 5.0, §15.3.10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The interface is not initialised.
    NotInitialized,
    /// The requested object is not accessible now.
    NotAccessible,
    /// The request is not supported.
    NotSupported,
    /// An argument has an invalid value.
    Invalid,
    /// There is no variable, event or category with this index.
    InvalidIndex,
    /// There is no session with this handle.
    InvalidSession,
    /// There is no object with this handle.
    InvalidHandle,
    /// No object has this name.
    InvalidName,
    /// The variable cannot be set any more, or not at this moment.
    SetNotNow,
    /// The variable can never be set.
    SetNever,
    /// The variable can be neither written nor reset.
    NoWrite,
    /// The variable always counts.
    NoStartStop,
    /// The variable cannot be read and reset in one step.
    NoAtomic,
}

/// The error of a call of the tools interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolError {
    /// The reason code of the error in the standard.
    pub reason: Reason,
    /// The argument, its value and the remedy.
    pub text: String,
}

/// The result of a call of the tools interface.
pub type ToolResult<T> = Result<T, ToolError>;

impl ToolError {
    /// Makes an error for this reason.
    pub fn new(reason: Reason, text: impl Into<String>) -> Self {
        Self { reason, text: text.into() }
    }
}

/// Converts the error of an argument that other calls share.
impl From<Box<crate::Error>> for ToolError {
    fn from(error: Box<crate::Error>) -> Self {
        Self::new(Reason::Invalid, error.text)
    }
}

/// The audience of a variable or event (MPI 5.0, §15.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verbosity {
    /// For every user.
    UserBasic,
    /// For users who want details.
    UserDetail,
    /// For tuners of a program.
    TunerBasic,
    /// For tuners who want details.
    TunerDetail,
}

/// Returns the row with this index of a table.
///
/// # Errors
/// Fails if there is no such index.
pub fn at<'a, T>(table: &'a [T], index: i32, what: &str) -> ToolResult<&'a T> {
    usize::try_from(index).ok().and_then(|index| table.get(index)).ok_or_else(|| {
        let text = format!("{what} is {index}: there are {}, counted from 0", table.len());
        ToolError::new(Reason::InvalidIndex, text)
    })
}

/// Returns the index of the row with this name in a table.
///
/// # Errors
/// Fails if no row has this name.
pub fn index_of<T>(table: &[T], name: &str, name_of: impl Fn(&T) -> &str) -> ToolResult<i32> {
    let found = table.iter().position(|row| name_of(row) == name);
    found.map(|index| index as i32).ok_or_else(|| unknown(name))
}

/// Returns the error for an unknown name.
pub(crate) fn unknown(name: &str) -> ToolError {
    ToolError::new(Reason::InvalidName, format!("name is \"{name}\", and nothing is called so"))
}
