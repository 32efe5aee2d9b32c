//! Names: a rank publishes a value under one, any rank finds it there. Kept by the launcher.

use std::time::Instant;

use crate::Error;
use crate::control::ToLauncher;
use crate::core::Core;
use crate::engine::Engine;
use crate::wait::Unmet;

impl Engine {
    /// Publishes `value` under `name`, visible to the whole job.
    ///
    /// # Errors
    /// `NameTaken`; the launcher is gone.
    pub fn publish(&self, name: &str, value: &[u8]) -> Result<(), Error> {
        let mut core = self.enter_to_submit()?;
        if core.control.is_none() {
            if core.own_names.contains_key(name) {
                return Err(Error::NameTaken(name.to_owned()));
            }
            core.own_names.insert(name.to_owned(), value.to_vec());
            return Ok(());
        }
        core.tell(&ToLauncher::Publish { name: name.to_owned(), value: value.to_vec() })?;
        drop(core);
        // The launcher answers in order: once it has found the name, a refusal would have come.
        self.find(name, None)?;
        let mut core = self.enter()?;
        match core.refused.iter().position(|refused| refused == name) {
            Some(at) => {
                core.refused.swap_remove(at);
                Err(Error::NameTaken(name.to_owned()))
            }
            None => Ok(()),
        }
    }

    /// Takes a name back.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn withdraw(&self, name: &str) -> Result<(), Error> {
        let mut core = self.enter_to_submit()?;
        core.own_names.remove(name);
        core.tell(&ToLauncher::Withdraw { name: name.to_owned() })
    }

    /// The value published under `name`; waits until there is one, or until the deadline.
    ///
    /// # Errors
    /// `Deadline`; the launcher is gone.
    pub fn find(&self, name: &str, deadline: Option<Instant>) -> Result<Vec<u8>, Error> {
        let mut core = self.enter_to_submit()?;
        core.tickets += 1;
        let ticket = core.tickets;
        core.tell(&ToLauncher::Find { ticket, name: name.to_owned() })?;
        let ready = |core: &mut Core| {
            if let Err(error) = core.check() {
                return Some(Err(error));
            }
            core.found.remove(&ticket).or_else(|| core.own_names.get(name).cloned()).map(Ok)
        };
        match self.wait_for(core, deadline, ready) {
            Ok((_core, value)) => value,
            Err((mut core, Unmet::Deadline)) => {
                core.tell(&ToLauncher::Forget { ticket })?;
                core.found.remove(&ticket);
                Err(Error::Deadline(format!("the name {name:?} to be published")))
            }
            Err((_core, Unmet::Error(error))) => Err(error),
        }
    }
}
