//! The predefined attribute functions, and those that represent no function (MPI 5.0, section 7.7).

/// The word between `MPI_` and the rest of their names, and the type of their values. The first is that of
/// MPI 1, with values of type INTEGER.
const OF: [(&str, &str); 4] = [
    ("", "integer"),
    ("COMM_", "integer(MPI_ADDRESS_KIND)"),
    ("WIN_", "integer(MPI_ADDRESS_KIND)"),
    ("TYPE_", "integer(MPI_ADDRESS_KIND)"),
];

/// Returns their definitions, and those of procedures that C lacks.
pub(super) fn text() -> String {
    OF.iter().map(|(word, of)| functions(word, of)).collect::<String>() + include_str!("predefined.f90")
}

fn functions(word: &str, of: &str) -> String {
    let copy = |name: &str, body: &str| {
        let values = "extra_state, attribute_val_in, attribute_val_out";
        function(
            &format!("MPI_{word}{name}"),
            &format!("{values}, flag"),
            &format!("{of} :: {values}\n  logical :: flag"),
            body,
        )
    };
    let values = "attribute_val, extra_state";
    copy("DUP_FN", "  attribute_val_out = attribute_val_in\n  flag = .true.\n")
        + &copy("NULL_COPY_FN", "  flag = .false.\n")
        + &function(&format!("MPI_{word}NULL_DELETE_FN"), values, &format!("{of} :: {values}"), "")
}

fn function(name: &str, arguments: &str, declared: &str, body: &str) -> String {
    format!(
        "recursive subroutine {name}(object, keyval, {arguments}, ierror)\n  use canele_constants\n  implicit none\n  \
         integer :: object, keyval, ierror\n  {declared}\n{body}  ierror = MPI_SUCCESS\nend subroutine\n\n"
    )
}
