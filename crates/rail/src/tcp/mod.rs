//! Ranks of several machines: connections of TCP.
#![allow(dead_code)]

mod wire;
