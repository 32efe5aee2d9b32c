//! The header for C programs.

use std::fmt::Write;

use crate::exported::exported;
use crate::tables::{Constant, Tables};

/// Returns `mpi.h`.
pub fn text(tables: &Tables) -> String {
    let mut text = String::from(HEAD);
    let mut put = |line: &str| writeln!(text, "{line}").expect("a string grows");
    tables.types.iter().for_each(|line| put(&format!("typedef {line};")));
    put("");
    for constant in tables.constants.iter().filter(|c| c.is_macro) {
        put(&format!("#define {} {}", constant.name, constant.value));
    }
    put("\nenum {");
    for Constant { name, value, .. } in tables.constants.iter().filter(|c| !c.is_macro) {
        // Those with a type of their own stand in the types.
        if !OWN_TYPES.iter().any(|prefix| name.starts_with(prefix)) {
            put(&format!("    {name} = {value},"));
        }
    }
    put("};\n");
    let functions = exported(tables);
    for prefix in ["", "P"] {
        for function in &functions {
            let list = function.declared();
            let list = if list.is_empty() { "void".to_owned() } else { list.join(", ") };
            put(&format!("{} {prefix}{}({list});", function.of.returns, function.name));
        }
    }
    text + TAIL
}

const OWN_TYPES: [&str; 2] = ["MPI_T_CB_REQUIRE_", "MPI_T_SOURCE_"];

const HEAD: &str = "\
/* The C interface of MPI 5.0 by its standard ABI: what is compiled with it runs on every library with that ABI.
 * Generated from the tables in crates/mpi-tables/tables. */
#ifndef MPI_H_ABI
#define MPI_H_ABI

#include <stdint.h>

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
