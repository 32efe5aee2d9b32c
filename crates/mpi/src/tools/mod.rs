//! The tools interface (MPI 5.0, chapter 15): variables that say how the library works and what it does, and events.
//!
//! ```text
//!   tunables ──▶ control variables ──────┐
//!   counters ──▶ performance variables ──┼──▶ categories: what a name begins with
//!   protocols ─▶ events ─────────────────┘
//! ```
//! The tables are those of the library itself: a variable has the name of its tunable or counter. They never change while a process
//! runs, so an index stays what it is. Nothing here needs the process to have joined its job, and no error is raised: every call
//! gives one.

pub mod category;
pub mod control;
pub mod enumeration;
pub mod event;
pub mod performance;

/// Why a call of the tools interface fails (MPI 5.0, §15.3.10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The interface is not initialised.
    NotInitialized,
    /// What is asked for cannot be had now.
    NotAccessible,
    /// What is asked for is not offered.
    NotSupported,
    /// An argument has a value that it cannot have.
    Invalid,
    /// There is no variable, event or category with this index.
    InvalidIndex,
    /// There is no session with this handle.
    InvalidSession,
    /// There is nothing with this handle.
    InvalidHandle,
    /// Nothing is called so.
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
    /// Which of the standard's reasons it is.
    pub reason: Reason,
    /// The argument, its value, and what to do.
    pub text: String,
}

/// What a call of the tools interface gives.
pub type ToolResult<T> = Result<T, ToolError>;

impl ToolError {
    /// An error for this reason.
    pub fn new(reason: Reason, text: impl Into<String>) -> Self {
        Self { reason, text: text.into() }
    }
}

/// What is wrong with an argument that other calls have, too.
impl From<Box<crate::Error>> for ToolError {
    fn from(error: Box<crate::Error>) -> Self {
        Self::new(Reason::Invalid, error.text)
    }
}

/// For whom a variable or event is made (MPI 5.0, §15.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verbosity {
    /// For every user.
    UserBasic,
    /// For users who want to know more.
    UserDetail,
    /// For those who tune a program.
    TunerBasic,
    /// For those who tune it further.
    TunerDetail,
}

/// The place of what has an index in a table.
///
/// # Errors
/// There is no such index.
pub fn at<'a, T>(table: &'a [T], index: i32, what: &str) -> ToolResult<&'a T> {
    usize::try_from(index).ok().and_then(|index| table.get(index)).ok_or_else(|| {
        let text = format!("{what} is {index}: there are {}, counted from 0", table.len());
        ToolError::new(Reason::InvalidIndex, text)
    })
}

/// The index of what is called `name` in a table.
///
/// # Errors
/// Nothing is called so.
pub fn index_of<T>(table: &[T], name: &str, name_of: impl Fn(&T) -> &str) -> ToolResult<i32> {
    let found = table.iter().position(|row| name_of(row) == name);
    found.map(|index| index as i32).ok_or_else(|| unknown(name))
}

/// The error of a name that nothing has.
pub(crate) fn unknown(name: &str) -> ToolError {
    ToolError::new(Reason::InvalidName, format!("name is \"{name}\", and nothing is called so"))
}
