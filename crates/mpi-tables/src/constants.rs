//! The constants for the code: handles as values of their handle types, numbers as C's `int`.

use std::fmt::Write;

use crate::removed;
use crate::tables::{Constant, Tables};

/// Returns the constants: handles as values of their handle types, numbers as `int` of C.
pub fn rust(tables: &Tables) -> String {
    let mut text = String::new();
    let removed = removed::CONSTANTS.map(|(name, value)| Constant {
        is_macro: true,
        name: name.to_owned(),
        value: value.to_owned(),
    });
    for constant in tables.constants.iter().chain(&tables.extension_constants).chain(&removed) {
        if let Some(value) = value(constant) {
            let name = &constant.name;
            writeln!(text, "/// `{name}` of C.\npub const {name}: {value};").expect("a string grows");
        }
    }
    text + &datatypes(tables)
}

/// The handles of the predefined datatypes by their names, synonyms too.
fn datatypes(tables: &Tables) -> String {
    let mut text = String::from(
        "/// The predefined datatypes.\npub const DATATYPES: &[(&str, crate::handle::MPI_Datatype)] = &[\n",
    );
    let is_handle = |value: &str| value.starts_with("((MPI_Datatype)");
    for Constant { name, value, .. } in &tables.constants {
        let stands_for = tables.constants.iter().find(|other| other.name == *value);
        if is_handle(value) && name != "MPI_DATATYPE_NULL" {
            writeln!(text, "    ({name:?}, {name}),").expect("a string grows");
        } else if stands_for.is_some_and(|other| is_handle(&other.value)) {
            writeln!(text, "    ({name:?}, {value}),").expect("a string grows");
        }
    }
    text + "];\n"
}

/// Type and value, unless it is one that only C needs.
fn value(constant: &Constant) -> Option<String> {
    let Constant { is_macro, name, value } = constant;
    if !is_macro || name.ends_with("VERSION") || name.starts_with("MPI_MAX_") || name == "MPI_BSEND_OVERHEAD"
    {
        return Some(format!("::core::ffi::c_int = {value}"));
    }
    if let Some((of, number)) = value.strip_prefix("((")?.strip_suffix(')')?.split_once(')') {
        let handles = [
            "Op",
            "Comm",
            "Group",
            "Win",
            "File",
            "Session",
            "Message",
            "Info",
            "Errhandler",
            "Request",
            "Datatype",
        ];
        let is_handle = of.strip_prefix("MPI_").is_some_and(|kind| handles.contains(&kind));
        return is_handle.then(|| format!("crate::handle::{of} = crate::handle::{of}::of({number})"));
    }
    None
}
