//! C programs, compiled against the header and run with the library: each asserts what it was told and says where that failed.

mod support;

use support::{compiled, folder, names, passes};

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
    generalized [1];
    groups [1 2 5];
    infos [1 3];
    kept [1 3];
    late [2 3];
    mixed [1 2];
    operations [1];
    partitioned [1 2];
    partitions [1 2 4];
    reductions [1 2 3 5];
    requests [1 2];
    sessions [1 3];
}
