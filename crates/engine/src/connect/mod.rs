//! Connections: the rails of a rank, and the links to ranks of this host and of others.

pub(crate) mod network;
mod own_addresses;
pub(crate) mod rails;
mod shared_memory;
#[cfg(test)]
mod tests;
