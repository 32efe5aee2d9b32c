//! The modules `canele_types`, with types of handles and statuses, and `mpi_f08_types`, with their constants.

use super::constants::named;
use super::long::IntegerLength;
use super::shape::HANDLES;
use super::text::{line, lines};
use crate::tables::Tables;

/// Kinds of objects with attributes: the word in the names of functions, and the type.
const WITH_ATTRIBUTES: [(&str, &str); 3] =
    [("Comm", "MPI_Comm"), ("Win", "MPI_Win"), ("Type", "MPI_Datatype")];

/// Returns the modules.
pub(super) fn text(tables: &Tables, integers: IntegerLength) -> String {
    let mut text = String::from("module canele_types\n  use canele_constants\n  implicit none\n\n");
    for (_, handle) in HANDLES {
        text += &format!("  type, bind(C) :: {}\n    integer :: MPI_VAL\n  end type\n", handle.of);
    }
    text += STATUS;
    text += &operators();
    text += "end module\n\nmodule mpi_f08_types\n  use, intrinsic :: iso_c_binding, only: c_ptr\n  use canele_types\n";
    text += "  implicit none\n\n";
    text += IGNORED;
    for constant in named(tables, integers) {
        if let Some(of) = constant.of {
            text +=
                &line(2, &format!("type({of}), parameter :: {} = {of}({})", constant.name, constant.value()));
        }
    }
    text += "  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .true.\n";
    text += "  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .true.\n\n";
    text += &include_str!("callbacks.f90").replace("COPY\n", &attributes());
    text + "end module\n\n"
}

const STATUS: &str = "  type, bind(C) :: MPI_Status
    integer :: MPI_SOURCE
    integer :: MPI_TAG
    integer :: MPI_ERROR
    integer :: MPI_internal(5)
  end type
";

/// Ignored statuses share their storage with those of the module `mpi`.
const IGNORED: &str = "\
  type(MPI_Status), target :: MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE(1)
  common /canele_status_places/ MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE

";

/// Returns the interfaces of attribute copy and delete functions.
fn attributes() -> String {
    let mut text = String::new();
    for (word, of) in WITH_ATTRIBUTES {
        let (old, keyval) =
            (format!("old{}", word.to_lowercase()), format!("{}_keyval", word.to_lowercase()));
        text += &line(
            4,
            &format!(
                "subroutine MPI_{word}_copy_attr_function({old}, {keyval}, extra_state, attribute_val_in, \
                 attribute_val_out, flag, ierror)"
            ),
        );
        text += &attribute_arguments(of, &old, &keyval, "extra_state, attribute_val_in, attribute_val_out");
        text += "      logical :: flag\n    end subroutine\n";
        let object = word.to_lowercase();
        text += &line(
            4,
            &format!(
                "subroutine MPI_{word}_delete_attr_function({object}, {keyval}, attribute_val, extra_state, ierror)"
            ),
        );
        text += &attribute_arguments(of, &object, &keyval, "attribute_val, extra_state");
        text += "    end subroutine\n";
    }
    text
}

fn attribute_arguments(of: &str, object: &str, keyval: &str, values: &str) -> String {
    lines(
        6,
        &[
            "import".to_owned(),
            format!("type({of}) :: {object}"),
            format!("integer :: {keyval}, ierror"),
            format!("integer(MPI_ADDRESS_KIND) :: {values}"),
        ],
    )
}

/// Returns the comparisons of handles.
fn operators() -> String {
    let mut text = String::new();
    for (operator, word) in [("==", "equal"), ("/=", "differ")] {
        let all: Vec<String> = HANDLES.iter().map(|(kind, _)| format!("canele_{kind}_{word}")).collect();
        text += &format!("  interface operator({operator})\n");
        text += &line(4, &format!("module procedure {}", all.join(", ")));
        text += "  end interface\n";
    }
    for name in
        HANDLES.iter().flat_map(|(kind, _)| ["equal", "differ"].map(|word| format!("canele_{kind}_{word}")))
    {
        text += &format!("  private :: {name}\n");
    }
    text += "\ncontains\n\n";
    for (kind, handle) in HANDLES {
        for (word, sign) in [("equal", "=="), ("differ", "/=")] {
            text += &format!(
                "  elemental logical function canele_{kind}_{word}(a, b) result(answer)\n    \
                 type({of}), intent(in) :: a, b\n    answer = a%MPI_VAL {sign} b%MPI_VAL\n  end function\n",
                of = handle.of
            );
        }
    }
    text
}
