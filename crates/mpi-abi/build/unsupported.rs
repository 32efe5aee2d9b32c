//! Functions of the standard that are not written yet: they exist, and fail with `MPI_ERR_UNSUPPORTED_OPERATION`.

use std::fmt::Write;

use crate::sources::Defined;
use crate::tables::{Function, Tables};

/// Of a function without a communicator or session.
const NOTHING: &str = "crate::error::On::Nothing";

/// Of a function of files.
const FILE: &str = "crate::error::On::File";

pub fn rust(tables: &Tables, defined: &Defined) -> String {
    let mut text = String::new();
    for function in tables.functions.iter().filter(|f| !defined.contains_key(&f.name)) {
        for prefix in ["", "P"] {
            write(&mut text, prefix, function);
        }
    }
    text
}

fn write(text: &mut String, prefix: &str, function: &Function) {
    let Function { name, returns, parameters } = function;
    assert_eq!(returns, "int", "{name} must be written: it cannot say that it is unsupported");
    // Also those that open a file on a communicator (MPI 5.0, §14.7).
    let mut on = if name.starts_with("MPI_File_") { FILE } else { NOTHING }.to_owned();
    let mut list = Vec::new();
    for (n, parameter) in parameters.iter().enumerate() {
        let kind = parameter.kind();
        let of = match kind.as_str() {
            "..." => break,
            "MPI_Comm" | "MPI_Session" => {
                if on == NOTHING {
                    on = format!("crate::error::On::from(p{n})");
                }
                format!("crate::handle::{kind}")
            }
            "int" | "MPI_T_cb_safety" | "MPI_T_source_order" => "::core::ffi::c_int".to_owned(),
            _ => "usize".to_owned(),
        };
        list.push(format!("{}p{n}: {of}", if on.contains(&format!("p{n})")) { "" } else { "_" }));
    }
    let list = list.join(", ");
    writeln!(
        text,
        "/// `{name}` of the standard, which is not supported.\n\
         // SAFETY: the name is MPI's, and this crate alone defines it.\n\
         #[unsafe(no_mangle)]\n#[allow(non_snake_case, clippy::too_many_arguments)]\n\
         pub extern \"C\" fn {prefix}{name}({list}) -> ::core::ffi::c_int {{\n    \
         crate::error::unsupported({name:?}, {on})\n}}"
    )
    .expect("a string grows");
}
