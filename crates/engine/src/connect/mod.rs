//! Connections: the links of a rank to ranks of its host and of others, and its reports to the launcher about
//! them.

pub(crate) mod connections;
pub(crate) mod host;
pub(crate) mod other_jobs;
#[cfg(test)]
mod tests;
