//! proto
#![forbid(unsafe_code)]

pub mod matching;
pub mod slab;
