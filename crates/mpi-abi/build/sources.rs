//! Which functions the code defines, found where `#[mpi]` stands.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use quote::ToTokens;
use syn::{Attribute, FnArg, Item};

/// The types of the parameters of each defined function, as the code names them, the large twins included.
pub type Defined = BTreeMap<String, Vec<String>>;

pub fn defined(folder: &Path) -> Defined {
    let mut all = Defined::new();
    visit(folder, &mut all);
    all
}

fn visit(folder: &Path, all: &mut Defined) {
    let entries = std::fs::read_dir(folder).expect("the folder of the sources");
    for path in entries.map(|entry| entry.expect("an entry of a folder").path()) {
        if path.is_dir() {
            visit(&path, all);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source file");
            match syn::parse_file(&text) {
                Ok(file) => file.items.iter().for_each(|item| take(item, all)),
                // The compiler says it better.
                Err(error) => println!("cargo:warning={}: {error}", path.display()),
            }
        }
    }
}

fn take(item: &Item, all: &mut Defined) {
    let Item::Fn(function) = item else { return };
    let Some(attribute) = function.attrs.iter().find(|a| a.path().is_ident("mpi")) else { return };
    let types: Vec<String> = function
        .sig
        .inputs
        .iter()
        .filter_map(|argument| match argument {
            FnArg::Typed(typed) => Some(typed.ty.to_token_stream().to_string()),
            FnArg::Receiver(_) => None,
        })
        .collect();
    let name = function.sig.ident.to_string();
    let mut forms = vec![(name.clone(), types.clone())];
    if says(attribute, "collective") {
        let stem = name.trim_start_matches("MPI_").to_lowercase();
        let with =
            |more: &[&str]| types.iter().cloned().chain(more.iter().map(|t| (*t).to_owned())).collect();
        forms.push((format!("MPI_I{stem}"), with(&["Out < MPI_Request >"])));
        forms.push((format!("{name}_init"), with(&["MPI_Info", "Out < MPI_Request >"])));
    }
    for (name, types) in forms {
        if says(attribute, "large") {
            all.insert(format!("{name}_c"), types.iter().map(|t| format!("large {t}")).collect());
        }
        all.insert(name, types);
    }
}

/// Whether the attribute has an option.
fn says(attribute: &Attribute, option: &str) -> bool {
    attribute.to_token_stream().to_string().contains(option)
}

/// The same as a table for a test.
pub fn rust(defined: &Defined) -> String {
    let mut text = String::from(
        "/// Functions and the types of their parameters.\npub const DEFINED: &[(&str, &[&str])] = &[\n",
    );
    for (name, types) in defined {
        writeln!(text, "    ({name:?}, &{types:?}),").expect("a string grows");
    }
    text + "];\n"
}
