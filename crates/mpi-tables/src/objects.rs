//! The variables of an ABI whose handles are addresses, as Rust code for its layout crate.

use std::fmt::Write;

use crate::constants::number;
use crate::tables::{ObjectRow, Tables};

/// Returns a call of the layout crate's macro `objects!` with a line for each variable. A line has the
/// variable's name, its size, and the number of its constant in the standard ABI, which the library uses
/// internally. If several variables represent one constant, calls return the first one of that name.
pub fn rust(tables: &Tables) -> String {
    let mut text = String::from("objects! {\n");
    for ObjectRow { name, bytes, constant } in &tables.objects {
        let number = number(constant);
        let is_given = tables
            .all_constants()
            .filter(|of| of.name == *constant)
            .any(|of| of.value.ends_with(&format!("){name})")));
        writeln!(text, "    {name} {bytes} {number} {is_given};").expect("a string grows");
    }
    text + "}\n"
}

/// Returns the Fortran numbers of handles: lines with the handle type, the Fortran number, and the number in
/// the standard ABI. Of two names of one constant the last one is used.
pub fn fortran(tables: &Tables) -> String {
    let mut text = format!("pub const NUMBERS: [(&str, usize, usize); {}] = [\n", tables.fortran.len());
    for (name, number_there) in &tables.fortran {
        let value = tables.all_constants().filter(|of| of.name == *name).map(|of| of.value.as_str()).next();
        let cast = value.and_then(|value| value.strip_prefix("((")?.split_once(')'));
        // A constant that represents another one has its type.
        let of = cast.map_or("MPI_Datatype", |(of, _)| of);
        writeln!(text, "    ({of:?}, {number_there}, {}),", number(name)).expect("a string grows");
    }
    text + "];\n"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_handle_of_open_mpi_has_one_variable() {
        let tables = Tables::openmpi();
        let names: BTreeSet<&str> = tables.objects.iter().map(|object| object.name.as_str()).collect();
        assert_eq!(names.len(), tables.objects.len(), "no name stands there twice");
        let addresses: Vec<_> =
            tables.all_constants().filter_map(|of| of.value.strip_suffix(')')?.rsplit_once(")omp")).collect();
        assert!(
            addresses.len() > 100 && addresses.iter().all(|(_, rest)| names.contains(&*format!("omp{rest}")))
        );
        let text = rust(&tables);
        assert_eq!(text.matches(" true;").count(), addresses.len());
        assert!(text.contains("    ompi_mpi_comm_world 512 0x00000101 true;\n"), "{text}");
        assert!(
            text.contains("    ompi_mpi_c_complex 512 0x000002c0 false;\n")
                || text.contains("ompi_mpi_c_complex 512"),
            "{text}"
        );
    }
}
