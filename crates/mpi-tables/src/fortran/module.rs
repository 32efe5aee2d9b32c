//! The modules for programs, with the interfaces of the procedures.

use std::collections::BTreeMap;

use super::constants::named;
use super::long::IntegerLength;
use super::procedure::{Dialect, Procedure};
use super::text::line;
use crate::tables::Tables;

/// Returns the module `mpi`, in which handles have type INTEGER.
pub(super) fn mpi(tables: &Tables, procedures: &[Procedure<'_>], integers: IntegerLength) -> String {
    let mut text = String::from("module mpi\n  use, intrinsic :: iso_c_binding, only: c_ptr\n");
    text += "  use canele_types\n  use canele_statuses\n  implicit none\n  private :: c_ptr, CANELE_LONGEST_TEXT\n\n";
    for constant in named(tables, integers).iter().filter(|constant| constant.of.is_some()) {
        text += &line(2, &format!("integer, parameter :: {} = {}", constant.name, constant.value()));
    }
    text += "  logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .false.\n";
    text += "  logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .false.\n\n";
    text += PREDEFINED;
    let modern: Vec<&Procedure<'_>> =
        procedures.iter().filter(|procedure| procedure.dialect == Dialect::Mpi).collect();
    text += &interfaces(&modern);
    text + &own(SYNC) + "end module\n"
}

/// Returns the module `mpi_f08`.
pub(super) fn mpi_f08(procedures: &[Procedure<'_>], of_both: &[Procedure<'_>]) -> String {
    let mut text = String::from("module mpi_f08\n  use, intrinsic :: iso_c_binding, only: c_ptr\n");
    text += "  use mpi_f08_types\n  implicit none\n  private :: c_ptr, CANELE_LONGEST_TEXT\n\n";
    text += &predefined_f08();
    let all: Vec<&Procedure<'_>> = procedures.iter().chain(of_both).collect();
    text += &interfaces(&all);
    text + &own(SYNC_F08) + "end module\n"
}

/// Returns the interfaces of the procedures for programs, also with the prefix P.
fn interfaces(procedures: &[&Procedure<'_>]) -> String {
    let mut by_name: BTreeMap<&str, Vec<&Procedure<'_>>> = BTreeMap::new();
    procedures.iter().for_each(|procedure| by_name.entry(procedure.generic()).or_default().push(procedure));
    let mut text = String::new();
    for prefix in ["", "P"] {
        for (name, all) in &by_name {
            let is_its_own = all.len() == 1 && all[0].name() == *name;
            text += &if is_its_own {
                "  interface\n".to_owned()
            } else {
                line(2, &format!("interface {prefix}{name}"))
            };
            all.iter().for_each(|procedure| text += &procedure.interface(prefix, 4));
            text += "  end interface\n";
        }
    }
    text
}

const PREDEFINED: &str = "\
  external :: MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, MPI_DUP_FN
  external :: MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, MPI_COMM_DUP_FN
  external :: MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, MPI_WIN_DUP_FN
  external :: MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, MPI_TYPE_DUP_FN
  external :: MPI_CONVERSION_FN_NULL

";

/// Returns the predefined attribute functions, by their interfaces.
fn predefined_f08() -> String {
    let mut text = String::new();
    for word in ["Comm", "Win", "Type"] {
        let upper = word.to_uppercase();
        text += &format!(
            "  procedure(MPI_{word}_copy_attr_function) :: MPI_{upper}_NULL_COPY_FN, MPI_{upper}_DUP_FN\n"
        );
        text += &format!("  procedure(MPI_{word}_delete_attr_function) :: MPI_{upper}_NULL_DELETE_FN\n");
    }
    text += "  procedure(MPI_Datarep_conversion_function) :: MPI_CONVERSION_FN_NULL\n";
    text += "  procedure(MPI_Datarep_conversion_function_c) :: MPI_CONVERSION_FN_NULL_C\n\n";
    text
}

/// Returns the procedures that C lacks, with both prefixes.
fn own(sync: &str) -> String {
    let all = format!("  interface\n{STATUSES}{SIZEOF}{sync}");
    let with_p: String = all.replace("subroutine MPI_", "subroutine PMPI_");
    format!("{all}  end interface\n{with_p}  end interface\n")
}

const STATUSES: &str = "    subroutine MPI_Status_f2f08(f_status, f08_status, ierror)
      import
      integer, intent(in) :: f_status(MPI_STATUS_SIZE)
      type(MPI_Status), intent(out) :: f08_status
      integer, optional, intent(out) :: ierror
    end subroutine
    subroutine MPI_Status_f082f(f08_status, f_status, ierror)
      import
      type(MPI_Status), intent(in) :: f08_status
      integer, intent(out) :: f_status(MPI_STATUS_SIZE)
      integer, optional, intent(out) :: ierror
    end subroutine
";

const SIZEOF: &str = "    subroutine MPI_Sizeof(x, size, ierror)
      import
      type(*), dimension(..), intent(in) :: x
      integer, intent(out) :: size
      integer, optional, intent(out) :: ierror
    end subroutine
";

const SYNC: &str = "    subroutine MPI_F_sync_reg(buf)
      !DEC$ ATTRIBUTES NO_ARG_CHECK :: buf
      !GCC$ ATTRIBUTES NO_ARG_CHECK :: buf
      !DIR$ IGNORE_TKR buf
      type(*), dimension(*) :: buf
    end subroutine
";

const SYNC_F08: &str = "    subroutine MPI_F_sync_reg(buf)
      type(*), dimension(..), asynchronous :: buf
    end subroutine
";
