//! The C programs and the conformance program of the standard's ABI, compiled for MPICH's, assert and print
//! the same. Programs built for MPICH itself, like mpi4py's wheel, show that the values are MPICH's.

#[path = "../../mpi-abi/tests/support/other_abi.rs"]
mod other_abi;
#[path = "../../mpi-abi/tests/support/mod.rs"]
mod support;

use support::{compiled, run};

/// Symbols that Intel MPI's libraries for Fortran and C++ need beside functions of MPI (`nm -D
/// --undefined-only`).
const ASKED_BY_INTEL: [&str; 35] = [
    "MPII_Comm_get_attr_fort",
    "MPII_F_FALSE",
    "MPII_F_TRUE",
    "MPII_Op_set_f08",
    "MPIR_Err_create_code",
    "MPIR_Err_return_comm",
    "MPIR_F_MPI_BOTTOM",
    "MPIR_F_MPI_BUFFER_AUTOMATIC",
    "MPIR_F_MPI_IN_PLACE",
    "MPIR_F_MPI_UNWEIGHTED",
    "MPIR_F_MPI_WEIGHTS_EMPTY",
    "MPIX_Comm_test_threadcomm",
    "MPIX_Get_notify",
    "MPIX_Get_notify_c",
    "MPIX_Put_notify",
    "MPIX_Put_notify_c",
    "MPIX_Query_cuda_support",
    "MPIX_Query_ze_support",
    "MPIX_Win_create_notify",
    "MPIX_Win_free_notify",
    "MPIX_Win_get_notify",
    "MPIX_Win_get_notify_request",
    "MPIX_Win_set_notify",
    "MPI_F_ARGVS_NULL",
    "MPI_F_ERRCODES_IGNORE",
    "MPI_F_STATUSES_IGNORE",
    "MPI_F_STATUS_IGNORE",
    "impi_free",
    "impi_malloc",
    "impi_realloc",
    "mpirinitf_",
    "MPII_Errhandler_set_cxx",
    "MPII_Op_set_cxx",
    "MPII_Keyval_set_proxy",
    "MPII_Grequest_set_lang_f77",
];

/// Symbols that the Fortran library of MPICH 4.2 needs beside those, as Debian 13 has it.
const ASKED_BY_MPICH: [&str; 37] = [
    "MPIX_Allreduce_enqueue",
    "MPIX_Allreduce_enqueue_c",
    "MPIX_Comm_get_stream",
    "MPIX_Info_set_hex",
    "MPIX_Irecv_enqueue",
    "MPIX_Irecv_enqueue_c",
    "MPIX_Isend_enqueue",
    "MPIX_Isend_enqueue_c",
    "MPIX_Recv_enqueue",
    "MPIX_Recv_enqueue_c",
    "MPIX_Send_enqueue",
    "MPIX_Send_enqueue_c",
    "MPIX_Start_progress_thread",
    "MPIX_Stop_progress_thread",
    "MPIX_Stream_comm_create",
    "MPIX_Stream_comm_create_multiplex",
    "MPIX_Stream_create",
    "MPIX_Stream_free",
    "MPIX_Stream_irecv",
    "MPIX_Stream_irecv_c",
    "MPIX_Stream_isend",
    "MPIX_Stream_isend_c",
    "MPIX_Stream_progress",
    "MPIX_Stream_recv",
    "MPIX_Stream_recv_c",
    "MPIX_Stream_send",
    "MPIX_Stream_send_c",
    "MPIX_Threadcomm_finish",
    "MPIX_Threadcomm_free",
    "MPIX_Threadcomm_init",
    "MPIX_Threadcomm_start",
    "MPIX_Wait_enqueue",
    "MPIX_Waitall_enqueue",
    "PMPIX_GPU_query_support",
    "PMPIX_Query_cuda_support",
    "PMPIX_Query_hip_support",
    "PMPIX_Query_ze_support",
];

/// A program linked with one of these libraries does not start if one of the names is missing.
#[test]
fn the_names_that_other_libraries_ask_for_are_there() {
    let asked = || ASKED_BY_INTEL.iter().chain(&ASKED_BY_MPICH);
    let names: String = asked().map(|name| format!("    \"{name}\",\n")).collect();
    let text = format!(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\nstatic const char *const names[] = {{\n{names}}};\n{LOOK}"
    );
    let source = support::library().join("asked.c");
    std::fs::write(&source, text).expect("the folder can be written to");
    let output = run(None, &compiled("asked", &[source]), &[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.lines().all(|line| line == "there"), "{output:?}");
    assert_eq!(said.lines().count(), asked().count());
}

/// Prints for each name if the library has it.
const LOOK: &str = r#"
#include <mpi.h>
#include <stdio.h>

int main(void)
{
    int flag;
    MPI_Initialized(&flag);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        printf("%s\n", dlsym(RTLD_DEFAULT, names[n]) ? "there" : names[n]);
    return 0;
}
"#;

/// Prints the library's version variables, declared as in programs of MPICH 4.0 and older. Linking makes the
/// variables the program's own.
const DESCRIBED: &str = r#"
#include <mpi.h>
#include <stdio.h>

extern const char MPII_Version_string[], MPII_Version_date[], MPII_Version_ABI[], MPII_Version_device[], MPII_Version_configure[],
    MPII_Version_CC[], MPII_Version_CXX[], MPII_Version_F77[], MPII_Version_FC[], MPII_Version_custom[];

int main(void)
{
    int flag;
    MPI_Initialized(&flag);
    printf("%s|%s|%s|%s|%s|", MPII_Version_string, MPII_Version_date, MPII_Version_ABI, MPII_Version_device, MPII_Version_configure);
    printf("%s|%s|%s|%s|%s", MPII_Version_CC, MPII_Version_CXX, MPII_Version_F77, MPII_Version_FC, MPII_Version_custom);
    return 0;
}
"#;

#[test]
fn programs_of_older_releases_read_the_texts_that_describe_the_library() {
    let source = support::library().join("described.c");
    std::fs::write(&source, DESCRIBED).expect("the folder can be written to");
    let output = run(None, &compiled("described", &[source]), &[]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "5.0|not recorded|12:0:0|canele||cc||||",
        "{output:?}"
    );
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn the_functions_that_mpichs_cplusplus_library_names_are_called() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cplusplus.c");
    support::passes(&compiled("cplusplus", &[source]), 1);
}
