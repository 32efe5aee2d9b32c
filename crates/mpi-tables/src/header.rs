//! The header for C programs, one for each ABI.

pub(crate) mod others;

use std::fmt::Write;

use crate::exported::exported;
use crate::tables::{Abi, Constant, Tables};
use crate::{conversions, removed};

/// Returns `mpi.h`.
pub fn text(tables: &Tables) -> String {
    let mut text = others::head(tables.abi);
    text += HEAD;
    text += others::identity(tables.abi);
    let mut put = |line: &str| writeln!(text, "{line}").expect("a string grows");
    tables.types.iter().for_each(|line| put(&format!("typedef {line};")));
    tables.objects.iter().for_each(|object| put(&format!("extern struct canele_object {};", object.name)));
    put("");
    for constant in tables.constants.iter().filter(|of| of.is_macro && !others::is_variable(tables.abi, of)) {
        put(&define(tables, constant));
    }
    let enumerators: Vec<_> =
        tables.constants.iter().filter(|of| !of.is_macro && !has_own_type(&of.name)).collect();
    match tables.abi {
        Abi::Standard => put(&enumeration(&enumerators)),
        // Programs for these test the names by the preprocessor.
        Abi::Mpich | Abi::OpenMpi => enumerators.iter().for_each(|constant| put(&define(tables, constant))),
    }
    let functions = exported(tables);
    for prefix in ["", "P"] {
        functions.iter().for_each(|function| put(&format!("{};", function.declaration(prefix))));
    }
    put("");
    match tables.abi {
        Abi::Standard => text += &conversions::text(),
        Abi::Mpich | Abi::OpenMpi => text += &others::text(tables),
    }
    text += &removed::text(tables);
    text + TAIL
}

/// Returns the definition of a constant as a macro.
pub(crate) fn define(tables: &Tables, constant: &Constant) -> String {
    format!("#define {} {}", constant.name, cast(tables, &constant.value))
}

fn enumeration(constants: &[&Constant]) -> String {
    let lines: Vec<_> =
        constants.iter().map(|Constant { name, value, .. }| format!("    {name} = {value}")).collect();
    format!("\nenum {{\n{}\n}};\n", lines.join(",\n"))
}

/// Returns true if an enumerator belongs to a type in the table of types.
fn has_own_type(name: &str) -> bool {
    ["MPI_T_CB_REQUIRE_", "MPI_T_SOURCE_"].iter().any(|prefix| name.starts_with(prefix))
}

/// Returns a value that the table contains as `((TYPE)NUMBER)`, with a cast that causes no warning in C++.
fn cast(tables: &Tables, value: &str) -> String {
    let is_number = |of: &str| {
        of == "MPI_Offset" || tables.types.iter().any(|line| line.strip_prefix("int ") == Some(of))
    };
    let parts = value
        .strip_prefix("((")
        .and_then(|rest| rest.strip_suffix(')'))
        .and_then(|rest| rest.split_once(')'));
    match parts {
        Some((of, object)) if object.starts_with("omp") => format!("MPI_ABI_POINTER({of}, &{object})"),
        Some((of, number)) if is_number(of) => format!("MPI_ABI_NUMBER({of}, {number})"),
        Some((of, number)) => format!("MPI_ABI_POINTER({of}, {number})"),
        None => value.to_owned(),
    }
}

const HEAD: &str = "\
#ifndef MPI_H_ABI
#define MPI_H_ABI

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define MPI_ABI_POINTER(type, value) (reinterpret_cast<type>(value))
#define MPI_ABI_NUMBER(type, value) (static_cast<type>(value))
extern \"C\" {
#else
#define MPI_ABI_POINTER(type, value) ((type)value)
#define MPI_ABI_NUMBER(type, value) ((type)value)
#endif

";

const TAIL: &str = "
#ifdef __cplusplus
}
#endif

#endif
";
