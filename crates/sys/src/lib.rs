//! sys
pub mod spawn;
