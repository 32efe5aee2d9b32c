//! Connections: the links of a rank to ranks of its host and of others, and what it tells the launcher for them.

pub(crate) mod connections;
pub(crate) mod host;
pub(crate) mod other_jobs;
#[cfg(test)]
mod tests;
