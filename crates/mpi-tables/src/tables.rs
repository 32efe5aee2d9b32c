//! The tables as read from the files.

use std::collections::HashMap;

/// A row of `functions.tsv`.
#[derive(Clone, Debug)]
pub struct FunctionRow {
    /// The name in C.
    pub name: String,
    /// The type of the result in C.
    pub returns: String,
    /// The parameters in the order of the standard.
    pub parameters: Vec<Parameter>,
    /// The chapter to which it belongs.
    pub chapter: String,
    /// The object on which its errors are raised.
    pub errors: String,
    /// `any` or `-`.
    pub call: String,
    /// `collective`, `value` or `-`.
    pub form: String,
    /// The successor of a function that MPI 3.0 removed.
    pub successor: Option<String>,
    /// Path of the Rust function; none if it is not implemented.
    pub body: Option<String>,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The name in the standard.
    pub name: String,
    /// Its kind.
    pub kind: ParameterKind,
}

/// The types of a parameter in each language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterKind {
    /// Name of the kind.
    pub name: String,
    /// Type in C.
    pub c: String,
    /// Type in C in the large-count twin.
    pub c_large: String,
    /// Type in the Rust body.
    pub rust: String,
}

/// A row of `constants.tsv`: an enumerator, or a macro.
#[derive(Clone, Debug)]
pub struct Constant {
    /// True for a macro.
    pub is_macro: bool,
    /// Name in C.
    pub name: String,
    /// Value in C.
    pub value: String,
}

/// An ABI of C programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    /// The ABI of MPI 5.0, chapter 20.
    Standard,
    /// The ABI that MPICH 3.1 to 5.0, Intel MPI and others share: `libmpi.so.12`.
    Mpich,
    /// The ABI of Open MPI 3 to 5: `libmpi.so.40`.
    OpenMpi,
}

/// A variable whose address is the value of a constant.
#[derive(Clone, Debug)]
pub struct ObjectRow {
    /// Name of the variable.
    pub name: String,
    /// Its size in bytes, since programs have copies of it.
    pub bytes: usize,
    /// Name of the constant.
    pub constant: String,
}

/// All tables.
pub struct Tables {
    /// The ABI of the constants and types.
    pub abi: Abi,
    /// Functions that are written by hand.
    pub functions: Vec<FunctionRow>,
    /// Functions beyond the standard.
    pub extensions: Vec<FunctionRow>,
    /// Constants.
    pub constants: Vec<Constant>,
    /// Constants beyond the standard.
    pub extension_constants: Vec<Constant>,
    /// Constants that MPI 3.0 removed.
    pub removed_constants: Vec<Constant>,
    /// Variables that represent handles, if the ABI uses addresses.
    pub objects: Vec<ObjectRow>,
    /// Fortran numbers of handles, by the names of their constants, if they differ from C.
    pub fortran: Vec<(String, usize)>,
    /// Type definitions: the text after `typedef`, without the semicolon.
    pub types: Vec<String>,
}

impl Tables {
    /// Returns the tables of MPI 5.0 for the standard ABI.
    ///
    /// # Panics
    /// Panics if a row is wrong; the text names it.
    pub fn standard() -> Self {
        Self::read(
            Abi::Standard,
            [include_str!("../tables/constants.tsv"), include_str!("../tables/removed_constants.tsv")],
            include_str!("../tables/types.txt"),
        )
    }

    /// Returns the tables for MPICH's ABI, with the functions that only its library has.
    ///
    /// # Panics
    /// Panics like [`Tables::standard`].
    pub fn mpich() -> Self {
        let mut tables = Self::read(
            Abi::Mpich,
            [
                include_str!("../tables/mpich_constants.tsv"),
                include_str!("../tables/mpich_removed_constants.tsv"),
            ],
            include_str!("../tables/mpich_types.txt"),
        );
        tables.extensions.extend(functions(include_str!("../tables/mpich_functions.tsv")));
        tables.extension_constants =
            rows(include_str!("../tables/mpich_extension_constants.tsv")).map(constant).collect();
        tables
    }

    /// Returns the tables for Open MPI's ABI, with the functions that only its library has. Its handles are
    /// addresses of variables.
    ///
    /// # Panics
    /// Panics like [`Tables::standard`].
    pub fn openmpi() -> Self {
        let mut tables = Self::read(
            Abi::OpenMpi,
            [
                include_str!("../tables/openmpi_constants.tsv"),
                include_str!("../tables/openmpi_removed_constants.tsv"),
            ],
            include_str!("../tables/openmpi_types.txt"),
        );
        tables.extensions.extend(functions(include_str!("../tables/openmpi_functions.tsv")));
        tables.extension_constants =
            rows(include_str!("../tables/openmpi_extension_constants.tsv")).map(constant).collect();
        tables.objects = rows(include_str!("../tables/openmpi_objects.tsv")).map(object).collect();
        tables.fortran = rows(include_str!("../tables/openmpi_fortran.tsv")).map(fortran).collect();
        tables
    }

    /// Returns all constants: those of the standard, those beyond it, and those that MPI 3.0 removed.
    pub fn all_constants(&self) -> impl Iterator<Item = &Constant> {
        self.constants.iter().chain(&self.extension_constants).chain(&self.removed_constants)
    }

    fn read(abi: Abi, [of_abi, removed]: [&'static str; 2], types: &str) -> Self {
        let constants = |text| rows(text).map(constant).collect();
        Self {
            abi,
            functions: functions(include_str!("../tables/functions.tsv")),
            extensions: functions(include_str!("../tables/extensions.tsv")),
            constants: constants(of_abi),
            extension_constants: constants(include_str!("../tables/extension_constants.tsv")),
            removed_constants: constants(removed),
            objects: Vec::new(),
            fortran: Vec::new(),
            types: types.lines().map(str::to_owned).collect(),
        }
    }
}

fn functions(text: &'static str) -> Vec<FunctionRow> {
    let kinds = rows(include_str!("../tables/kinds.tsv")).map(kind);
    let kinds: HashMap<String, ParameterKind> = kinds.map(|kind| (kind.name.clone(), kind)).collect();
    rows(text).map(|row| function(&row, &kinds)).collect()
}

/// Returns the columns of each row except the first, which names them.
fn rows(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().skip(1).map(|line| line.split('\t').collect())
}

fn kind(row: Vec<&str>) -> ParameterKind {
    let [name, c, large, rust, _meaning] = row[..] else { panic!("kinds.tsv: {row:?} has not 5 columns") };
    let c_large = if large == "=" { c } else { large };
    ParameterKind {
        name: name.to_owned(),
        c: c.to_owned(),
        c_large: c_large.to_owned(),
        rust: rust.to_owned(),
    }
}

fn function(row: &[&str], kinds: &HashMap<String, ParameterKind>) -> FunctionRow {
    let [name, returns, parameters, chapter, errors, call, form, body] = row[..] else {
        panic!("functions.tsv: {row:?} has not 8 columns")
    };
    let parameter = |text: &str| {
        let (name, kind) = text.split_once(':').unwrap_or_else(|| panic!("{row:?}: {text} has no kind"));
        let kind = find_kind(kind, kinds).unwrap_or_else(|| panic!("{row:?}: there is no kind {kind}"));
        Parameter { name: name.to_owned(), kind }
    };
    let is_removed = chapter == "removed";
    let function = FunctionRow {
        name: name.to_owned(),
        returns: returns.to_owned(),
        parameters: parameters.split(' ').filter(|text| *text != "-").map(parameter).collect(),
        chapter: chapter.to_owned(),
        errors: errors.to_owned(),
        call: call.to_owned(),
        form: if is_removed { "-" } else { form }.to_owned(),
        successor: is_removed.then(|| form.to_owned()),
        body: (body != "-").then(|| body.to_owned()),
    };
    check(&function);
    function
}

/// Returns a kind of the table, or one derived from its name: a place, an array, or a written array.
fn find_kind(name: &str, kinds: &HashMap<String, ParameterKind>) -> Option<ParameterKind> {
    if let Some(kind) = kinds.get(name) {
        return Some(kind.clone());
    }
    let (of, (before, after), rust) = match name {
        _ if name.ends_with("[]*") => (name.strip_suffix("[]*")?, ("", "[]"), "Out"),
        _ if name.ends_with("[]") => (name.strip_suffix("[]")?, ("const ", "[]"), "In"),
        _ => (name.strip_suffix('*')?, ("", " *"), "Out"),
    };
    let kind = kinds.get(of)?;
    let c = |of: &str| format!("{before}{of}{after}");
    Some(ParameterKind {
        name: name.to_owned(),
        c: c(&kind.c),
        c_large: c(&kind.c_large),
        rust: format!("{rust}<{}>", kind.rust),
    })
}

fn check(function: &FunctionRow) {
    let FunctionRow { name, returns, errors, call, form, body, .. } = function;
    assert!(["any", "-"].contains(&call.as_str()), "{name}: call is {call}");
    assert!(
        ["collective", "mapped", "short", "value", "-"].contains(&form.as_str()),
        "{name}: form is {form}"
    );
    assert!(returns == "int" || form == "value", "{name}: what fails returns an int");
    assert!(
        form != "value" || body.is_some(),
        "{name} must be written: it cannot say that it is not supported"
    );
    assert!(
        ["self", "file", "code"].contains(&errors.as_str())
            || function.parameters.iter().any(|p| p.kind.name == *errors),
        "{name}: errors are raised on a {errors}, which is no parameter"
    );
}

fn fortran(row: Vec<&str>) -> (String, usize) {
    let [name, number] = row[..] else { panic!("numbers in Fortran: {row:?} has not 2 columns") };
    (name.to_owned(), number.parse().unwrap_or_else(|_| panic!("{row:?} has no number")))
}

fn object(row: Vec<&str>) -> ObjectRow {
    let [name, bytes, constant] = row[..] else { panic!("objects: {row:?} has not 3 columns") };
    let bytes = bytes.parse().unwrap_or_else(|_| panic!("objects: {row:?} has no number of bytes"));
    ObjectRow { name: name.to_owned(), bytes, constant: constant.to_owned() }
}

fn constant(row: Vec<&str>) -> Constant {
    let [kind, name, value] = row[..] else { panic!("constants.tsv: {row:?} has not 3 columns") };
    Constant { is_macro: kind == "define", name: name.to_owned(), value: value.to_owned() }
}
