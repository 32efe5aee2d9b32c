//! Messages between two ranks: blocking, non-blocking, probed, and building blocks for the waits of layers
//! above.

pub(crate) mod any_sender;
pub(crate) mod completions;
pub(crate) mod deferred;
pub(crate) mod follow_ups;
mod layers;
pub(crate) mod pending;
mod probe;
pub(crate) mod requests;
mod several_lanes;
mod short;
pub(crate) mod tagged;
#[cfg(test)]
mod tests;
pub(crate) mod view;
