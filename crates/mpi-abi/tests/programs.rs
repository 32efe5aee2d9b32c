//! C programs, compiled against the header and run with the library: each asserts what it was told and says where that failed.

mod support;

use support::{compiled, compiled_cpp, folder, names, passes};

/// Each program is a test, run with these numbers of ranks; 1 is without a launcher.
macro_rules! programs {
    ($($name:ident [$($ranks:literal)+];)*) => {
        $(#[test]
        fn $name() {
            let source = folder("programs").join(concat!(stringify!($name), ".c"));
            let program = compiled(stringify!($name), &[source]);
            $(passes(&program, $ranks);)+
        })*

        #[test]
        fn every_program_in_the_folder_is_run() {
            assert_eq!(names(&folder("programs")), [$(stringify!($name)),*]);
        }
    };
}

programs! {
    abi [1];
    attributes [1 2];
    between [2 3 5];
    buffers [1 3];
    cancels [2];
    datatypes [1 2];
    duplicates [1 2 5];
    errors [1];
    exits [1 3];
    fortran [1];
    fortran_library [1];
    generalized [1];
    groups [1 2 5];
    infos [1 3];
    kept [1 3];
    late [2 3];
    operations [1];
    partitioned [1 2];
    reductions [1 2 3 5];
    removed [1];
    sessions [1 3];
}

#[test]
fn fortran_conversions_in_cpp() {
    let source = folder("programs").join("fortran.cpp");
    passes(&compiled_cpp("fortran_conversions_in_cpp", &[source]), 1);
}
