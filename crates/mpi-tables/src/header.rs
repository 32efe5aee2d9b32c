//! The header for C programs.

use std::fmt::Write;

use crate::exported::{exported, extensions};
use crate::tables::{Abi, Constant, Tables};
use crate::{conversions, removed};

/// Returns `mpi.h`.
pub fn text(tables: &Tables) -> String {
    let mut text = String::from(HEAD);
    let mut put = |line: &str| writeln!(text, "{line}").expect("a string grows");
    tables.types.iter().for_each(|line| put(&format!("typedef {line};")));
    tables.objects.iter().for_each(|object| put(&format!("extern struct canele_object {};", object.name)));
    put("");
    for constant in tables.constants.iter().filter(|c| c.is_macro) {
        put(&format!("#define {} {}", constant.name, cast(&constant.value)));
    }
    let enumerators = tables.constants.iter().filter(|c| !c.is_macro && !has_own_type(&c.name));
    let enumerators: Vec<_> =
        enumerators.map(|Constant { name, value, .. }| format!("    {name} = {value}")).collect();
    put(&format!("\nenum {{\n{}\n}};\n", enumerators.join(",\n")));
    let functions = exported(tables);
    for prefix in ["", "P"] {
        functions.iter().for_each(|function| put(&format!("{};", function.declaration(prefix))));
    }
    put("");
    match tables.abi {
        Abi::Standard => text += &conversions::text(),
        Abi::Mpich => text += &with_extensions(MPICH, tables),
        Abi::OpenMpi => text += &with_extensions(OPEN_MPI, tables),
    }
    text += &removed::text(tables);
    text + TAIL
}

/// What is declared of a library beside the functions of the standard.
fn with_extensions(first: &str, tables: &Tables) -> String {
    let mut text = String::from(first);
    for prefix in ["", "P"] {
        for function in extensions(tables) {
            writeln!(text, "{};", function.declaration(prefix)).expect("a string grows");
        }
    }
    text
}

const MPICH: &str = "\
int MPIR_Dup_fn(MPI_Comm comm, int keyval, void *extra_state, void *attribute_val_in, void *attribute_val_out, int *flag);
";

/// Open MPI's functions of attributes, which are what the constants stand for.
const OPEN_MPI: &str = "\
int OMPI_C_MPI_NULL_COPY_FN(MPI_Comm, int, void *, void *, void *, int *);
int OMPI_C_MPI_DUP_FN(MPI_Comm, int, void *, void *, void *, int *);
int OMPI_C_MPI_NULL_DELETE_FN(MPI_Comm, int, void *, void *);
int OMPI_C_MPI_COMM_NULL_COPY_FN(MPI_Comm, int, void *, void *, void *, int *);
int OMPI_C_MPI_COMM_DUP_FN(MPI_Comm, int, void *, void *, void *, int *);
int OMPI_C_MPI_COMM_NULL_DELETE_FN(MPI_Comm, int, void *, void *);
int OMPI_C_MPI_TYPE_NULL_COPY_FN(MPI_Datatype, int, void *, void *, void *, int *);
int OMPI_C_MPI_TYPE_DUP_FN(MPI_Datatype, int, void *, void *, void *, int *);
int OMPI_C_MPI_TYPE_NULL_DELETE_FN(MPI_Datatype, int, void *, void *);
int OMPI_C_MPI_WIN_NULL_COPY_FN(MPI_Win, int, void *, void *, void *, int *);
int OMPI_C_MPI_WIN_DUP_FN(MPI_Win, int, void *, void *, void *, int *);
int OMPI_C_MPI_WIN_NULL_DELETE_FN(MPI_Win, int, void *, void *);
";

/// True if an enumerator stands in a type of the table of types.
fn has_own_type(name: &str) -> bool {
    ["MPI_T_CB_REQUIRE_", "MPI_T_SOURCE_"].iter().any(|prefix| name.starts_with(prefix))
}

/// A value that the table gives as `((TYPE)NUMBER)`, by a cast that C++ has no warning for.
pub fn cast(value: &str) -> String {
    let parts = value
        .strip_prefix("((")
        .and_then(|rest| rest.strip_suffix(')'))
        .and_then(|rest| rest.split_once(')'));
    match parts {
        Some((of, object)) if object.starts_with("omp") => format!("MPI_ABI_POINTER({of}, &{object})"),
        Some((of, number)) if of == "MPI_Offset" => format!("MPI_ABI_NUMBER({of}, {number})"),
        Some((of, number)) => format!("MPI_ABI_POINTER({of}, {number})"),
        None => value.to_owned(),
    }
}

const HEAD: &str = "\
/* The C interface of MPI 5.0 by its standard ABI: what is compiled with it runs on every library with that ABI.
 * Generated from the tables in crates/mpi-tables/tables. */
#ifndef MPI_H_ABI
#define MPI_H_ABI

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
