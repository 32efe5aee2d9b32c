//! The facts of the ABI, as they stand in `tables/`.

use std::path::Path;

/// A function of the standard.
pub struct Function {
    pub name: String,
    pub returns: String,
    /// C types and names, as written in C.
    pub parameters: Vec<Parameter>,
}

/// One parameter.
#[derive(Clone)]
pub struct Parameter {
    /// As it stands in a declaration.
    pub declared: String,
}

/// A constant: an enumerator, or a macro.
pub struct Constant {
    pub is_macro: bool,
    pub name: String,
    pub value: String,
}

/// All of them.
pub struct Tables {
    pub functions: Vec<Function>,
    pub constants: Vec<Constant>,
    /// Type definitions: what stands behind `typedef`, without the semicolon.
    pub types: Vec<String>,
}

impl Tables {
    pub fn read(folder: &Path) -> Self {
        let lines = |name: &str| -> Vec<String> {
            let path = folder.join(name);
            let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
        };
        let columns = |line: &String| -> Vec<String> { line.split('\t').map(str::to_owned).collect() };
        let functions = lines("functions.tsv").iter().skip(1).map(columns).map(function).collect();
        let constants = lines("constants.tsv").iter().skip(1).map(columns).map(constant).collect();
        Self { functions, constants, types: lines("types.txt") }
    }
}

fn function(row: Vec<String>) -> Function {
    let [name, returns, parameters] = row.try_into().expect("name, result, parameters");
    let parameters = parameters.split(", ").filter(|p| *p != "void");
    let parameters = parameters.map(|p| Parameter { declared: p.to_owned() }).collect();
    Function { name, returns, parameters }
}

fn constant(row: Vec<String>) -> Constant {
    let [kind, name, value] = row.try_into().expect("kind, name, value");
    Constant { is_macro: kind == "define", name, value }
}

impl Parameter {
    /// Its type as far as the binary interface tells types apart: a pointer, a handle's name, or a number's type.
    pub fn kind(&self) -> String {
        let declared = self.declared.trim();
        if declared == "..." {
            return "...".to_owned();
        }
        if declared.contains(['*', '[']) || declared.ends_with("_function") {
            return "pointer".to_owned();
        }
        let of = declared.trim_start_matches("const ").split(' ').next().unwrap_or_default();
        of.to_owned()
    }
}
