//! sys
pub mod ids;
