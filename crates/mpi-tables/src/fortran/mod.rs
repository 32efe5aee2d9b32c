//! The Fortran interface as sources: `mpif.h`, the modules `mpi` and `mpi_f08`, and the procedures behind them.
//!
//! A compiler makes files of modules that it alone can read, so the sources are compiled once for each compiler.

/// A file of the Fortran interface.
pub struct Source {
    /// Name of the file, without a folder.
    pub name: &'static str,
    /// Content of the file.
    pub text: String,
}

/// Returns all files in the order in which they are compiled: names that end in `.h` are only included.
pub fn sources() -> Vec<Source> {
    [("mpif.h", HEADER), ("mpi_f08.f90", MPI_F08), ("mpi.f90", MPI), ("mpif.f90", PROCEDURES)]
        .map(|(name, text)| Source { name, text: text.into() })
        .into()
}

/// Lines that mean one thing in fixed and in free form.
const HEADER: &str = "      integer, parameter :: MPI_VERSION = 5
      integer, parameter :: MPI_INTEGER_KIND = kind(0)
";

const MPI: &str = "module mpi
  implicit none
  include 'mpif.h'
  interface
    subroutine MPI_Init(ierror)
      integer, intent(out) :: ierror
    end subroutine
    subroutine MPI_Finalize(ierror)
      integer, intent(out) :: ierror
    end subroutine
  end interface
end module
";

const MPI_F08: &str = "module mpi_f08
  use iso_c_binding
  implicit none
  include 'mpif.h'
  private :: init, finalize
  interface
    function init(argc, argv) bind(c, name='PMPI_Init')
      import
      type(c_ptr), value :: argc, argv
      integer(c_int) :: init
    end function
    function finalize() bind(c, name='MPI_Finalize')
      import
      integer(c_int) :: finalize
    end function
  end interface
contains
  subroutine MPI_Init(ierror)
    integer, optional, intent(out) :: ierror
    integer :: code
    code = init(c_null_ptr, c_null_ptr)
    if (present(ierror)) ierror = code
  end subroutine
  subroutine MPI_Finalize(ierror)
    integer, optional, intent(out) :: ierror
    integer :: code
    code = finalize()
    if (present(ierror)) ierror = code
  end subroutine
end module
";

const PROCEDURES: &str = "subroutine MPI_Init(ierror)
  use mpi_f08, only: init_f08 => MPI_Init
  implicit none
  integer, intent(out) :: ierror
  call init_f08(ierror)
end subroutine

subroutine MPI_Finalize(ierror)
  use mpi_f08, only: finalize_f08 => MPI_Finalize
  implicit none
  integer, intent(out) :: ierror
  call finalize_f08(ierror)
end subroutine
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_names_of_their_own() {
        let sources = sources();
        let mut names: Vec<_> = sources.iter().map(|source| source.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), sources.len());
        assert!(names.contains(&"mpif.h"));
    }
}
