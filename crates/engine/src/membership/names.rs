//! Names: a rank publishes a value under one, and any rank finds it there. The launcher keeps them.

use std::collections::HashMap;
use std::time::Instant;

use canele_control::ToLauncher;
use canele_sys::ids::Rank;

use crate::Error;
use crate::core::Core;
use crate::engine::Engine;
use crate::lane::awaited::Awaited;

/// The names that this rank asked for, and those of a job without a launcher.
#[derive(Default)]
pub(crate) struct Names {
    /// Queries that a thread waits for, with the answer once it has come.
    queries: HashMap<u64, Option<Vec<u8>>>,
    last_query: u64,
    /// Names that the launcher refused to publish.
    refused: Vec<String>,
    /// Names of a job without a launcher.
    own: HashMap<String, Vec<u8>>,
    /// True once this rank has published its marker: its answer follows those to all earlier questions.
    has_marker: bool,
}

impl Names {
    /// Begins a query; returns its number.
    fn begin_query(&mut self) -> u64 {
        self.last_query += 1;
        self.queries.insert(self.last_query, None);
        self.last_query
    }

    /// Takes the value that a query for `name` has found.
    fn take_value(&mut self, query: u64, name: &str) -> Option<Vec<u8>> {
        let value = self.queries.get_mut(&query)?.take().or_else(|| self.own.get(name).cloned())?;
        self.queries.remove(&query);
        Some(value)
    }

    /// Gives a query up: its answer, if one comes, is dropped.
    fn end_query(&mut self, query: u64) {
        self.queries.remove(&query);
    }

    /// Handles the answer to a query.
    pub fn handle_found(&mut self, query: u64, value: Vec<u8>) {
        if let Some(answer) = self.queries.get_mut(&query) {
            *answer = Some(value);
        }
    }

    /// Handles the launcher's refusal to publish a name.
    pub fn handle_refused(&mut self, name: String) {
        self.refused.push(name);
    }

    /// Returns true if the launcher refused this name since it was published.
    fn take_refusal(&mut self, name: &str) -> bool {
        let at = self.refused.iter().position(|refused| refused == name);
        at.map(|at| self.refused.swap_remove(at)).is_some()
    }

    /// Takes the names of a job without a launcher, which has one from now on.
    pub fn take_own(&mut self) -> HashMap<String, Vec<u8>> {
        std::mem::take(&mut self.own)
    }

    /// Publishes a name of a job without a launcher; returns true if it was free.
    fn publish_own(&mut self, name: &str, value: &[u8]) -> bool {
        let is_free = !self.own.contains_key(name);
        if is_free {
            self.own.insert(name.to_owned(), value.to_vec());
        }
        is_free
    }
}

/// Returns the name by which a rank marks the end of its earlier queries. It is found once the rank has
/// published it.
fn marker(rank: Rank) -> String {
    format!("canele asked {}", rank.0)
}

impl Engine {
    /// Returns the value published under `name`, if there is one now.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn lookup(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let marker = marker(self.rank());
        let mut core = self.lock_to_submit()?;
        if !core.membership.launcher.is_present() {
            return Ok(core.membership.names.own.get(name).cloned());
        }
        let query = core.membership.names.begin_query();
        core.membership.launcher.send(&ToLauncher::Find { ticket: query, name: name.to_owned() })?;
        if !std::mem::replace(&mut core.membership.names.has_marker, true) {
            core.membership
                .launcher
                .send(&ToLauncher::Publish { name: marker.clone(), value: Vec::new() })?;
        }
        drop(core);
        // The launcher answers in order: once it has found the marker, it has answered all earlier queries
        // that it can.
        self.find(&marker, None)?;
        let mut core = self.lock()?;
        let value = core.membership.names.take_value(query, name);
        if value.is_none() {
            core.membership.names.end_query(query);
            core.membership.launcher.send(&ToLauncher::Forget { ticket: query })?;
        }
        Ok(value)
    }

    /// Publishes `value` under `name`, visible to the whole job.
    ///
    /// # Errors
    /// `NameTaken`; the launcher is gone.
    pub fn publish(&self, name: &str, value: &[u8]) -> Result<(), Error> {
        let taken = || Error::NameTaken(name.to_owned());
        let mut core = self.lock_to_submit()?;
        let membership = &mut core.membership;
        if !membership.launcher.is_present() {
            return membership.names.publish_own(name, value).then_some(()).ok_or_else(taken);
        }
        membership.launcher.send(&ToLauncher::Publish { name: name.to_owned(), value: value.to_vec() })?;
        drop(core);
        // The launcher answers in order: once it has found the name, a refusal would have come.
        self.find(name, None)?;
        if self.lock()?.membership.names.take_refusal(name) { Err(taken()) } else { Ok(()) }
    }

    /// Takes a name back.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn withdraw(&self, name: &str) -> Result<(), Error> {
        let mut core = self.lock_to_submit()?;
        core.membership.names.own.remove(name);
        core.membership.launcher.send(&ToLauncher::Withdraw { name: name.to_owned() })
    }

    /// Returns the value published under `name`; waits until there is one, or until the deadline.
    ///
    /// # Errors
    /// `Deadline`; the launcher is gone.
    pub fn find(&self, name: &str, deadline: Option<Instant>) -> Result<Vec<u8>, Error> {
        let mut core = self.lock_to_submit()?;
        let query = core.membership.names.begin_query();
        core.membership.launcher.send(&ToLauncher::Find { ticket: query, name: name.to_owned() })?;
        let ready = |core: &mut Core| match core.check() {
            Ok(()) => core.membership.names.take_value(query, name).map(Ok),
            Err(error) => Some(Err(error)),
        };
        let (mut core, value) = self.wait_before(
            core,
            deadline,
            Awaited::Words(&|| format!("the name {name:?} to be published")),
            ready,
        );
        if value.is_none() {
            core.membership.names.end_query(query);
            core.membership.launcher.send(&ToLauncher::Forget { ticket: query })?;
        }
        value.unwrap_or_else(|| Err(Error::Deadline(format!("the name {name:?} to be published"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_the_query_that_asked_for_it_once() {
        let mut names = Names::default();
        let (first, second) = (names.begin_query(), names.begin_query());
        names.handle_found(second, vec![2]);
        assert_eq!(names.take_value(first, "x"), None);
        assert_eq!(names.take_value(second, "y"), Some(vec![2]));
        assert_eq!(names.take_value(second, "y"), None);
    }

    #[test]
    fn an_answer_that_no_thread_waits_for_is_dropped() {
        let mut names = Names::default();
        let query = names.begin_query();
        names.end_query(query);
        names.handle_found(query, vec![1]);
        names.handle_found(query + 1, vec![1]);
        assert!(names.queries.is_empty());
    }

    #[test]
    fn a_refusal_is_told_once() {
        let mut names = Names::default();
        names.handle_refused("x".into());
        assert!(!names.take_refusal("y"));
        assert!(names.take_refusal("x"));
        assert!(!names.take_refusal("x"));
    }

    #[test]
    fn a_job_without_a_launcher_publishes_a_name_once() {
        let mut names = Names::default();
        assert!(names.publish_own("x", &[1]));
        assert!(!names.publish_own("x", &[2]));
        let query = names.begin_query();
        assert_eq!(names.take_value(query, "x"), Some(vec![1]));
    }
}
