//! The header part with the conversions between C and Fortran, which the ABI leaves to a Fortran library.

use std::fmt::Write;

/// The kinds of handles: the word in their functions' names, and their types.
const KINDS: [(&str, &str); 11] = [
    ("Comm", "MPI_Comm"),
    ("Errhandler", "MPI_Errhandler"),
    ("File", "MPI_File"),
    ("Group", "MPI_Group"),
    ("Info", "MPI_Info"),
    ("Message", "MPI_Message"),
    ("Op", "MPI_Op"),
    ("Request", "MPI_Request"),
    ("Session", "MPI_Session"),
    ("Type", "MPI_Datatype"),
    ("Win", "MPI_Win"),
];

/// The forms of a status: their names in functions, their types, and true if the type is the element of an
/// array.
const STATUSES: [(&str, &str, bool); 3] =
    [("c", "MPI_Status", false), ("f", "MPI_Fint", true), ("f08", "MPI_F08_status", false)];

/// Returns the text of this part.
pub fn text() -> String {
    let mut text = String::from(HEAD);
    for prefix in ["", "P"] {
        KINDS.iter().for_each(|kind| handle(&mut text, prefix, *kind));
        for from in STATUSES {
            STATUSES.iter().filter(|to| **to != from).for_each(|to| status(&mut text, prefix, from, *to));
        }
    }
    text + "#endif\n"
}

fn handle(text: &mut String, prefix: &str, (kind, of): (&str, &str)) {
    let name = format!("{prefix}MPI_{kind}");
    writeln!(
        text,
        "MPI_ABI_INLINE MPI_Fint {name}_c2f({of} handle) {{ return {name}_toint(handle); }}\n\
         MPI_ABI_INLINE {of} {name}_f2c(MPI_Fint handle) {{ return {name}_fromint(handle); }}"
    )
    .expect("a string grows");
}

/// Writes the function that copies the eight numbers of a status.
fn status(text: &mut String, prefix: &str, from: (&str, &str, bool), to: (&str, &str, bool)) {
    let copied: String =
        (0..8).map(|n| format!("    to{} = from{};\n", number(to, n), number(from, n))).collect();
    let ((from, from_type, _), (to, to_type, _)) = (from, to);
    writeln!(
        text,
        "MPI_ABI_INLINE int {prefix}MPI_Status_{from}2{to}(const {from_type} *from, {to_type} *to) {{\n    \
         if (!from || !to) return MPI_ERR_ARG;\n{copied}    return MPI_SUCCESS;\n}}"
    )
    .expect("a string grows");
}

/// Returns the expression for a number of a status.
fn number((_, _, is_array): (&str, &str, bool), n: usize) -> String {
    match (is_array, n) {
        (true, _) => format!("[{n}]"),
        (false, 0) => "->MPI_SOURCE".to_owned(),
        (false, 1) => "->MPI_TAG".to_owned(),
        (false, 2) => "->MPI_ERROR".to_owned(),
        (false, _) => format!("->MPI_internal[{}]", n - 3),
    }
}

const HEAD: &str = "\
/* Conversions between C and Fortran. They depend on Fortran's INTEGER, so the ABI has none of them (MPI 5.0, chapter 20): these
 * are for a Fortran whose INTEGER is C's int. Where a Fortran library's own are declared, MPI_ABI_Fortran_conversions is defined. */
#ifndef MPI_ABI_Fortran_conversions
#define MPI_ABI_Fortran_conversions
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)
#define MPI_ABI_INLINE static inline
#else
#define MPI_ABI_INLINE static __inline__
#endif
typedef int MPI_Fint;
typedef struct { MPI_Fint MPI_SOURCE; MPI_Fint MPI_TAG; MPI_Fint MPI_ERROR; MPI_Fint MPI_internal[5]; } MPI_F08_status;
#define MPI_F_STATUS_IGNORE MPI_ABI_POINTER(MPI_Fint*, 0)
#define MPI_F_STATUSES_IGNORE MPI_ABI_POINTER(MPI_Fint*, 0)
#define MPI_F08_STATUS_IGNORE MPI_ABI_POINTER(MPI_F08_status*, 0)
#define MPI_F08_STATUSES_IGNORE MPI_ABI_POINTER(MPI_F08_status*, 0)
";
