//! The socket between a rank and its launcher: what is said on it, and the rank's end of it.
//!
//! Owns: the messages, their encoding (postcard, one message per `SOCK_SEQPACKET` packet, at most two
//! descriptors each), the environment a launcher gives to a rank, and the rank's end. Never: user data
//! (that moves on rails), rings or doorbells (the launcher rings after each message it puts in), `unsafe`.
//!
//! ```text
//!   rank                                   launcher
//!    Hello, Inbox(+fds) ───────────────▶   refused if its settings differ from those of the others
//!    ◀───────────────────────────────────  Welcome
//!    Connect{peer}      ───────────────▶
//!    ◀───────────────────────────────────  Peer(+fds), to both sides once both have sent their Inbox
//!    Addresses          ───────────────▶
//!    ◀───────────────────────────────────  Reach instead of Peer, where the two run on different hosts
//!    ◀───────────────────────────────────  Gone{rank}, when that rank can no longer answer
//!    CutOff{peer}       ───────────────▶   that rank broke the rules; all others are told
//!    ◀───────────────────────────────────  ShowLinks, when somebody looks at the job
//!    Links              ───────────────▶
//!    Finished           ───────────────▶   and then exit 0; anything else is a failure of this rank
//! ```

mod environment;
mod job;
mod links;
mod messages;
mod rank;
mod socket;

pub use environment::{Bind, Place, variable};
pub use job::{Host, JobInfo, Network};
pub use links::{Links, SocketLink};
pub use messages::{FromLauncher, Gone, MAX_MESSAGE, MAX_VALUE, OnFailure, ToLauncher, VERSION};
pub use rank::{Control, ControlError};
pub use socket::{Handed, ReceiveError, Received, SendError, Socket};
