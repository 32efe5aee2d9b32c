//! `libcanele.so.0`: Canelé's own interface for programs in C and C++, declared in `canele.h`.
//!
//! This crate knows only handles, pointers and error codes; the calls themselves are in `canele`. A method
//! `Noun::method` of that crate is the function `canele_noun_method` here. Methods of its `Endpoint` are
//! functions of the job.
//!
//! ```text
//!   C ── canele_flow_send(flow, to, tag, data, bytes)
//!      │ error.rs: call          panics and errors become codes, the text is kept for canele_error_text
//!      │ handle.rs: get          a handle that is NULL, closed or of another kind is an error
//!      │ memory.rs: bytes        an address and a length become a slice
//!   Flow::send
//! ```
//!
//! A pointer that is not null is trusted to point to the memory described in the header. Everything else
//! (handles, ranks, tags, lengths, types, operations) is checked.
//!
//! `tests/header.rs` makes the header from these sources, so the documentation of exported items is written
//! for it.
#![allow(non_camel_case_types)] // The names of types are those of C.
#![allow(clippy::missing_safety_doc)] // The header says what pointers point to, once for all functions.

mod channel;
mod collective;
mod error;
mod flow;
mod handle;
mod job;
mod mailbox;
mod memory;
mod message;
mod notice;
mod probe;
mod region;
mod request;
mod short;
mod tagged;
mod types;
