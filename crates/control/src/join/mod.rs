//! How a rank that a launcher of another system has started joins its job.
//!
//! Owns the rank's part: who it is and what all ranks must know comes through that launcher; the processes that stand in for
//! Canelé's own launcher are started by the first rank of all and the first of each host. From there on the rank has a control socket as
//! under `canele run`.
//!
//! ```text
//!   rank 0                    the others
//!    draws number and key, listens for the ranks of its host, starts the launcher, which says where it listens
//!    put ticket ─── fence ─── get ticket
//!                             the first of a host that listens under the job's name there starts its agent
//!    all: connect with the agent of their host, Join ──▶ agent ──▶ launcher; ◀── Joined, once all ranks have come
//! ```
//! In a step of Slurm with PMIx the first rank of each node exchanges for the others, without a fence (`step`).
//! The host's socket has an abstract name, which reaches exactly those processes that descriptors can be handed to; both ends check
//! that the other is of this user. Agents and launcher prove to each other that they have the key.

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

/// Why a rank that another launcher has started cannot join its job.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// A launcher has started several ranks and gives them no means to find each other.
    #[error(
        "{name}={value} says that a launcher started several ranks, but it gives them no way to find each other: {remedy}"
    )]
    NoExchange {
        /// The variable that says so.
        name: &'static str,
        /// Its value.
        value: String,
        /// What to do.
        remedy: &'static str,
    },
    /// What the launcher says, or its variables, makes no sense, or it has ended.
    #[error(
        "{what}: the launcher that has started this program cannot be joined by its {protocol}; `canele run -n N …` starts it too"
    )]
    Exchange {
        /// The protocol.
        protocol: &'static str,
        /// What is wrong.
        what: String,
    },
    /// A process that stands in for Canelé's launcher cannot be started.
    #[error(
        "{command} join {role} cannot be started ({source}), which this program needs that another launcher has started: put the command \
         `canele` into the PATH on every host"
    )]
    Helper {
        /// The command.
        command: String,
        /// What it is to be.
        role: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The job does not come about.
    #[error("rank {rank} of {ranks} cannot join its job: {why}")]
    Refused {
        /// This rank.
        rank: u32,
        /// How many there are.
        ranks: u32,
        /// Why.
        why: String,
    },
    /// The system refused.
    #[error("rank {rank} of {ranks} cannot join its job: {source}")]
    System {
        /// This rank.
        rank: u32,
        /// How many there are.
        ranks: u32,
        /// Why.
        source: io::Error,
    },
}

/// Where the command `canele` lies, if that is known.
pub type FindCommand = fn() -> Option<PathBuf>;

static FIND: OnceLock<FindCommand> = OnceLock::new();

/// Says how the command `canele` is found, should this process need a launcher; else it is looked for as any command. The first one
/// counts.
pub fn find_command_by(find: FindCommand) {
    let _ = FIND.set(find);
}

/// The command `canele`.
pub fn command() -> PathBuf {
    FIND.get().and_then(|find| find()).unwrap_or_else(|| "canele".into())
}

impl Control {
    /// The control socket of this process: the one that its launcher gave it, or, of a rank that a launcher of another system has started, one
    /// to the processes that stand in for Canelé's. `Ok(None)`: the program was started alone. Once all ranks have called this, what
    /// is still missing comes within `timeout`.
    ///
    /// # Errors
    /// [`ControlError`] if the environment makes no sense, or the job does not come about. A process can join its job only once.
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

/// All ranks exchange: rank 0 puts the ticket, the others get it, and the first one of a host that listens under the job's number starts its agent.
fn join(mut exchange: Exchange, timeout: Duration) -> Result<Control, JoinError> {
    let me = JoiningRank::new(exchange.rank(), exchange.ranks(), timeout);
    let met = meet(me, &mut exchange);
    // `srun --mpi=pmi2` does not end the others, which would wait at the fence for ever. Hydra's proxy does when a connection ends, and would
    // kill this process before its message. Servers of PMIx end all by themselves. Who does not understand its launcher asks it for nothing more.
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

/// What a rank has when all have met: the ticket; where it listens for the ranks of its host, if it does; of rank 0 the launcher, which learns by
/// the helper's end that this rank has died.
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
