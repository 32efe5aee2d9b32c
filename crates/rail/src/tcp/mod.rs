//! Ranks of several machines: connections of TCP.
#![allow(dead_code)]

pub mod handshake;
mod wire;
