//! The variables of an ABI whose handles are addresses, as Rust code for its layout crate.

use std::fmt::Write;

use crate::constants::number;
use crate::tables::{ObjectRow, Tables};

/// Returns a call of the macro `objects!` of the layout crate with a line for each variable: its name, its bytes, and the number of its constant inside of the
/// library, which is that of the standard ABI. Where several variables stand for one constant, the first of its name is the one that calls give.
pub fn rust(tables: &Tables) -> String {
    let mut text = String::from("objects! {\n");
    for ObjectRow { name, bytes, constant } in &tables.objects {
        let number = number(constant);
        let all = tables.constants.iter().chain(&tables.removed_constants);
        let is_given =
            all.filter(|of| of.name == *constant).any(|of| of.value.ends_with(&format!("){name})")));
        writeln!(text, "    {name} {bytes} {number} {is_given};").expect("a string grows");
    }
    text + "}\n"
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
        let all = tables.constants.iter().chain(&tables.removed_constants);
        let addresses: Vec<_> =
            all.filter_map(|of| of.value.strip_suffix(')')?.rsplit_once(")omp")).collect();
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
