//! The functions and constants of MPI 5.0 as data, and the texts that are generated from them.
//!
//! ```text
//!   tables/functions.tsv   one row for each function with a body
//!   tables/kinds.tsv       the types of a parameter in each language
//!   tables/constants.tsv, removed_constants.tsv   names and values of the standard ABI
//!   tables/types.txt       type definitions of C
//!   tables/mpich_*         the tables of MPICH's ABI, and the functions that only its library has
//!   tables/openmpi_*       the tables of Open MPI's ABI, and the variables whose addresses are its handles
//!   tables/extensions.tsv  functions beyond the standard, with the columns of functions.tsv
//!   tables/extension_constants.tsv   constants beyond the standard, for its ABI
//!
//!   functions ──▶ exported: the large-count forms, and the three forms of each collective
//!                   ├──▶ exports::rust     functions of the C interface
//!                   ├──▶ header::text      mpi.h
//!                   ├──▶ extensions::text  mpi-ext.h
//!                   └──▶ summary::text     the implemented functions, for docs/mpi-conformance.md
//!   constants ────▶ constants::rust
//!   objects ──────▶ objects::rust
//!   fortran::sources       mpif.h and the modules mpi and mpi_f08
//! ```
//! Columns of `functions.tsv`:
//!
//! | column | meaning |
//! |---|---|
//! | `function`, `returns` | name and result in C |
//! | `parameters` | `name:kind` from `kinds.tsv`; `kind*` is a place, `kind[]` an array, `kind[]*` a written array |
//! | `chapter` | the chapter of the function |
//! | `errors` | the object on which errors are raised: the parameter of this kind (`errhandler`: by that handler), `file` (the handler of files), `self` (`MPI_COMM_SELF`), `code` (none, only the code is returned) |
//! | `call` | `any`: may be called at any time, also before MPI is initialised, and is not traced |
//! | `form` | `collective`: blocking, immediate and persistent; `short`: the body with the suffix `_at_once` is tried first, without a frame, and the body with the suffix `_refused` continues a refused call; `mapped`: the body with the suffix `_at_once` returns true if it did all; `value`: cannot fail and returns its result; in the chapter `removed`: the successor |
//! | `body` | path of the Rust function in `canele-mpi-c`, or `-`: not implemented |
//!
//! A function has a large-count form if a parameter's kind has another C type there.
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
