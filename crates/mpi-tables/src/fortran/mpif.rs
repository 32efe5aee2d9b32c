//! `mpif.h`, which programs in fixed and in free form include.

use super::constants::{OWN, named};
use super::long::IntegerLength;
use crate::tables::Tables;

/// Returns the file. Its lines use columns 7 to 72, as both forms demand.
pub(super) fn text(tables: &Tables, integers: IntegerLength) -> String {
    let mut text = String::from("!     The Fortran interface of MPI 5.0, for INCLUDE 'mpif.h'.\n");
    let mut parameter = |of: &str, name: &str, value: &str| {
        text.push_str(&format!("      {of} {name}\n"));
        let value = value.replace(", ", ",");
        // A continued line is marked in column 73 for free form, and in column 6 of the next line for fixed
        // form.
        match value.split_once(",storage") {
            None => text.push_str(&format!("      PARAMETER ({name}={value})\n")),
            Some((first, condition)) => {
                text.push_str(&format!("{:<72}&\n", format!("      PARAMETER ({name}={first},")));
                text.push_str(&format!("     &storage{condition})\n"));
            }
        }
    };
    for (name, value) in OWN.iter().filter(|(name, _)| name.starts_with("MPI_")) {
        parameter("INTEGER", name, value);
    }
    parameter("LOGICAL", "MPI_SUBARRAYS_SUPPORTED", ".FALSE.");
    parameter("LOGICAL", "MPI_ASYNC_PROTECTS_NONBLOCKING", ".FALSE.");
    for constant in named(tables, integers) {
        parameter(&format!("INTEGER{}", constant.kind()), constant.name, &constant.value());
    }
    text + PLACES
}

const PLACES: &str = "      INTEGER MPI_BOTTOM, MPI_IN_PLACE, MPI_BUFFER_AUTOMATIC
      INTEGER MPI_ERRCODES_IGNORE(1), MPI_UNWEIGHTED(1)
      INTEGER MPI_WEIGHTS_EMPTY(1)
      COMMON /canele_places/ MPI_BOTTOM, MPI_IN_PLACE
      COMMON /canele_places/ MPI_BUFFER_AUTOMATIC
      COMMON /canele_places/ MPI_ERRCODES_IGNORE
      COMMON /canele_places/ MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY
      CHARACTER*1 MPI_ARGV_NULL(1), MPI_ARGVS_NULL(1,1)
      COMMON /canele_texts/ MPI_ARGV_NULL, MPI_ARGVS_NULL
      INTEGER MPI_STATUS_IGNORE(8), MPI_STATUSES_IGNORE(8,1)
      COMMON /canele_status_places/ MPI_STATUS_IGNORE
      COMMON /canele_status_places/ MPI_STATUSES_IGNORE
      SAVE /canele_places/, /canele_texts/, /canele_status_places/
      DOUBLE PRECISION MPI_WTIME, MPI_WTICK
      EXTERNAL MPI_WTIME, MPI_WTICK
      DOUBLE PRECISION PMPI_WTIME, PMPI_WTICK
      EXTERNAL PMPI_WTIME, PMPI_WTICK
      INTEGER(KIND=MPI_ADDRESS_KIND) MPI_AINT_ADD
      INTEGER(KIND=MPI_ADDRESS_KIND) MPI_AINT_DIFF
      EXTERNAL MPI_AINT_ADD, MPI_AINT_DIFF
      INTEGER(KIND=MPI_ADDRESS_KIND) PMPI_AINT_ADD
      INTEGER(KIND=MPI_ADDRESS_KIND) PMPI_AINT_DIFF
      EXTERNAL PMPI_AINT_ADD, PMPI_AINT_DIFF
      EXTERNAL MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, MPI_DUP_FN
      EXTERNAL MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN
      EXTERNAL MPI_COMM_DUP_FN, MPI_WIN_NULL_COPY_FN
      EXTERNAL MPI_WIN_NULL_DELETE_FN, MPI_WIN_DUP_FN
      EXTERNAL MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN
      EXTERNAL MPI_TYPE_DUP_FN, MPI_CONVERSION_FN_NULL
";
