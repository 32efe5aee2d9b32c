//! engine
pub mod control;
