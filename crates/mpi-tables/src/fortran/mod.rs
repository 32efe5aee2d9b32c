//! Fortran: `mpif.h`, the modules `mpi` and `mpi_f08`, and the procedures behind them (MPI 5.0, chapter 19).
//!
//! The program's compiler compiles all of it, with its own LOGICAL, symbol names and module files. The
//! procedures call C's functions, so they work with any library of the standard ABI. The library
//! `libcanele_fort` implements array descriptors, and functions of the program that C calls. The command
//! `cargo run -p canele-mpi-tables --example fortran FOLDER` writes the files.
//!
//! ```text
//!   mpif.h ── constants, included by programs
//!   canele_support.f90 ── module canele_support: constants, interfaces of libcanele_fort, strings
//!   mpi_procedures.f90 ── mpi_send_ and so on, for mpif.h and the module mpi
//!   mpi.f90 ── module mpi: handles are of type INTEGER
//!   mpi_types.f90 ── modules canele_types and mpi_f08_types: types of handles and statuses
//!   mpi_f08.f90 ── module mpi_f08: buffers are descriptors
//!   mpi_f08_procedures_*.f90 ── MPI_Send_f08ts and so on, in parts that are compiled at once
//! ```

mod argument;
mod buffer;
mod callback;
mod constants;
mod long;
mod module;
mod mpif;
mod predefined;
mod procedure;
mod request;
mod shape;
mod short;
mod text;
mod types;

use crate::exported::{Exported, exported, removed_functions};
use crate::tables::Tables;
pub use long::IntegerLength;
use procedure::{Dialect, Procedure};

/// A file of the Fortran interface.
pub struct Source {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: String,
    /// True if it has modules that other files use; it is compiled before them.
    pub has_modules: bool,
}

/// Returns all files in compilation order, for a compiler with this INTEGER length. Files with the suffix
/// `.h` are only included.
pub fn sources(integers: IntegerLength) -> Vec<Source> {
    let tables = Tables::standard();
    let functions: Vec<Exported<'_>> = exported(&tables).into_iter().filter(has_fortran).collect();
    let removed: Vec<Exported<'_>> = removed_functions(&tables);
    let of = |function, dialect| Procedure::of(function, dialect, integers);
    let small: Vec<Procedure<'_>> = functions
        .iter()
        .flat_map(|function| match twin(function, &functions) {
            // An INTEGER of eight bytes is an MPI_Count.
            Some(twin) if integers == IntegerLength::Eight => {
                of(twin, Dialect::Mpi).into_iter().map(Procedure::with_short_name).collect()
            }
            _ if is_of_f08_alone(function) => Vec::new(),
            _ => of(function, Dialect::Mpi),
        })
        .collect();
    let values: Vec<Procedure<'_>> = functions
        .iter()
        .filter(|function| function.of.returns != "int")
        .flat_map(|function| of(function, Dialect::Mpi))
        .collect();
    let removed = removed.iter().flat_map(|function| of(function, Dialect::Removed));
    let old: Vec<Procedure<'_>> = small.into_iter().chain(removed).collect();
    let new: Vec<Procedure<'_>> = functions
        .iter()
        .flat_map(|function| match twin(function, &functions) {
            Some(twin) if integers == IntegerLength::Eight => {
                of(twin, Dialect::F08).into_iter().map(Procedure::with_short_name).collect()
            }
            _ => of(function, Dialect::F08),
        })
        .collect();
    let source = |name, text| Source { name, text, has_modules: true };
    let procedures = |name, text| Source { name, text, has_modules: false };
    let (first, rest) = new.split_at(new.len() / 3);
    let (second, third) = rest.split_at(rest.len() / 2);
    vec![
        source("mpif.h", mpif::text(&tables, integers)),
        source("canele_support.f90", constants::support(&tables, integers)),
        source("mpi_types.f90", types::text(&tables, integers)),
        source("mpi.f90", module::mpi(&tables, &old, integers)),
        source("mpi_f08.f90", module::mpi_f08(&new, &values)),
        procedures("mpi_procedures.f90", procedure::definitions(&old) + &predefined::text()),
        procedures("mpi_f08_procedures_1.f90", procedure::definitions(first)),
        procedures("mpi_f08_procedures_2.f90", procedure::definitions(second)),
        procedures("mpi_f08_procedures_3.f90", procedure::definitions(third)),
    ]
}

/// Returns the large-count function that an INTEGER of eight bytes needs, if any. The contents of a datatype
/// made with large counts are available only by `MPI_Type_get_contents_c`. So programs make theirs with small
/// counts.
fn twin<'a>(function: &Exported<'_>, all: &'a [Exported<'a>]) -> Option<&'a Exported<'a>> {
    let makes_a_type = function.parameters.iter().any(|parameter| parameter.name == "newtype");
    let is_twin =
        |other: &&Exported<'_>| other.large && other.name.strip_suffix("_c") == Some(&function.name);
    all.iter().find(is_twin).filter(|_| !makes_a_type)
}

/// Returns true for a function that the standard defines in Fortran.
fn has_fortran(function: &Exported<'_>) -> bool {
    let name = function.name.as_str();
    let is_of_c = name.starts_with("MPI_T_")
        || name.ends_with("_toint")
        || name.ends_with("_fromint")
        || name.contains("_fortran_");
    !is_of_c
}

/// Returns true for a function that the module `mpi` lacks, since it counts in MPI_Count.
fn is_of_f08_alone(function: &Exported<'_>) -> bool {
    function.large || function.name.ends_with("_c")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definitions of a procedure whose name begins so, with the general one.
    fn definitions(integers: IntegerLength, name: &str) -> String {
        let sources = sources(integers);
        let all = sources.iter().find(|source| source.name == "mpi_procedures.f90").unwrap();
        let all = all.text.split("\n\n").filter(|text| text.contains(&format!("{name}(")));
        all.collect::<Vec<_>>().join("\n\n")
    }

    #[test]
    fn an_integer_of_eight_bytes_takes_large_counts_and_checks_other_numbers() {
        let short = definitions(IntegerLength::Four, "subroutine MPI_Send");
        assert!(short.contains("canele_general_MPI_Send") && short.contains("name=\"MPI_Send\""), "{short}");
        assert!(!short.contains("MPI_ERR_RANK"), "{short}");
        let long = definitions(IntegerLength::Eight, "subroutine MPI_Send");
        assert!(!long.contains("canele_general_") && long.contains("name=\"MPI_Send_c\""), "{long}");
        assert!(long.contains("if (int(dest, c_int) /= dest) code = MPI_ERR_RANK"), "{long}");
        let made = definitions(IntegerLength::Eight, "subroutine MPI_Type_indexed");
        assert!(made.contains("name=\"MPI_Type_indexed\""), "a datatype tells its contents: {made}");
    }

    #[test]
    fn procedures_that_complete_requests_ask_one_word_first() {
        let wait = definitions(IntegerLength::Four, "subroutine MPI_Wait");
        let (asked, called) = (wait.find("if (canele_live /= 0)"), wait.find("code = c_MPI_Wait"));
        assert!(asked.is_some() && asked < called, "{wait}");
    }
}
