//! MPI's C interface: conversion between handles, pointers and numbers of C and the calls of `canele-mpi`.
//!
//! This crate knows handle values, struct layouts, constants and pointers; the semantics of calls are in
//! `canele_mpi`. A function of the standard is a plain function here with the standard's parameters. The
//! library of an ABI exports them by the table of `canele-mpi-tables`.
//!
//! The memory layout of an ABI (handles, constants, statuses) is in a crate of that ABI, the dependency
//! `layout`. It is `canele-mpi-layout` for the standard ABI. `canele-mpich-c` compiles these sources over
//! `canele-mpich-layout`, for MPICH's ABI.
//!
//! Trust in C: a pointer that is not null must be valid as the standard requires. Handles, counts, ranks,
//! tags and flags are checked.
#![allow(non_camel_case_types)] // The names of types are the standard's.
#![allow(clippy::too_many_arguments)] // The parameters are the standard's.
#![allow(clippy::unit_arg)] // `Ok(…)` of a call without a result converts its error.

pub mod abi;
pub mod address;
pub mod attributes;
pub mod buffer;
pub mod cache;
pub mod codes;
pub mod collective;
pub mod comm;
pub mod conversions;
pub mod cplusplus;
pub mod datatype;
pub mod dynamic;
pub mod environment;
pub mod errhandlers;
pub mod error;
pub mod error_classes;
pub mod failure;
pub mod file;
mod foreign_handle;
pub mod fortran;
pub mod generalized;
pub mod groups;
pub mod handle;
pub mod hardware;
pub mod infos;
mod leaks;
pub mod library;
pub mod memory;
pub mod operations;
pub mod point;
pub mod pointer;
mod program_call;
pub mod removed;
pub mod requests;
pub mod session;
pub mod status;
mod table;
pub mod tools;
pub mod topology;
pub mod traced;
pub mod types;
pub mod width;
pub mod window;

pub use layout::constants;
