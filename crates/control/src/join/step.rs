//! A step of Slurm whose plugin speaks PMIx. Only the first rank of each node becomes a client of PMIx,
//! because each client costs several milliseconds of its node's server. All ranks know their numbers from
//! Slurm's variables, and find the agent of their host by the step's socket.
//!
//! ```text
//!   rank 0           listens, starts launcher and agent, puts the ticket
//!   first of a node  listens, gets the ticket, which waits for rank 0, starts the agent
//!   all              connect with the one that listens, which hands the socket to the agent
//! ```
//! Nodes that share a network namespace share the socket, and the first rank that listens starts the agent of
//! all of them.

use std::time::Duration;

use super::JoinError;
use super::exchange::{Exchange, open_pmix};
use super::helper::Helper;
use super::joining::JoiningRank;
use super::names::SocketName;
use crate::rank::Control;

/// The least time that ranks wait for each other: the default of Slurm's PMIx servers.
const STEP_TIMEOUT: Duration = Duration::from_secs(300);

/// A rank of such a step.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    rank: u32,
    pub ranks: u32,
    is_first_of_node: bool,
    socket: SocketName,
}

impl Step {
    /// Returns the step that the variables describe. Returns `None` if another launcher has set some of them.
    /// It also does so for the parts of a heterogeneous job, whose variables count differently.
    pub fn of(get: &impl Fn(&str) -> Option<String>) -> Option<Step> {
        let number = |name: &str| get(name)?.trim().parse::<u32>().ok();
        let namespace = get("PMIX_NAMESPACE").filter(|name| name.starts_with("slurm.pmix."))?;
        let (rank, ranks) = (number("PMIX_RANK")?, number("SLURM_STEP_NUM_TASKS")?);
        if number("SLURM_PROCID")? != rank || rank >= ranks || get("SLURM_HET_SIZE").is_some() {
            return None;
        }
        // The number of a step is unique in one cluster. The port of its `srun` is unique among the steps of
        // one host.
        let port = get("SLURM_SRUN_COMM_PORT").unwrap_or_default();
        let socket = SocketName::of_step(&format!("{namespace}-{port}"));
        Some(Step { rank, ranks, is_first_of_node: number("SLURM_LOCALID")? == 0, socket })
    }

    /// Joins the job.
    ///
    /// # Errors
    /// Fails with a [`JoinError`] if Slurm does not end the step then; other ranks of the step would wait for
    /// this one.
    pub fn join(
        self,
        get: &impl Fn(&str) -> Option<String>,
        timeout: Duration,
    ) -> Result<Control, JoinError> {
        let me = JoiningRank::new(self.rank, self.ranks, timeout.max(STEP_TIMEOUT));
        let joined = self.start_processes(me, get).and_then(|client| {
            let control = me.enter(&self.socket)?;
            if let Some(Client { exchange, launcher }) = client {
                exchange.finish()?;
                drop(launcher);
            }
            Ok(control)
        });
        joined.inspect_err(|why| end_step(get, why))
    }

    /// Starts the launcher on rank 0, and the agent on the first rank of each host. Both ranks are clients of
    /// PMIx.
    fn start_processes(
        &self,
        me: JoiningRank,
        get: &impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Client>, JoinError> {
        let listener = if self.is_first_of_node { me.listen(&self.socket)? } else { None };
        if self.rank == 0 {
            let mut ticket = me.draw_ticket()?;
            let launcher = Some(me.start_launcher(&mut ticket)?);
            me.start_agent(&ticket, listener)?;
            let mut exchange = open_pmix(get)?;
            exchange.put_ticket(&ticket)?;
            return Ok(Some(Client { exchange, launcher }));
        }
        if listener.is_none() {
            return Ok(None);
        }
        let mut exchange = open_pmix(get)?;
        let ticket = exchange.get_ticket()?;
        me.start_agent(&ticket, listener)?;
        Ok(Some(Client { exchange, launcher: None }))
    }
}

/// A rank that has become a client of PMIx.
struct Client {
    exchange: Exchange,
    launcher: Option<Helper>,
}

/// Asks Slurm to end the step, after a message. If all ranks of a node end at once, Slurm does not notice the
/// death of a client by itself.
fn end_step(get: &impl Fn(&str) -> Option<String>, why: &JoinError) {
    if let Ok(exchange) = open_pmix(get) {
        exchange.end_all(why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: [(&str, &str); 6] = [
        ("PMIX_NAMESPACE", "slurm.pmix.7.0"),
        ("PMIX_RANK", "2"),
        ("SLURM_PROCID", "2"),
        ("SLURM_LOCALID", "1"),
        ("SLURM_STEP_NUM_TASKS", "4"),
        ("SLURM_SRUN_COMM_PORT", "40351"),
    ];

    fn of(changed: &[(&str, &str)]) -> Option<Step> {
        let last = |variables: &[(&str, &str)], name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        };
        Step::of(&|name| {
            last(changed, name).or_else(|| last(&SECOND, name)).filter(|value| !value.is_empty())
        })
    }

    #[test]
    fn a_rank_of_a_step_knows_itself_and_where_it_finds_the_others_of_its_host() {
        let second = of(&[]).unwrap();
        assert_eq!((second.rank, second.ranks, second.is_first_of_node), (2, 4, false));
        let first = of(&[("PMIX_RANK", "0"), ("SLURM_PROCID", "0"), ("SLURM_LOCALID", "0")]).unwrap();
        assert_eq!((first.rank, first.is_first_of_node), (0, true));
        assert_eq!(first.socket, second.socket);
        for other in [("PMIX_NAMESPACE", "slurm.pmix.7.1"), ("SLURM_SRUN_COMM_PORT", "1")] {
            assert_ne!(of(&[other]).unwrap().socket, first.socket, "{other:?}");
        }
    }

    #[test]
    fn variables_that_another_launcher_has_set_or_that_are_missing_describe_no_step() {
        for other in [
            ("PMIX_NAMESPACE", "prterun-host-1@1"),
            ("PMIX_NAMESPACE", ""),
            ("PMIX_RANK", "1"),
            ("SLURM_LOCALID", ""),
            ("SLURM_PROCID", "x"),
            ("SLURM_STEP_NUM_TASKS", "2"),
            ("SLURM_HET_SIZE", "2"),
        ] {
            assert_eq!(of(&[other]), None, "{other:?}");
        }
    }
}
