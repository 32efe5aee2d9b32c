//! Fortran: `mpif.h`, the modules `mpi` and `mpi_f08`, and the procedures behind them (MPI 5.0, chapter 19).
//!
//! Everything here is Fortran that the compiler at hand compiles: its LOGICAL, its names of symbols and its module files are its own.
//! The procedures call C's functions with the prefix `PMPI_`, so they run over any library of the standard ABI.
//! `cargo run -p canele-mpi-tables --example fortran FOLDER` writes it.
//! What Fortran cannot say is in the library `libcanele_fort`: descriptors of arrays, and functions of the program that C calls.
//!
//! ```text
//!   mpif.h ── constants, included by programs
//!   canele_support.f90 ── module canele_support: constants, interfaces of libcanele_fort, strings
//!   mpi_procedures.f90 ── mpi_send_ and its kin, for mpif.h and the module mpi
//!   mpi.f90 ── module mpi: handles are of type INTEGER
//!   mpi_types.f90 ── modules canele_types and mpi_f08_types: types of handles and statuses
//!   mpi_f08.f90 ── module mpi_f08: buffers are descriptors
//!   mpi_f08_procedures_*.f90 ── MPI_Send_f08ts and its kin, in parts that are compiled at once
//! ```

mod argument;
mod buffer;
mod callback;
mod constants;
mod module;
mod mpif;
mod predefined;
mod procedure;
mod request;
mod shape;
mod text;
mod types;

use crate::exported::{Exported, exported, removed_functions};
use crate::tables::Tables;
use procedure::{Dialect, Procedure};

/// A file of the Fortran interface.
pub struct Source {
    /// Its name.
    pub name: &'static str,
    /// What it says.
    pub text: String,
    /// True if it has modules, which others use: it is compiled before them.
    pub has_modules: bool,
}

/// Returns all files in the order in which they are compiled. Those whose names end in `.h` are only included.
pub fn sources() -> Vec<Source> {
    let tables = Tables::standard();
    let functions: Vec<Exported<'_>> = exported(&tables).into_iter().filter(has_fortran).collect();
    let removed: Vec<Exported<'_>> = removed_functions(&tables);
    let small = || functions.iter().filter(|function| !is_of_f08_alone(function));
    let old: Vec<Procedure<'_>> = small()
        .flat_map(|function| Procedure::of(function, Dialect::Mpi))
        .chain(removed.iter().flat_map(|function| Procedure::of(function, Dialect::Removed)))
        .collect();
    let new: Vec<Procedure<'_>> =
        functions.iter().flat_map(|function| Procedure::of(function, Dialect::F08)).collect();
    let values: Vec<Procedure<'_>> = small()
        .filter(|function| function.of.returns != "int")
        .flat_map(|function| Procedure::of(function, Dialect::Mpi))
        .collect();
    let source = |name, text| Source { name, text, has_modules: true };
    let procedures = |name, text| Source { name, text, has_modules: false };
    let (first, rest) = new.split_at(new.len() / 3);
    let (second, third) = rest.split_at(rest.len() / 2);
    vec![
        source("mpif.h", mpif::text(&tables)),
        source("canele_support.f90", constants::support(&tables)),
        source("mpi_types.f90", types::text(&tables)),
        source("mpi.f90", module::mpi(&tables, &old)),
        source("mpi_f08.f90", module::mpi_f08(&new, &values)),
        procedures("mpi_procedures.f90", procedure::definitions(&old) + &predefined::text()),
        procedures("mpi_f08_procedures_1.f90", procedure::definitions(first)),
        procedures("mpi_f08_procedures_2.f90", procedure::definitions(second)),
        procedures("mpi_f08_procedures_3.f90", procedure::definitions(third)),
    ]
}

/// True for a function that the standard has in Fortran.
fn has_fortran(function: &Exported<'_>) -> bool {
    let name = function.name.as_str();
    let is_of_c = name.starts_with("MPI_T_")
        || name.ends_with("_toint")
        || name.ends_with("_fromint")
        || name.contains("_fortran_");
    !is_of_c
}

/// True for a function that the module `mpi` has not: it counts in MPI_Count.
fn is_of_f08_alone(function: &Exported<'_>) -> bool {
    function.large || function.name.ends_with("_c")
}
