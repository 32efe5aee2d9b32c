//! Tests of a library with another ABI than the standard's: the C programs and the conformance program assert
//! and print the same as there. The tests of such a package include this file by its path, in the folder
//! `support`.

use crate::support::{
    compiled, conformance, conforming, folder, passes, run, second_names_are_aliases, text,
};

/// Makes a test of each program, run with these numbers of ranks; 1 is without a launcher.
macro_rules! programs {
    ($($name:ident [$($ranks:literal)+];)*) => {
        $(#[test]
        fn $name() {
            let source = folder("programs").join(concat!(stringify!($name), ".c"));
            let program = compiled(stringify!($name), &[source]);
            $(passes(&program, $ranks);)+
        })*
    };
}

/// Returns the words of a line without the datatypes that it names.
fn without_handles(line: &str) -> Vec<&str> {
    let parts = line.split("((MPI_Datatype)").enumerate();
    parts
        .map(|(n, part)| if n == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) })
        .collect()
}

#[test]
fn the_conformance_program_prints_what_it_prints_by_the_standards_abi() {
    let program = compiled("conformance", &conformance());
    for ranks in [1, 3] {
        let output = run(Some(&["-n", &ranks.to_string()]), &program, &[]);
        assert!(output.status.success(), "{}", text(&output));
        let (said, expected) = (String::from_utf8_lossy(&output.stdout), conforming(ranks));
        // The ABI defines the numbers of combiners.
        let has_combiner = |line: &str| line.contains(" envelope ") || line.starts_with("contents");
        for (at, (said, expected)) in said.lines().zip(expected.lines()).enumerate() {
            let is_same = without_handles(said) == without_handles(expected);
            assert!(is_same || has_combiner(expected), "line {} on {ranks} ranks: {said}", at + 1);
        }
        assert_eq!(said.lines().count(), expected.lines().count(), "lines on {ranks} ranks");
    }
}

#[test]
fn both_names_of_a_function_have_one_address() {
    second_names_are_aliases();
}

programs! {
    accumulates [2];
    aliases [3];
    anytime [2];
    attributes [1];
    between [3];
    buffers [1 3];
    cancels [2];
    copies [3];
    datatypes [2];
    duplicates [2];
    file_accesses [2];
    file_datareps [1 3];
    file_views [2];
    files [1 3];
    generalized [1];
    groups [2];
    infos [1];
    kept [1 3];
    onesided [3];
    operations [1];
    partitioned [2];
    ports [2];
    reductions [3];
    refused [2];
    removed [1];
    requests [2];
    sessions [1];
    short_floats [2];
    spawn [1];
    tool_events [2];
    tools [1 2];
    truncated [2];
    windows [2];
}
