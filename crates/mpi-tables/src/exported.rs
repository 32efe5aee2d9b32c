//! The exported functions, derived from the written ones: large-count functions and the forms of collectives.

use crate::tables::{FunctionRow, Parameter, ParameterKind, Tables};

/// A function of the C interface, under its `MPI_` name.
#[derive(Clone, Debug)]
pub struct Exported<'a> {
    /// The name.
    pub name: String,
    /// The parameters, with those that its form adds.
    pub parameters: Vec<Parameter>,
    /// The form of a collective; other functions have `CallForm::Blocking`.
    pub form: CallForm,
    /// True for a large-count function.
    pub large: bool,
    /// The written function.
    pub of: &'a FunctionRow,
}

/// The forms of a collective call (MPI 5.0, §6.12, §6.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallForm {
    /// Returns when the operation is complete.
    Blocking,
    /// Starts the operation and returns a request.
    Immediate,
    /// Returns a persistent request.
    Persistent,
}

/// Returns all functions of MPI 5.0, sorted by name.
pub fn exported(tables: &Tables) -> Vec<Exported<'_>> {
    let standard = tables.functions.iter().filter(|function| function.successor.is_none());
    let mut all: Vec<Exported<'_>> = standard.flat_map(forms).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// Returns the functions beyond the standard.
pub fn extensions(tables: &Tables) -> Vec<Exported<'_>> {
    tables.extensions.iter().flat_map(forms).collect()
}

/// Returns the functions that MPI 3.0 removed.
pub fn removed_functions(tables: &Tables) -> Vec<Exported<'_>> {
    tables.functions.iter().filter(|function| function.successor.is_some()).flat_map(forms).collect()
}

fn forms(of: &FunctionRow) -> Vec<Exported<'_>> {
    let forms: &[CallForm] = match of.form.as_str() {
        "collective" => &[CallForm::Blocking, CallForm::Immediate, CallForm::Persistent],
        _ => &[CallForm::Blocking],
    };
    let has_twin = of.successor.is_none() && of.parameters.iter().any(|p| p.kind.is_wide());
    let widths: &[bool] = if has_twin { &[false, true] } else { &[false] };
    let each = forms.iter().flat_map(|form| widths.iter().map(move |large| (*form, *large)));
    each.map(|(form, large)| Exported {
        name: format!("{}{}", form.name(&of.name), if large { "_c" } else { "" }),
        parameters: of.parameters.iter().cloned().chain(form.parameters()).collect(),
        form,
        large,
        of,
    })
    .collect()
}

impl CallForm {
    /// Returns the name of the function, derived from the blocking one.
    fn name(self, blocking: &str) -> String {
        match self {
            Self::Blocking => blocking.to_owned(),
            Self::Immediate => format!("MPI_I{}", blocking.trim_start_matches("MPI_").to_lowercase()),
            Self::Persistent => format!("{blocking}_init"),
        }
    }

    /// Returns the parameters that the form adds.
    fn parameters(self) -> Vec<Parameter> {
        let handle = |name: &str, kind: &str, c: &str, rust: &str| Parameter {
            name: name.to_owned(),
            kind: ParameterKind {
                name: kind.to_owned(),
                c: c.to_owned(),
                c_large: c.to_owned(),
                rust: rust.to_owned(),
            },
        };
        let request = || handle("request", "request*", "MPI_Request *", "Out<MPI_Request>");
        match self {
            Self::Blocking => Vec::new(),
            Self::Immediate => vec![request()],
            Self::Persistent => vec![handle("info", "info", "MPI_Info", "MPI_Info"), request()],
        }
    }
}

impl ParameterKind {
    /// Returns true if the C type differs in the large-count function.
    pub fn is_wide(&self) -> bool {
        self.c != self.c_large
    }
}

impl Exported<'_> {
    /// Returns the C declarations of its parameters.
    pub fn declared(&self) -> Vec<String> {
        let of = |kind: &ParameterKind| if self.large { kind.c_large.clone() } else { kind.c.clone() };
        self.parameters
            .iter()
            .map(|p| self.status_of_fortran(&p.name).unwrap_or_else(|| declared(&of(&p.kind), &p.name)))
            .collect()
    }

    /// Returns the declaration of a Fortran status, which the tables contain as a C status.
    fn status_of_fortran(&self, parameter: &str) -> Option<String> {
        let (from, to) = self.name.strip_prefix("MPI_Status_")?.split_once('2')?;
        match parameter {
            "from" if from == "f" => Some("const MPI_Fint *from".to_owned()),
            "to" if to == "f" => Some("MPI_Fint *to".to_owned()),
            _ => None,
        }
    }

    /// Returns its C declaration with a prefix, as `int MPI_Barrier(MPI_Comm comm)`.
    pub fn declaration(&self, prefix: &str) -> String {
        let list = self.declared();
        let list = if list.is_empty() { "void".to_owned() } else { list.join(", ") };
        format!("{} {prefix}{}({list})", self.of.returns, self.name)
    }
}

/// Returns a C declaration; brackets follow the name.
fn declared(of: &str, name: &str) -> String {
    if of == "..." {
        return of.to_owned();
    }
    let (of, brackets) =
        of.split_once('[').map_or((of, String::new()), |(of, rest)| (of, format!("[{rest}")));
    let space = if of.ends_with('*') { "" } else { " " };
    format!("{of}{space}{name}{brackets}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interface_has_the_functions_of_mpi_5() {
        let tables = Tables::standard();
        let names: Vec<String> = exported(&tables).into_iter().map(|function| function.name).collect();
        assert_eq!(names.len(), 662);
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "no name stands there twice");
        for name in [
            "MPI_Ireduce_scatter_block_c",
            "MPI_Neighbor_alltoallw_init",
            "MPI_Comm_toint",
            "MPI_T_enum_get_info",
        ] {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
    }

    #[test]
    fn declarations_are_those_of_c() {
        let tables = Tables::standard();
        let all = exported(&tables);
        let declared =
            |name: &str| all.iter().find(|f| f.name == name).map(Exported::declared).unwrap().join(", ");
        assert_eq!(
            declared("MPI_Send_c"),
            "const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm"
        );
        assert_eq!(
            declared("MPI_Group_range_excl"),
            "MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup"
        );
        assert_eq!(declared("MPI_Ibarrier"), "MPI_Comm comm, MPI_Request *request");
        assert_eq!(declared("MPI_Pcontrol"), "const int level, ...");
    }
}
