//! proto
#![forbid(unsafe_code)]

pub mod slab;
