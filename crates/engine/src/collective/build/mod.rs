//! The algorithms: pure functions from a seat and a size to that rank's schedule.

pub(crate) mod bruck;
pub(crate) mod flat;
pub(crate) mod long;
pub(crate) mod short;
