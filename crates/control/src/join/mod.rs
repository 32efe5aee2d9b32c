//! Joining a job from a rank that a launcher of another system has started.
//!
//! Owns the rank's part. The rank's number and the common data of all ranks come through that launcher. The
//! first rank of all and the first of each host start the processes that replace Canelé's own launcher. From
//! there on the rank has a control socket as under `canele run`.
//!
//! ```text
//!   rank 0                    the others
//!    draws number and key, listens for the ranks of its host, starts the launcher, gets its addresses
//!    put ticket ─── fence ─── get ticket
//!                             the first of a host that listens under the job's name there starts its agent
//!    all: connect with the agent of their host, Join ──▶ agent ──▶ launcher; ◀── Joined, once all are there
//! ```
//! In a step of Slurm with PMIx, the first rank of each node exchanges for the others, without a fence
//! (`step`). The host's socket has an abstract name. Exactly those processes can reach it to which
//! descriptors can be passed. Both ends check that the other is of this user. Agents and launcher prove to
//! each other that they have the key.

mod election;
#[cfg(test)]
mod election_tests;
mod exchange;
mod helper;
mod joining;
mod local;
mod messages;
mod names;
mod pmi;
mod search;
mod starter;
mod step;
mod ticket;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

pub use local::accept_from_this_user;
pub use messages::{JoinAnswer, JoinRequest, JoinTask};
pub use search::is_of_this_user;
pub use ticket::MOST_ADDRESSES;

use crate::ControlError;
use crate::rank::Control;
use exchange::{Clients, Exchange};
use helper::Helper;
use joining::JoiningRank;
use names::SocketName;
use starter::StarterWatch;
use ticket::Ticket;

/// The reason why a rank that another launcher has started cannot join its job.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// A launcher has started several ranks and gives them no means to find each other.
    #[error(
        "{name}={value} says that a launcher started several ranks, but it gives them no way to find each other: {remedy}"
    )]
    NoExchange {
        /// The variable that shows that several ranks were started.
        name: &'static str,
        /// The value.
        value: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The launcher's answer or its variables are invalid, or it has ended.
    #[error(
        "{what}: the launcher that has started this program cannot be joined by its {protocol}; `canele run -n N …` starts it too"
    )]
    Exchange {
        /// The protocol.
        protocol: &'static str,
        /// A description of the problem.
        what: String,
    },
    /// A process that replaces Canelé's launcher cannot be started.
    #[error(
        "{command} join {role} cannot be started ({source}), which this program needs that another launcher has started: put the command \
         `canele` into the PATH on every host"
    )]
    Helper {
        /// The command.
        command: String,
        /// The role of the process.
        role: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// The job cannot start.
    #[error("rank {rank} of {ranks} cannot join its job: {why}")]
    Refused {
        /// This rank.
        rank: u32,
        /// The number of ranks.
        ranks: u32,
        /// The reason.
        why: String,
    },
    /// The system refused.
    #[error("rank {rank} of {ranks} cannot join its job: {source}")]
    System {
        /// This rank.
        rank: u32,
        /// The number of ranks.
        ranks: u32,
        /// The cause.
        source: io::Error,
    },
}

/// Returns the path of the command `canele`, if it is known.
pub type FindCommand = fn() -> Option<PathBuf>;

static FIND: OnceLock<FindCommand> = OnceLock::new();

/// Sets the function that finds the command `canele` if this process needs a launcher. Without it the command
/// is searched as any other. Only the first call has an effect.
pub fn find_command_by(find: FindCommand) {
    let _ = FIND.set(find);
}

/// Returns the command `canele`.
pub fn command() -> PathBuf {
    FIND.get().and_then(|find| find()).unwrap_or_else(|| "canele".into())
}

impl Control {
    /// Returns the control socket of this process. It leads to its launcher, or to the processes that replace
    /// Canelé's launcher under another system. Returns `Ok(None)` if the program was started alone. Once all
    /// ranks have called this, the processes of the job are started within `timeout`.
    ///
    /// # Errors
    /// Fails with a [`ControlError`] if the environment is invalid, or the job cannot start. A process can
    /// join its job only once.
    pub fn join(timeout: Duration) -> Result<Option<Control>, ControlError> {
        if let Some(control) = Control::from_env()? {
            return Ok(Some(control));
        }
        let get = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let _watch = StarterWatch::begin(&get);
        match Clients::find(&get)? {
            None => Ok(None),
            Some(Clients::All(exchange)) if exchange.ranks() == 1 => exchange.finish().map(|()| None),
            Some(Clients::FirstOfNode(step)) if step.ranks == 1 => Ok(None),
            Some(Clients::All(exchange)) => join(exchange, timeout).map(Some),
            Some(Clients::FirstOfNode(step)) => step.join(&get, timeout).map(Some),
        }
        .map_err(ControlError::from)
    }
}

/// Lets all ranks exchange: rank 0 puts the ticket, the others get it. On each host, the first rank that
/// listens under the job's number starts the host's agent.
fn join(mut exchange: Exchange, timeout: Duration) -> Result<Control, JoinError> {
    let me = JoiningRank::new(exchange.rank(), exchange.ranks(), timeout);
    let met = meet(me, &mut exchange);
    // `srun --mpi=pmi2` does not end the other ranks, which would wait at the fence for ever. Hydra's proxy
    // ends them when a connection ends, and would kill this process before its message. PMIx servers end all
    // ranks themselves. After an error of the exchange a rank asks its launcher for nothing more.
    if let (Err(why), Exchange::Pmi(_)) = (&met, &exchange)
        && !matches!(why, JoinError::Exchange { .. })
    {
        exchange.end_all(why);
    }
    let (ticket, listener, launcher) = met?;
    exchange.finish()?;
    me.start_agent(&ticket, listener)?;
    let control = me.enter(&SocketName::of_job(ticket.job))?;
    drop(launcher);
    Ok(control)
}

/// The results of the exchange: the ticket; the socket that listens for the ranks of the host, if this rank
/// has it; for rank 0 the launcher. The launcher learns of this rank's death when the helper closes.
type Met = (Ticket, Option<OwnedFd>, Option<Helper>);

fn meet(me: JoiningRank, exchange: &mut Exchange) -> Result<Met, JoinError> {
    if me.rank > 0 {
        exchange.fence()?;
        let ticket = exchange.get_ticket()?;
        let listener = me.listen(&SocketName::of_job(ticket.job))?;
        return Ok((ticket, listener, None));
    }
    let mut ticket = me.draw_ticket()?;
    let listener = me.listen(&SocketName::of_job(ticket.job))?;
    let launcher = me.start_launcher(&mut ticket)?;
    exchange.put_ticket(&ticket)?;
    exchange.fence()?;
    Ok((ticket, listener, Some(launcher)))
}
