//! The header of the functions beyond the standard, one for each ABI.

use std::fmt::Write;

use crate::exported::extensions;
use crate::header::define;
use crate::header::others::is_public;
use crate::tables::{Abi, Tables};

/// Returns `mpi-ext.h`.
pub fn text(tables: &Tables) -> String {
    match tables.abi {
        // MPICH has no such header: its `mpi.h` declares these functions.
        Abi::Mpich => MPICH.to_owned(),
        Abi::Standard => declarations(HEAD, tables),
        Abi::OpenMpi => declarations(OPEN_MPI, tables),
    }
}

fn declarations(head: &str, tables: &Tables) -> String {
    let mut text = String::from(head);
    let mut put = |line: &str| writeln!(text, "{line}").expect("a string grows");
    let constants = tables.extension_constants.iter().filter(|of| of.name.starts_with("MPIX_"));
    constants.for_each(|constant| put(&define(tables, constant)));
    put("");
    let functions: Vec<_> =
        extensions(tables).into_iter().filter(|of| of.name.starts_with("MPIX_")).collect();
    for prefix in ["", "P"] {
        let public = functions.iter().filter(|of| is_public(of));
        public.for_each(|function| put(&format!("{};", function.declaration(prefix))));
    }
    text + TAIL
}

const HEAD: &str = "\
/* What Canelé has beyond MPI 5.0: process failures, by the names and meanings of the proposal User Level Failure Mitigation.
 * A program that uses it runs on this library alone; it asks for `canele run --on-failure continue`.
 * Generated from the tables in crates/mpi-tables/tables. */
#ifndef CANELE_MPI_EXT_H
#define CANELE_MPI_EXT_H

#include <mpi.h>

#ifdef __cplusplus
extern \"C\" {
#endif

";

const MPICH: &str = "\
/* What is beyond MPI 5.0, as by the other ABIs: the mpi.h of MPICH's declares it.
 * Generated from the tables in crates/mpi-tables/tables. */
#ifndef CANELE_MPI_EXT_H
#define CANELE_MPI_EXT_H

#include <mpi.h>

#endif
";

const OPEN_MPI: &str = "\
/* What is beyond MPI 5.0 by Open MPI's ABI: process failures, and questions about memory of accelerators.
 * Generated from the tables in crates/mpi-tables/tables. */
#ifndef CANELE_MPI_EXT_H
#define CANELE_MPI_EXT_H

#include <mpi.h>

#ifdef __cplusplus
extern \"C\" {
#endif

#define OMPI_HAVE_MPI_EXT 1
#define OMPI_HAVE_MPI_EXT_CUDA 1
#define OMPI_HAVE_MPI_EXT_FTMPI 1
#define OMPI_HAVE_MPI_EXT_ROCM 1
#define MPIX_CUDA_AWARE_SUPPORT 0
#define MPIX_ROCM_AWARE_SUPPORT 0
int MPIX_Query_cuda_support(void);
int MPIX_Query_rocm_support(void);
";

const TAIL: &str = "
#ifdef __cplusplus
}
#endif

#endif
";
