//! The header of what is beyond the standard.

use std::fmt::Write;

use crate::exported::extensions;
use crate::tables::Tables;

/// Returns `mpi-ext.h`.
pub fn text(tables: &Tables) -> String {
    let mut text = String::from(HEAD);
    let mut put = |line: &str| writeln!(text, "{line}").expect("a string grows");
    tables.extension_constants.iter().for_each(|constant| {
        put(&format!("#define {} {}", constant.name, constant.value));
    });
    put("");
    let functions = extensions(tables);
    for prefix in ["", "P"] {
        functions.iter().for_each(|function| put(&format!("{};", function.declaration(prefix))));
    }
    text + TAIL
}

const HEAD: &str = "\
/* What Canelé has beyond MPI 5.0: process failures, by the names and meanings of the proposal User Level Failure Mitigation.
 * A program that uses it runs on this library alone; it asks for `canele run --on-failure continue`.
 * Generated from the tables in crates/mpi-tables/tables. */
#ifndef CANELE_MPI_EXT_H
#define CANELE_MPI_EXT_H

#include <mpi.h>

#ifdef __cplusplus
extern \"C\" {
#endif

";

const TAIL: &str = "
#ifdef __cplusplus
}
#endif

#endif
";
