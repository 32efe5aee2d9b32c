//! The header part that declares functions removed in MPI 3.0, for programs that request it.

use std::fmt::Write;

use crate::exported::removed_functions;
use crate::header::define;
use crate::tables::{Abi, Tables};

/// Returns the declarations.
pub fn text(tables: &Tables) -> String {
    let functions = removed_functions(tables);
    // MPICH's header always declares them.
    let asked = tables.abi != Abi::Mpich;
    let (condition, end) = if asked { (IF_ASKED, "#endif\n") } else { ("", "") };
    let mut text = format!("\n{condition}{HEAD}");
    let mut put = |line: &str| writeln!(text, "{line}").expect("a string grows");
    // The standard ABI has no values for them. Markers get values of no handle, and combiners get values that
    // no datatype's envelope has.
    let constants = tables.removed_constants.iter();
    constants.for_each(|of| put(&define(tables, of)));
    for prefix in ["", "P"] {
        for function in &functions {
            let instead = function.of.successor.as_deref().unwrap_or_default();
            put(&format!("{} MPI_ABI_REMOVED(\"{instead}\");", function.declaration(prefix)));
        }
    }
    text + "#undef MPI_ABI_REMOVED\n" + end
}

const IF_ASKED: &str = "\
/* What MPI 3.0 removed: the library has it, and declares it for programs that are compiled with -DMPI_REMOVED_API. */
#ifdef MPI_REMOVED_API
";

const HEAD: &str = "\
#define MPI_ABI_REMOVED(instead) __attribute__((deprecated(\"removed from MPI 3.0: use \" instead)))
typedef MPI_Comm_errhandler_function MPI_Handler_function;
";
