//! The socket between a rank and its launcher: its messages, and the rank's end of it.
//!
//! Owns the messages, their encoding (postcard, one message per `SOCK_SEQPACKET` packet with its
//! descriptors), the environment that a launcher gives to a rank, and the rank's end. Never carries user
//! data, which moves on rails. Owns no rings and no notifications: the launcher notifies a rank after each
//! message that it puts into the socket.
//!
//! ```text
//!   rank                                   launcher
//!    Hello              ───────────────▶
//!    ◀───────────────────────────────────  Welcome
//!    Inbox(+fds)        ───────────────▶   refused if its settings differ from those of the others
//!    Connect{peers}     ───────────────▶
//!    ◀───────────────────────────────────  Peers(+fds), to both sides once both have sent their Inbox
//!    Addresses          ───────────────▶
//!    ◀───────────────────────────────────  Reach instead of Peers, where the two run on different hosts
//!    ◀───────────────────────────────────  Gone{rank}, when that rank can no longer answer
//!    ◀───────────────────────────────────  Finished{ranks}, those that ended in order
//!    Spawn              ───────────────▶   ranks are added to the job
//!    ◀───────────────────────────────────  Grown to all, then Spawned once they run
//!    Accept, ConnectPort───────────────▶   matched with each other, also with those of another job
//!    ◀───────────────────────────────────  Connected
//!    Ring{to}(+fd)      ───────────────▶   Ring to that rank, where one of the two was spawned
//!    CutOff{peer}       ───────────────▶   that rank broke the rules; all others learn of it
//!    Unreachable{peer}  ───────────────▶   no network reaches it; one of the two hosts may be given up
//!    ◀───────────────────────────────────  ShowLinks, when a command asks for the links
//!    Links              ───────────────▶
//!    Abort{ranks}       ───────────────▶   these ranks are killed; if they are all, the job ends
//!    GivenUp            ───────────────▶   operations are under way at the rank's end
//!    Finished           ───────────────▶   and then exit 0; anything else is a failure of this rank
//!    ◀───────────────────────────────────  Over: all have finished, in a job of another launcher
//! ```
#![forbid(unsafe_code)]

mod environment;
mod from_launcher;
mod job;
pub mod join;
mod links;
mod messages;
mod network;
mod rank;
mod rank_map;
mod socket;
mod waits;

pub use environment::{RankPlace, foreign_names, variable};
pub use from_launcher::{FromLauncher, PeerInbox, RankEnd};
pub use job::{Host, JobInfo, JobRank, SpawnedWorld, draw_job_id};
pub use links::{Links, SocketLink};
pub use messages::{
    MAX_MESSAGE, MAX_RAIL_ADDRESS, MAX_VALUE, MOST_INBOXES, MOST_LANES, MOST_PEERS, MOST_RAILS, MOST_SERIES,
    Meeting, OnFailure, PortName, RailAddress, SpawnProgram, ToLauncher, VERSION, check_addresses, series_of,
};
pub use network::JobNetwork;
pub use rank::{Control, ControlError, MessageWithDescriptors};
pub use rank_map::{RankMap, RankSet};
pub use socket::{
    Handed, MOST_DESCRIPTORS, MessageAndHanded, ReceiveError, SEND_AGAIN, SendError, Socket, send_until_taken,
};
pub use waits::{ThreadWait, UnexpectedMessage, WaitCollective, WaitMessage, WaitOperation, Waits};
