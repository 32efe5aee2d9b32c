//! Datatypes (MPI 5.0, chapter 5).

use canele_mpi::datatype::{Basic, Datatype};

use crate::handle;

/// Gives the predefined datatypes their handles.
pub(crate) fn predefine() {
    for basic in Basic::ALL {
        let named = |(name, _): &&(&str, _)| *name == basic.name();
        let (_, value) = crate::constants::DATATYPES.iter().find(named).expect("the ABI has a handle for it");
        handle::DATATYPES.fix(value.value(), Datatype::basic(*basic).clone());
    }
}
