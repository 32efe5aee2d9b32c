//! The values of the ABI.

include!(concat!(env!("OUT_DIR"), "/constants.rs"));
