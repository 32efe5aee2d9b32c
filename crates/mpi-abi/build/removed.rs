//! The part of the header that declares what MPI 3.0 removed, for programs that ask for it.

use std::fmt::Write;
use std::path::Path;

use crate::header::{cast, declaration};
use crate::tables::{Function, Parameter};

/// What programs of MPI 1 name beside functions. The ABI has no values for them: markers have those of no handle, and combiners
/// those that no datatype's envelope has.
const CONSTANTS: [(&str, &str); 5] = [
    ("MPI_LB", "((MPI_Datatype)0x00000ff0)"),
    ("MPI_UB", "((MPI_Datatype)0x00000ff1)"),
    ("MPI_COMBINER_HVECTOR_INTEGER", "1105"),
    ("MPI_COMBINER_HINDEXED_INTEGER", "1107"),
    ("MPI_COMBINER_STRUCT_INTEGER", "1110"),
];

pub fn text(table: &Path) -> String {
    let rows = std::fs::read_to_string(table).unwrap_or_else(|e| panic!("{}: {e}", table.display()));
    let functions: Vec<(Function, &str)> = rows.lines().skip(1).map(function).collect();
    let mut text = String::from(HEAD);
    let mut put = |line: &str| writeln!(text, "{line}").expect("a string grows");
    CONSTANTS.iter().for_each(|(name, value)| put(&format!("#define {name} {}", cast(value))));
    for prefix in ["", "P"] {
        for (function, instead) in &functions {
            put(&format!("{} MPI_ABI_REMOVED(\"{instead}\");", declaration(function, prefix)));
        }
    }
    text + "#undef MPI_ABI_REMOVED\n#endif\n"
}

/// A row of the table, and what is used instead.
fn function(row: &str) -> (Function, &str) {
    let [name, returns, parameters, instead] = row.split('\t').collect::<Vec<_>>()[..] else {
        panic!("name, result, parameters, what is used instead: {row}")
    };
    let parameters = parameters.split(", ").map(|p| Parameter { declared: p.to_owned() }).collect();
    (Function { name: name.to_owned(), returns: returns.to_owned(), parameters }, instead)
}

const HEAD: &str = "
/* What MPI 3.0 removed: the library has it, and declares it for programs that are compiled with -DMPI_REMOVED_API. */
#ifdef MPI_REMOVED_API
#define MPI_ABI_REMOVED(instead) __attribute__((deprecated(\"removed from MPI 3.0: use \" instead)))
typedef MPI_Comm_errhandler_function MPI_Handler_function;
";
