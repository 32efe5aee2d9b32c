//! Errors as the standard classifies them (MPI 5.0, §9.4).

/// The class of an error.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Class {
    /// Invalid buffer pointer.
    Buffer,
    /// Invalid count argument.
    Count,
    /// Invalid datatype argument.
    Datatype,
    /// Invalid tag argument.
    Tag,
    /// Invalid communicator.
    Communicator,
    /// Invalid rank.
    Rank,
    /// Invalid request handle.
    Request,
    /// Invalid root.
    Root,
    /// Invalid group.
    Group,
    /// Invalid operation.
    Operation,
    /// Invalid topology.
    Topology,
    /// Invalid dimension argument.
    Dimensions,
    /// Invalid argument of some other kind.
    Argument,
    /// Unknown error.
    Unknown,
    /// Message truncated on receive.
    Truncate,
    /// Known error not in this list.
    Other,
    /// Internal error of the library.
    Internal,
    /// Pending request.
    Pending,
    /// Error code is in the status.
    InStatus,
    /// Permission denied.
    Access,
    /// Error in the access mode of a file.
    AccessMode,
    /// Invalid assertion argument.
    Assert,
    /// Invalid file name.
    BadFile,
    /// Invalid base argument.
    Base,
    /// Error in a user-supplied data conversion function.
    Conversion,
    /// Invalid displacement argument.
    Displacement,
    /// Data representation is already defined.
    DupDatarep,
    /// File exists.
    FileExists,
    /// File operation could not be completed, the file is open.
    FileInUse,
    /// Invalid file handle.
    File,
    /// Key longer than the longest permitted.
    InfoKey,
    /// Invalid key to delete.
    InfoNoKey,
    /// Value longer than the longest permitted.
    InfoValue,
    /// Invalid info argument.
    Info,
    /// Other input or output error.
    Io,
    /// Invalid keyval.
    Keyval,
    /// Invalid lock type.
    Locktype,
    /// Invalid service name.
    Name,
    /// Memory is exhausted.
    NoMemory,
    /// Collective argument not identical on all ranks.
    NotSame,
    /// Not enough space.
    NoSpace,
    /// File does not exist.
    NoSuchFile,
    /// Invalid port name.
    Port,
    /// Quota exceeded.
    Quota,
    /// Read-only file or file system.
    ReadOnly,
    /// Memory cannot be attached.
    RmaAttach,
    /// Conflicting accesses to a window.
    RmaConflict,
    /// Target memory is not part of the window.
    RmaRange,
    /// Memory cannot be shared.
    RmaShared,
    /// Wrong synchronisation of one-sided calls.
    RmaSync,
    /// Invalid service name.
    Service,
    /// Invalid size argument.
    Size,
    /// Error in spawning processes.
    Spawn,
    /// Unsupported data representation.
    UnsupportedDatarep,
    /// Unsupported operation.
    UnsupportedOperation,
    /// Invalid window.
    Window,
    /// Passed window has the wrong flavour.
    RmaFlavor,
    /// A process with which the operation was has aborted.
    ProcAborted,
    /// Value is too large to store.
    ValueTooLarge,
    /// Invalid session.
    Session,
    /// Invalid error handler.
    Errhandler,
    /// Error in the binary interface.
    Abi,
    /// A process that takes part in the operation has failed. Beyond the standard.
    ProcFailed,
    /// A process has failed that may be the sender; the receive is still pending. Beyond the standard.
    ProcFailedPending,
    /// The communicator was revoked. Beyond the standard.
    Revoked,
}

impl Class {
    /// The classes of the standard, in its order.
    pub const ALL: [Class; 62] = [
        Class::Buffer,
        Class::Count,
        Class::Datatype,
        Class::Tag,
        Class::Communicator,
        Class::Rank,
        Class::Request,
        Class::Root,
        Class::Group,
        Class::Operation,
        Class::Topology,
        Class::Dimensions,
        Class::Argument,
        Class::Unknown,
        Class::Truncate,
        Class::Other,
        Class::Internal,
        Class::Pending,
        Class::InStatus,
        Class::Access,
        Class::AccessMode,
        Class::Assert,
        Class::BadFile,
        Class::Base,
        Class::Conversion,
        Class::Displacement,
        Class::DupDatarep,
        Class::FileExists,
        Class::FileInUse,
        Class::File,
        Class::InfoKey,
        Class::InfoNoKey,
        Class::InfoValue,
        Class::Info,
        Class::Io,
        Class::Keyval,
        Class::Locktype,
        Class::Name,
        Class::NoMemory,
        Class::NotSame,
        Class::NoSpace,
        Class::NoSuchFile,
        Class::Port,
        Class::Quota,
        Class::ReadOnly,
        Class::RmaAttach,
        Class::RmaConflict,
        Class::RmaRange,
        Class::RmaShared,
        Class::RmaSync,
        Class::Service,
        Class::Size,
        Class::Spawn,
        Class::UnsupportedDatarep,
        Class::UnsupportedOperation,
        Class::Window,
        Class::RmaFlavor,
        Class::ProcAborted,
        Class::ValueTooLarge,
        Class::Session,
        Class::Errhandler,
        Class::Abi,
    ];

    /// The classes beyond the standard.
    pub const EXTENSIONS: [Class; 3] = [Class::ProcFailed, Class::ProcFailedPending, Class::Revoked];

    /// Returns the number by which a rank names the class to another rank.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// Returns the class of a number that another rank has sent; none if there is no such class.
    pub fn of_number(number: u8) -> Option<Class> {
        let beyond = Class::EXTENSIONS.into_iter().find(|class| class.number() == number);
        beyond.or_else(|| Class::ALL.get(usize::from(number)).copied())
    }

    /// Returns the class's name in the standard, and its meaning.
    pub fn text(self) -> (&'static str, &'static str) {
        match self {
            Class::Buffer => ("MPI_ERR_BUFFER", "invalid buffer pointer"),
            Class::Count => ("MPI_ERR_COUNT", "invalid count argument"),
            Class::Datatype => ("MPI_ERR_TYPE", "invalid datatype argument"),
            Class::Tag => ("MPI_ERR_TAG", "invalid tag argument"),
            Class::Communicator => ("MPI_ERR_COMM", "invalid communicator"),
            Class::Rank => ("MPI_ERR_RANK", "invalid rank"),
            Class::Request => ("MPI_ERR_REQUEST", "invalid request handle"),
            Class::Root => ("MPI_ERR_ROOT", "invalid root"),
            Class::Group => ("MPI_ERR_GROUP", "invalid group"),
            Class::Operation => ("MPI_ERR_OP", "invalid operation"),
            Class::Topology => ("MPI_ERR_TOPOLOGY", "invalid topology"),
            Class::Dimensions => ("MPI_ERR_DIMS", "invalid dimension argument"),
            Class::Argument => ("MPI_ERR_ARG", "invalid argument of some other kind"),
            Class::Unknown => ("MPI_ERR_UNKNOWN", "unknown error"),
            Class::Truncate => ("MPI_ERR_TRUNCATE", "message truncated on receive"),
            Class::Other => ("MPI_ERR_OTHER", "known error not in this list"),
            Class::Internal => ("MPI_ERR_INTERN", "internal error of the library"),
            Class::Pending => ("MPI_ERR_PENDING", "pending request"),
            Class::InStatus => ("MPI_ERR_IN_STATUS", "error code is in the status"),
            Class::Access => ("MPI_ERR_ACCESS", "permission denied"),
            Class::AccessMode => ("MPI_ERR_AMODE", "error in the access mode of a file"),
            Class::Assert => ("MPI_ERR_ASSERT", "invalid assertion argument"),
            Class::BadFile => ("MPI_ERR_BAD_FILE", "invalid file name"),
            Class::Base => ("MPI_ERR_BASE", "invalid base argument"),
            Class::Conversion => ("MPI_ERR_CONVERSION", "error in a user-supplied data conversion function"),
            Class::Displacement => ("MPI_ERR_DISP", "invalid displacement argument"),
            Class::DupDatarep => ("MPI_ERR_DUP_DATAREP", "data representation is already defined"),
            Class::FileExists => ("MPI_ERR_FILE_EXISTS", "file exists"),
            Class::FileInUse => {
                ("MPI_ERR_FILE_IN_USE", "file operation could not be completed, the file is open")
            }
            Class::File => ("MPI_ERR_FILE", "invalid file handle"),
            Class::InfoKey => ("MPI_ERR_INFO_KEY", "key longer than the longest permitted"),
            Class::InfoNoKey => ("MPI_ERR_INFO_NOKEY", "invalid key to delete"),
            Class::InfoValue => ("MPI_ERR_INFO_VALUE", "value longer than the longest permitted"),
            Class::Info => ("MPI_ERR_INFO", "invalid info argument"),
            Class::Io => ("MPI_ERR_IO", "other input or output error"),
            Class::Keyval => ("MPI_ERR_KEYVAL", "invalid keyval"),
            Class::Locktype => ("MPI_ERR_LOCKTYPE", "invalid lock type"),
            Class::Name => ("MPI_ERR_NAME", "invalid service name"),
            Class::NoMemory => ("MPI_ERR_NO_MEM", "memory is exhausted"),
            Class::NotSame => ("MPI_ERR_NOT_SAME", "collective argument not identical on all ranks"),
            Class::NoSpace => ("MPI_ERR_NO_SPACE", "not enough space"),
            Class::NoSuchFile => ("MPI_ERR_NO_SUCH_FILE", "file does not exist"),
            Class::Port => ("MPI_ERR_PORT", "invalid port name"),
            Class::Quota => ("MPI_ERR_QUOTA", "quota exceeded"),
            Class::ReadOnly => ("MPI_ERR_READ_ONLY", "read-only file or file system"),
            Class::RmaAttach => ("MPI_ERR_RMA_ATTACH", "memory cannot be attached"),
            Class::RmaConflict => ("MPI_ERR_RMA_CONFLICT", "conflicting accesses to a window"),
            Class::RmaRange => ("MPI_ERR_RMA_RANGE", "target memory is not part of the window"),
            Class::RmaShared => ("MPI_ERR_RMA_SHARED", "memory cannot be shared"),
            Class::RmaSync => ("MPI_ERR_RMA_SYNC", "wrong synchronisation of one-sided calls"),
            Class::Service => ("MPI_ERR_SERVICE", "invalid service name"),
            Class::Size => ("MPI_ERR_SIZE", "invalid size argument"),
            Class::Spawn => ("MPI_ERR_SPAWN", "error in spawning processes"),
            Class::UnsupportedDatarep => ("MPI_ERR_UNSUPPORTED_DATAREP", "unsupported data representation"),
            Class::UnsupportedOperation => ("MPI_ERR_UNSUPPORTED_OPERATION", "unsupported operation"),
            Class::Window => ("MPI_ERR_WIN", "invalid window"),
            Class::RmaFlavor => ("MPI_ERR_RMA_FLAVOR", "passed window has the wrong flavour"),
            Class::ProcAborted => {
                ("MPI_ERR_PROC_ABORTED", "a process with which the operation was has aborted")
            }
            Class::ValueTooLarge => ("MPI_ERR_VALUE_TOO_LARGE", "value is too large to store"),
            Class::Session => ("MPI_ERR_SESSION", "invalid session"),
            Class::Errhandler => ("MPI_ERR_ERRHANDLER", "invalid error handler"),
            Class::Abi => ("MPI_ERR_ABI", "error in the binary interface"),
            Class::ProcFailed => {
                ("MPIX_ERR_PROC_FAILED", "a process with which the operation was has failed")
            }
            Class::ProcFailedPending => (
                "MPIX_ERR_PROC_FAILED_PENDING",
                "a process has failed that may be the sender; still under way",
            ),
            Class::Revoked => ("MPIX_ERR_REVOKED", "the communicator was revoked"),
        }
    }
}

/// The error of a failed call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// The class of the error.
    pub class: Class,
    /// The argument, its value and the remedy, without the function's name, which the C interface adds.
    pub text: String,
    /// The code that a function of the program returned, if that function failed.
    pub given: Option<i32>,
    /// The message that a receive could not store.
    pub message: Option<canele_engine::Status>,
}

/// The result of a call. The error is boxed, so that a successful result stays in registers.
pub type Result<T, E = Box<Error>> = std::result::Result<T, E>;

impl Error {
    /// Makes an error of this class.
    #[cold]
    pub fn new(class: Class, text: impl Into<String>) -> Box<Self> {
        Box::new(Self { class, text: text.into(), given: None, message: None })
    }

    /// Makes the error for a code that the program's function `what` returned.
    #[cold]
    pub fn given(code: i32, what: &str) -> Box<Self> {
        let text = format!("{what} returned error code {code}");
        Box::new(Self { class: Class::Other, text, given: Some(code), message: None })
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.class.text().0, self.text)
    }
}

impl std::error::Error for Error {}

impl From<canele_engine::Error> for Box<Error> {
    #[cold]
    fn from(error: canele_engine::Error) -> Self {
        use canele_engine::{Error as Of, Failure, Refusal};
        let class = match &error {
            Of::NoSuchRank { .. } => Class::Rank,
            Of::Failed(Failure::Truncated { .. }) => Class::Truncate,
            Of::Failed(
                Failure::PeerFailed(_)
                | Failure::Unreachable(..)
                | Failure::CutOff { .. }
                | Failure::NoSenderLeft,
            ) => Class::ProcFailed,
            Of::Failed(Failure::Memory { .. }) => Class::Buffer,
            Of::Failed(Failure::Revoked { .. }) => Class::Revoked,
            Of::Memory(_) => Class::NoMemory,
            Of::Refused { why: Refusal::Outside(_) | Refusal::NoRegion, .. } => Class::RmaRange,
            Of::Refused { why: Refusal::NotAccumulated, .. } => Class::Operation,
            Of::Refused { why: Refusal::NotLocked, .. } => Class::RmaSync,
            Of::NotSpawned(_) => Class::Spawn,
            Of::Port(_) => Class::Port,
            Of::Lengths { .. } => Class::Count,
            _ => Class::Other,
        };
        let message = match error {
            Of::Failed(Failure::Truncated { message: bytes, source_rank: source, tag, .. }) => {
                Some(canele_engine::Status { source, tag, bytes })
            }
            _ => None,
        };
        Box::new(Error { message, ..*Error::new(class, error.to_string()) })
    }
}

/// Returns from the function with an error of a class and a formatted text.
#[macro_export]
macro_rules! fail {
    ($class:ident, $($text:tt)*) => {
        return Err($crate::Error::new($crate::Class::$class, format!($($text)*)).into())
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_comes_back_from_the_number_that_ranks_send() {
        let all = Class::ALL.into_iter().chain(Class::EXTENSIONS);
        let mut numbers: Vec<u8> = all
            .map(|class| {
                assert_eq!(Class::of_number(class.number()), Some(class));
                class.number()
            })
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), Class::ALL.len() + Class::EXTENSIONS.len());
        let others = (0..=u8::MAX).filter(|number| numbers.binary_search(number).is_err());
        others.for_each(|number| assert_eq!(Class::of_number(number), None));
    }
}
