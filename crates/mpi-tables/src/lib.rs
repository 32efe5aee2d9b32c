//! The functions and constants of MPI 5.0 as data, and the texts that are generated from them.
//!
//! ```text
//!   tables/functions.tsv   one row for each function that is written by hand
//!   tables/kinds.tsv       what a parameter is in each language
//!   tables/constants.tsv, removed_constants.tsv   names and values of the standard ABI
//!   tables/types.txt       type definitions of C
//!   tables/mpich_*         the same of MPICH's ABI, and the functions that its library alone has
//!   tables/openmpi_*       the same of Open MPI's ABI, and the variables whose addresses are its handles
//!   tables/extensions.tsv  functions beyond the standard, with the columns of functions.tsv
//!   tables/extension_constants.tsv   those beyond the standard, by its ABI
//!
//!   functions ──▶ exported: the large-count twins, and the three forms of each collective
//!                   ├──▶ exports::rust     functions of the C interface
//!                   ├──▶ header::text      mpi.h
//!                   ├──▶ extensions::text  mpi-ext.h
//!                   └──▶ summary::text     what is written, for docs/mpi-conformance.md
//!   constants ────▶ constants::rust
//!   objects ──────▶ objects::rust
//!   fortran::sources       mpif.h and the modules mpi and mpi_f08
//! ```
//! Columns of `functions.tsv`:
//!
//! | column | meaning |
//! |---|---|
//! | `function`, `returns` | name and result in C |
//! | `parameters` | `name:kind`, kinds as in `kinds.tsv`; `kind*` is a place, `kind[]` an array, `kind[]*` an array that is written |
//! | `chapter` | what the function belongs to |
//! | `errors` | on which object its errors are raised: the parameter of this kind (`errhandler`: by that handler), `file` (that of files), `self` (`MPI_COMM_SELF`), `code` (none: the code is all) |
//! | `call` | `any`: may be called at any time, before MPI is initialised too, and is recorded in no trace |
//! | `form` | `collective`: blocking, immediate and persistent; `short`: the body with the suffix `_at_once` is tried first, without a frame, and what it has tried in vain goes on with the suffix `_refused`; `mapped`: the same, which says whether it did all; `value`: cannot fail, and returns its result; in the chapter `removed`: the successor |
//! | `body` | path of the Rust function in `canele-mpi-c`, or `-`: not written |
//!
//! A function has a large-count twin if a parameter is of a kind whose C type differs there.
#![forbid(unsafe_code)]

pub mod constants;
mod conversions;
mod exported;
pub mod exports;
pub mod extensions;
pub mod fortran;
pub mod header;
pub mod objects;
mod removed;
pub mod summary;
mod tables;

pub use exported::{CallForm, Exported, exported, removed_functions};
pub use tables::{Abi, Constant, FunctionRow, ObjectRow, Parameter, ParameterKind, Tables};
