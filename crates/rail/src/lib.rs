//! rail
