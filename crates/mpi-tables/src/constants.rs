//! The constants as Rust code: handles as values of their handle types, numbers as C's `int`.
//!
//! The layout crate of an ABI compiles the text; its module `handle` has the handle types.

use std::fmt::Write;

use crate::tables::{Abi, Constant, Tables};

/// Returns the constants: handles as values of their handle types, numbers as `int` of C.
pub fn rust(tables: &Tables) -> String {
    let mut text = String::new();
    for constant in tables.all_constants() {
        let inside = match tables.abi {
            Abi::OpenMpi => by_number(constant),
            Abi::Standard | Abi::Mpich => constant.clone(),
        };
        if let Some(value) = value(&inside) {
            let name = &constant.name;
            writeln!(text, "/// `{name}` of C.\npub const {name}: {value};").expect("a string grows");
        }
    }
    text + &datatypes(tables) + &classes(tables) + &foreign(tables.abi)
}

/// Handles of Open MPI that the standard lacks, with numbers that the standard leaves free.
const BEYOND_STANDARD: [(&str, &str); 3] = [
    ("MPI_ERRORS_THROW_EXCEPTIONS", "0x00000144"),
    ("MPI_2COMPLEX", "0x00000ff2"),
    ("MPI_2DOUBLE_COMPLEX", "0x00000ff3"),
];

/// Returns the number of a handle constant in the standard ABI. A library whose ABI uses addresses uses these
/// numbers internally.
///
/// # Panics
/// Panics if the standard lacks the constant and no other one represents it.
pub(crate) fn number(name: &str) -> String {
    if let Some((_, number)) = BEYOND_STANDARD.iter().find(|(known, _)| *known == name) {
        return (*number).to_owned();
    }
    let standard = Tables::standard();
    let constant = standard.all_constants().find(|of| of.name == name);
    let value = constant.unwrap_or_else(|| panic!("{name} is no constant of the standard")).value.clone();
    match value.strip_suffix(')').and_then(|value| value.rsplit_once(')')) {
        Some((_, number)) => number.to_owned(),
        // Another constant represents it.
        None => number(&value),
    }
}

/// Returns the constant with its number instead of an address.
fn by_number(constant: &Constant) -> Constant {
    let Constant { is_macro, name, value } = constant;
    let value = match value.strip_suffix(')').and_then(|value| value.rsplit_once(')')) {
        Some((of, address)) if address.starts_with("omp") => format!("{of}){})", number(name)),
        _ => value.clone(),
    };
    Constant { is_macro: *is_macro, name: name.clone(), value }
}

/// Returns the numbers of the error classes, in the order of the standard ABI, where they are 1, 2, 3 and so
/// on.
fn classes(tables: &Tables) -> String {
    let standard = Tables::standard();
    let number = |constant: &Constant| constant.value.parse::<usize>().ok();
    let is_class = |of: &&Constant| of.name.starts_with("MPI_ERR_") && of.name != "MPI_ERR_LASTCODE";
    let mut names: Vec<&Constant> = standard.constants.iter().filter(is_class).collect();
    names.sort_by_key(|constant| number(constant));
    let is_defined = |name: &str| tables.constants.iter().any(|constant| constant.name == name);
    assert!(names.iter().all(|constant| is_defined(&constant.name)), "each class has a number");
    let names: Vec<&str> = names.iter().map(|constant| constant.name.as_str()).collect();
    format!(
        "/// The numbers of the error classes, in the order of the standard ABI.\n\
         pub const CLASSES: [::core::ffi::c_int; {}] = [{}];\n",
        names.len(),
        names.join(", ")
    )
}

/// Returns the handles of the predefined datatypes by name, including synonyms.
fn datatypes(tables: &Tables) -> String {
    let mut text = String::from(
        "/// The predefined datatypes.\npub const DATATYPES: &[(&str, crate::handle::MPI_Datatype)] = &[\n",
    );
    let is_handle = |value: &str| value.starts_with("((MPI_Datatype)");
    for Constant { name, value, .. } in tables.constants.iter().chain(&tables.extension_constants) {
        let stands_for = tables.constants.iter().find(|other| other.name == *value);
        if is_handle(value) && name != "MPI_DATATYPE_NULL" {
            writeln!(text, "    ({name:?}, {name}),").expect("a string grows");
        } else if stands_for.is_some_and(|other| is_handle(&other.value)) {
            writeln!(text, "    ({name:?}, {value}),").expect("a string grows");
        }
    }
    text + "];\n"
}

/// Returns the constant handles of the other ABIs that are numbers.
fn foreign(own: Abi) -> String {
    let others: &[(Tables, [&str; 3])] = &[
        (Tables::standard(), ["the standard ABI", "libmpi_abi.so.1", "standard"]),
        (Tables::mpich(), ["MPICH's ABI", "libmpi.so.12", "mpich"]),
    ];
    let mut text = String::from(
        "/// An ABI, its library, what `mpicc -abi=` calls it, and its constant handles.\n\
         pub type ForeignAbi = (&'static str, &'static str, &'static str, &'static [(&'static str, usize)]);\n\
         /// The constant handles of the other ABIs.\npub const FOREIGN: &[ForeignAbi] = &[\n",
    );
    for (tables, [name, library, option]) in others.iter().filter(|(tables, _)| tables.abi != own) {
        writeln!(text, "    ({name:?}, {library:?}, {option:?}, &[").expect("a string grows");
        for constant in tables.all_constants() {
            if let Some(number) = handle_number(&constant.value) {
                writeln!(text, "        ({:?}, {number}),", constant.name).expect("a string grows");
            }
        }
        text += "    ]),\n";
    }
    text + "];\n"
}

/// Returns the number of a constant handle; none for other constants and for 0, which is also the value of
/// unset memory.
fn handle_number(value: &str) -> Option<&str> {
    let (of, number) = value.strip_prefix("((")?.strip_suffix(')')?.split_once(')')?;
    let is_handle = of.strip_prefix("MPI_").is_some_and(|kind| HANDLES.contains(&kind));
    (is_handle && number.trim_start_matches("0x").bytes().any(|digit| digit != b'0')).then_some(number)
}

/// The handle types without their prefix.
const HANDLES: [&str; 11] =
    ["Op", "Comm", "Group", "Win", "File", "Session", "Message", "Info", "Errhandler", "Request", "Datatype"];

/// Returns type and value; none for a constant that only C needs.
fn value(constant: &Constant) -> Option<String> {
    let Constant { is_macro, name, value } = constant;
    if !is_macro || name.ends_with("VERSION") || name.starts_with("MPI_MAX_") || name == "MPI_BSEND_OVERHEAD"
    {
        return Some(format!("::core::ffi::c_int = {value}"));
    }
    if let Some((of, number)) = value.strip_prefix("((")?.strip_suffix(')')?.split_once(')') {
        match of {
            // Values that represent a buffer are compared with buffers, others with addresses of places.
            "void*" => {
                return Some(format!(
                    "*const ::core::ffi::c_void = ::core::ptr::without_provenance({number}_isize as usize)"
                ));
            }
            "int*" | "MPI_Status*" | "MPI_T_pvar_handle" => {
                return Some(format!("usize = {number}_isize as usize"));
            }
            "MPI_Offset" => return Some(format!("i64 = {number}")),
            _ => {}
        }
        let is_handle = of.strip_prefix("MPI_").is_some_and(|kind| HANDLES.contains(&kind));
        return is_handle.then(|| format!("crate::handle::{of} = crate::handle::{of}::of({number})"));
    }
    None
}
