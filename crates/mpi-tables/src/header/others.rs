//! Parts of `mpi.h` for one ABI: macros that identify MPICH and Open MPI, variables, and functions beyond the
//! standard.

use std::fmt::Write;

use super::define;
use crate::exported::extensions;
use crate::tables::{Abi, Constant, Tables};

/// Returns the comment at the start of the header.
pub fn head(abi: Abi) -> String {
    let by = match abi {
        Abi::Standard => "by its standard ABI: what is compiled with it runs on every library with that ABI.",
        Abi::Mpich => {
            "by the ABI of MPICH 3.1 to 5.0, Intel MPI and their kin: what is compiled with it\n * runs on every libmpi.so.12."
        }
        Abi::OpenMpi => "by the ABI of Open MPI 3 to 5: what is compiled with it runs on every libmpi.so.40.",
    };
    format!(
        "/* The C interface of MPI 5.0 {by}\n * Generated from the tables in crates/mpi-tables/tables. */\n"
    )
}

/// Returns the macros that identify an implementation.
pub fn identity(abi: Abi) -> &'static str {
    match abi {
        Abi::Standard => "",
        Abi::Mpich => MPICH_IDENTITY,
        Abi::OpenMpi => OPEN_MPI_IDENTITY,
    }
}

const MPICH_IDENTITY: &str = "\
#define MPICH 1
#define MPICH_NAME 5
#define MPICH_VERSION \"5.0.2\"
#define MPICH_NUMVERSION 50002300
#define MPICH_HAS_C2F 1
#define MPICH_RELEASE_TYPE_ALPHA 0
#define MPICH_RELEASE_TYPE_BETA 1
#define MPICH_RELEASE_TYPE_RC 2
#define MPICH_RELEASE_TYPE_PATCH 3
#define MPICH_CALC_VERSION(major, minor, revision, type, patch) \\
    ((major) * 10000000 + (minor) * 100000 + (revision) * 1000 + (type) * 100 + (patch))
#define MPI_INCLUDED 1
#define MPI_FILE_DEFINED 1
#define HAVE_MPI_OFFSET 1
#define MPI_AINT_FMT_DEC_SPEC \"%ld\"
#define MPI_AINT_FMT_HEX_SPEC \"%lx\"

";

const OPEN_MPI_IDENTITY: &str = "\
#define OPEN_MPI 1
#define OMPI_MAJOR_VERSION 5
#define OMPI_MINOR_VERSION 0
#define OMPI_RELEASE_VERSION 11
#define OMPI_MPI_H 1

";

/// Constants that are variables of MPICH's library; only the library knows their values.
const MPICH_VARIABLES: [&str; 3] = ["MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY", "MPI_T_PVAR_ALL_HANDLES"];

/// Returns true if a constant is a variable of the library.
pub fn is_variable(abi: Abi, constant: &Constant) -> bool {
    abi == Abi::Mpich && MPICH_VARIABLES.contains(&constant.name.as_str())
}

/// Returns the declarations of MPICH's or Open MPI's header beyond the standard.
pub fn text(tables: &Tables) -> String {
    let mut text = String::new();
    let mut put = |line: &str| writeln!(text, "{line}").expect("a string grows");
    for variable in tables.constants.iter().filter(|of| is_variable(tables.abi, of)) {
        let of = variable.value.trim_start_matches('(').split_once(')').expect("a value with a cast").0;
        put(&format!("extern {of} const {};", variable.name));
    }
    put(if tables.abi == Abi::Mpich { MPICH } else { OPEN_MPI });
    // Open MPI has a separate header for these.
    let is_here = |name: &str| tables.abi == Abi::Mpich || !name.starts_with("MPIX_");
    tables.extension_constants.iter().filter(|of| is_here(&of.name)).for_each(|of| put(&define(tables, of)));
    for prefix in ["", "P"] {
        for function in extensions(tables).iter().filter(|of| is_here(&of.name) && is_public(of)) {
            put(&format!("{};", function.declaration(prefix)));
        }
    }
    if tables.abi == Abi::Mpich {
        put(&conversions());
    }
    text
}

/// Returns true for a function that programs call; others are for libraries, or only report that they are
/// missing.
pub fn is_public(function: &crate::Exported<'_>) -> bool {
    function.of.body.is_some() && !function.name.starts_with("MPII_")
}

/// Returns the conversions between C and Fortran handles as macros, since releases of MPICH before 5 lack
/// functions of these names.
fn conversions() -> String {
    let kinds = ["Comm", "Errhandler", "Group", "Info", "Message", "Op", "Request", "Session", "Type", "Win"];
    let mut text = String::new();
    for name in ["", "P"].iter().flat_map(|prefix| kinds.map(|kind| (prefix, kind))) {
        let (prefix, kind) = name;
        let of = if kind == "Type" { "Datatype" } else { kind };
        let one = format!("#define {prefix}MPI_{kind}_c2f(handle) MPI_ABI_NUMBER(MPI_Fint, (handle))\n");
        text += &one;
        text += &format!("#define {prefix}MPI_{kind}_f2c(handle) MPI_ABI_NUMBER(MPI_{of}, (handle))\n");
    }
    text
}

const MPICH: &str = "\
extern MPI_Fint *MPI_F_STATUS_IGNORE;
extern MPI_Fint *MPI_F_STATUSES_IGNORE;
extern MPI_F08_status *MPI_F08_STATUS_IGNORE;
extern MPI_F08_status *MPI_F08_STATUSES_IGNORE;
int MPIR_Dup_fn(MPI_Comm comm, int keyval, void *extra_state, void *attribute_val_in, void *attribute_val_out, int *flag);
typedef void (MPIX_User_function_x)(void *invec, void *inoutvec, MPI_Count len, MPI_Datatype datatype, void *extra_state);
typedef void (MPIX_Comm_errhandler_function_x)(MPI_Comm comm, int error_code, void *extra_state);
typedef void (MPIX_File_errhandler_function_x)(MPI_File file, int error_code, void *extra_state);
typedef void (MPIX_Session_errhandler_function_x)(MPI_Session session, int error_code, void *extra_state);
typedef void (MPIX_Win_errhandler_function_x)(MPI_Win win, int error_code, void *extra_state);
typedef void (MPIX_Destructor_function)(void *extra_state);
#define MPIX_GPU_SUPPORT_CUDA 0
#define MPIX_GPU_SUPPORT_ZE 1
#define MPIX_GPU_SUPPORT_HIP 2
int MPIX_GPU_query_support(int gpu_type, int *is_supported);
int MPIX_Query_cuda_support(void);
int MPIX_Query_hip_support(void);
int MPIX_Query_ze_support(void);
";

/// Open MPI's library has no functions for sums of addresses. Those of attributes are what the constants
/// stand for.
const OPEN_MPI: &str = "\
extern MPI_Fint *MPI_F_STATUS_IGNORE;
extern MPI_Fint *MPI_F_STATUSES_IGNORE;
extern MPI_Fint *MPI_F08_STATUS_IGNORE;
extern MPI_Fint *MPI_F08_STATUSES_IGNORE;
#define MPI_Aint_add(base, disp) (MPI_ABI_NUMBER(MPI_Aint, (base)) + MPI_ABI_NUMBER(MPI_Aint, (disp)))
#define MPI_Aint_diff(addr1, addr2) (MPI_ABI_NUMBER(MPI_Aint, (addr1)) - MPI_ABI_NUMBER(MPI_Aint, (addr2)))
#define PMPI_Aint_add(base, disp) MPI_Aint_add(base, disp)
#define PMPI_Aint_diff(addr1, addr2) MPI_Aint_diff(addr1, addr2)
#define OMPI_COMM_TYPE_NODE MPI_COMM_TYPE_SHARED
int OMPI_C_MPI_NULL_COPY_FN(MPI_Comm, int, void *, void *, void *, int *);
int OMPI_C_MPI_DUP_FN(MPI_Comm, int, void *, void *, void *, int *);
int OMPI_C_MPI_NULL_DELETE_FN(MPI_Comm, int, void *, void *);
int OMPI_C_MPI_COMM_NULL_COPY_FN(MPI_Comm, int, void *, void *, void *, int *);
int OMPI_C_MPI_COMM_DUP_FN(MPI_Comm, int, void *, void *, void *, int *);
int OMPI_C_MPI_COMM_NULL_DELETE_FN(MPI_Comm, int, void *, void *);
int OMPI_C_MPI_TYPE_NULL_COPY_FN(MPI_Datatype, int, void *, void *, void *, int *);
int OMPI_C_MPI_TYPE_DUP_FN(MPI_Datatype, int, void *, void *, void *, int *);
int OMPI_C_MPI_TYPE_NULL_DELETE_FN(MPI_Datatype, int, void *, void *);
int OMPI_C_MPI_WIN_NULL_COPY_FN(MPI_Win, int, void *, void *, void *, int *);
int OMPI_C_MPI_WIN_DUP_FN(MPI_Win, int, void *, void *, void *, int *);
int OMPI_C_MPI_WIN_NULL_DELETE_FN(MPI_Win, int, void *, void *);
";
