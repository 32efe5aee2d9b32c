//! Objects that a Fortran library, like Open MPI's, reads through their handles. Their fields are written
//! before the library gets a handle.
//!
//! A mark of the library says that a function of the program is in Fortran. The library sets the mark after
//! it has made an object, and then asks for the number of the handle. The mark is read at that time.

use canele_mpi::topology::Topology;
use layout::fortran::fields;

use crate::constants::MPI_ERR_NO_MEM;
use crate::generalized;
use crate::handle::{Handle, MPI_Comm, MPI_Op, MPI_Request, ObjectHandle};
use crate::library::{self, Aborted};
use crate::operations::Language;

/// Gives handles memory, if the Fortran library is loaded.
pub(crate) fn prepare_if_loaded() {
    if !fields::are_there() && fields::is_library_loaded() {
        prepare();
    }
}

/// Gives handles memory. If that fails, it is an error only if the Fortran library is loaded, and the library
/// may be loaded later.
pub(super) fn prepare() {
    if !fields::are_there()
        && let Err(text) = fields::reserve()
        && fields::is_library_loaded()
    {
        library::abort(&text, MPI_ERR_NO_MEM, Aborted::All);
    }
}

/// Prepares a handle whose number the Fortran library gets.
pub(crate) fn prepare_number<H: Handle>(handle: H) {
    prepare();
    if !fields::are_there() {
        return;
    }
    let value = handle.value();
    match H::NAME {
        "MPI_Request" => {
            fields::write_request(value);
            generalized::read_mark(MPI_Request::of(value));
        }
        "MPI_Op" => {
            if fields::is_fortran_op(value)
                && let Some(op) = MPI_Op::of(value).find()
            {
                op.set_language(Language::Fortran);
            }
        }
        "MPI_Comm" => prepare_comm(MPI_Comm::of(value)),
        _ => fields::write_object(value),
    }
}

/// Prepares a handle that the Fortran library gets.
pub(crate) fn prepare_handle<H: Handle>(handle: H) {
    prepare();
    if H::NAME == MPI_Comm::NAME && fields::are_there() {
        prepare_groups(MPI_Comm::of(handle.value()));
    }
}

/// Prepares a communicator that the C++ library gets, for an attribute function in C++.
pub(crate) fn prepare_comm(comm: MPI_Comm) {
    if fields::are_there() {
        fields::write_object(comm.value());
        prepare_groups(comm);
    }
}

/// Writes the sizes of a communicator's groups and the kind of its topology, once.
fn prepare_groups(comm: MPI_Comm) {
    if let Some(of) = comm.find()
        && !fields::have_groups(comm.value())
    {
        fields::write_groups(comm.value(), of.size(), of.remote().ok().map(|group| group.size()));
        match of.topology() {
            Some(Topology::Cart(_)) => fields::mark_as_cart(comm.value()),
            Some(Topology::Graph(_)) => fields::mark_as_graph(comm.value()),
            Some(Topology::DistGraph(_)) | None => {}
        }
    }
}
