//! C programs, compiled against the header and run with the library: each checks results and prints the place
//! of a failure.

mod support;

use std::path::Path;

use support::{
    all_passed, between_hosts, compiled, compiled_cpp, compiled_openmp, folder, library, names, passes, run,
    run_limited,
};

/// Makes a test of each program, run with these numbers of ranks, and with the last of them on lanes; 1 is
/// without a launcher.
macro_rules! programs {
    ($($name:ident [$($ranks:literal)+];)*) => {
        $(#[test]
        fn $name() {
            let source = folder("programs").join(concat!(stringify!($name), ".c"));
            let program = compiled(stringify!($name), &[source]);
            $(passes(&program, $ranks);)+
            passes_on_lanes(&program, *[$($ranks),+].last().expect("a number"));
        })*

        #[test]
        fn every_program_in_the_folder_is_run() {
            assert_eq!(names(&folder("programs")), [$(stringify!($name)),*]);
        }
    };
}

/// Runs a program whose communicators lie on lanes.
fn passes_on_lanes(program: &Path, ranks: usize) {
    // This program counts the events of the world alone.
    if program.ends_with("tool_events") {
        return;
    }
    let set = "export ASKS_FOR_THREADS=1 CANELE_LANES=3";
    all_passed(program, &run_limited(set, &["-n", &ranks.to_string()], program, &[]), ranks);
}

#[test]
fn both_names_of_a_function_have_one_address() {
    support::second_names_are_aliases();
}

#[test]
fn the_programs_of_a_job_have_numbers() {
    let program = compiled("numbered", &[folder("programs/attributes.c")]);
    let libraries = format!("LD_LIBRARY_PATH={}", library().display());
    let second =
        ["0", ":", "-n", "2", "env", &libraries, program.to_str().expect("a path of this workspace"), "1"];
    all_passed(&program, &run(Some(&["-n", "1"]), &program, &second), 3);
}

#[test]
fn a_progress_thread_serves_a_window_whose_owner_computes() {
    let program = compiled("served", &[folder("programs/onesided.c")]);
    let options = ["-n", "3", "--env", "CANELE_PROGRESS_THREAD=1"];
    all_passed(&program, &run(Some(&options), &program, &[]), 3);
}

#[test]
fn the_kinds_of_memory_that_a_job_asks_for_are_told() {
    let program = compiled("asked", &[folder("programs/infos.c")]);
    let asked = "system,mpi:alloc_mem,nothing:known";
    let setting = format!("CANELE_MPI_MEMORY_ALLOC_KINDS={asked}");
    all_passed(&program, &run(Some(&["-n", "2", "--env", &setting]), &program, &[asked]), 2);
}

#[test]
fn programs_begin_with_the_error_handler_that_was_asked_for() {
    let program = compiled("initial-errhandler", &[folder("programs/initial.c")]);
    for handler in ["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"] {
        let options = ["-n", "2", "--initial-errhandler", handler];
        all_passed(&program, &run(Some(&options), &program, &[handler]), 2);
    }
}

#[test]
fn messages_keep_their_order_while_a_second_thread_begins() {
    let program = compiled("second_thread", &[folder("programs/deferred.c")]);
    for delay in ["0", "30", "100", "200", "400", "800", "1500", "3000"] {
        all_passed(&program, &run(Some(&["-n", "2"]), &program, &[delay]), 2);
    }
}

#[test]
fn threads_communicate_on_lanes() {
    for name in ["lanes", "named_lanes", "spread"] {
        let program = compiled(&format!("{name}_of_several"), &[folder(&format!("programs/{name}.c"))]);
        for (lanes, ranks) in [("2", 2), ("4", 2), ("4", 3), ("16", 5)] {
            let set = format!("export CANELE_LANES={lanes}");
            all_passed(&program, &run_limited(&set, &["-n", &ranks.to_string()], &program, &[]), ranks);
        }
    }
}

#[test]
fn programs_are_on_lanes_between_hosts() {
    for name in ["lanes", "named_lanes", "spread", "workers", "file_faults", "partitions"] {
        let program = compiled(&format!("{name}_between_hosts"), &[folder(&format!("programs/{name}.c"))]);
        for (hosts, lanes, ranks) in [("h0:1,h1:1", 2, 2), ("h0:2,h1:1", 4, 3)] {
            let options = between_hosts(hosts);
            let set = format!("export ASKS_FOR_THREADS=1 CANELE_LANES={lanes}");
            let output = run_limited(&set, &options.each_ref().map(String::as_str), &program, &[]);
            all_passed(&program, &output, ranks);
        }
    }
}

#[test]
fn long_blocks_with_gaps_are_moved_by_all_algorithms_on_one_host_and_on_several() {
    let program = compiled("gapped_everywhere", &[folder("programs/gapped.c")]);
    for algorithm in ["bruck", "pairwise", "flat"] {
        let set = format!("export CANELE_COLLECTIVE={algorithm}");
        all_passed(&program, &run_limited(&set, &["-n", "3"], &program, &[]), 3);
    }
    // Hosts with unequal numbers of ranks gather at leaders.
    for (hosts, ranks) in [("h0:2,h1:2", 4), ("h0:3,h1:2", 5)] {
        let options = between_hosts(hosts);
        all_passed(&program, &run(Some(&options.each_ref().map(String::as_str)), &program, &[]), ranks);
    }
}

#[test]
fn calls_of_the_library_end_without_credit() {
    let program = compiled("credit_used_up", &[folder("programs/no_credit.c")]);
    for algorithm in ["shared-buffer", "doubling", "flat"] {
        let set = format!("export CANELE_UNEXPECTED_BYTES=65536 CANELE_COLLECTIVE={algorithm}");
        for ranks in [2, 3] {
            let output = run_limited(&set, &["-n", &ranks.to_string()], &program, &[]);
            all_passed(&program, &output, ranks);
        }
    }
    let options = between_hosts("h0:2,h1:1");
    let set = "export CANELE_UNEXPECTED_BYTES=65536";
    let output = run_limited(set, &options.each_ref().map(String::as_str), &program, &[]);
    all_passed(&program, &output, 3);
}

/// Runs a program whose threads use lanes, by all ways to wait, on one host and on two. Each case is a number
/// of lanes, and arguments.
fn use_lanes(name: &str, cases: &[(u32, &[&str])]) {
    let program = compiled(&format!("{name}_in_threads"), &[folder(&format!("programs/{name}.c"))]);
    for wait in ["adaptive", "sleep"] {
        for (lanes, arguments) in cases {
            let set = format!("export CANELE_LANES={lanes} CANELE_WAIT={wait}");
            all_passed(&program, &run_limited(&set, &["-n", "4"], &program, arguments), 4);
            let options = between_hosts("h0:2,h1:1");
            let output = run_limited(&set, &options.each_ref().map(String::as_str), &program, arguments);
            all_passed(&program, &output, 3);
        }
    }
}

#[test]
fn threads_use_windows_on_lanes() {
    use_lanes("window_lanes", &[(1, &[]), (2, &[]), (4, &[])]);
}

#[test]
fn threads_use_files_on_lanes() {
    use_lanes("file_lanes", &[(1, &[]), (2, &[]), (4, &[])]);
}

#[test]
fn duplicates_that_are_made_meanwhile_lie_on_lanes() {
    use_lanes("idup_lanes", &[(1, &[]), (2, &[]), (4, &[]), (3, &["rank 0 has no threads"])]);
}

#[test]
fn receives_are_deferred_on_lanes() {
    let program = compiled("deferred_on_lanes", &[folder("programs/deferred.c")]);
    for ranks in [2, 3] {
        let set = "export CANELE_LANES=4";
        all_passed(&program, &run_limited(set, &["-n", &ranks.to_string()], &program, &[]), ranks);
    }
}

#[test]
fn lanes_that_cannot_be_opened_are_done_without() {
    let program = compiled("few_resources_on_lanes", &[folder("programs/few_resources.c")]);
    for (lanes, resource) in [("2", "memory"), ("5", "memory"), ("2", "descriptors"), ("16", "descriptors")] {
        let set = format!("export ASKS_FOR_THREADS=1 CANELE_LANES={lanes}");
        all_passed(&program, &run_limited(&set, &["-n", "2"], &program, &[resource]), 2);
    }
}

#[test]
fn threads_come_and_go_on_lanes() {
    let program = compiled("on_lanes_for_a_while", &[folder("programs/workers.c")]);
    all_passed(&program, &run_limited("export CANELE_LANES=4", &["-n", "3"], &program, &[]), 3);
}

#[test]
fn a_launcher_without_descriptors_is_no_memory_for_all_members_of_a_window() {
    let program = compiled("exhausted", &[folder("programs/memory.c")]);
    let options = ["-n", "2"];
    all_passed(&program, &run_limited("ulimit -n 100", &options, &program, &["windows"]), 2);
}

#[test]
fn ranks_that_are_bound_to_processors_are_divided_by_them() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return;
    }
    let program = compiled("bound", &[folder("programs/resources.c")]);
    all_passed(&program, &run(Some(&["-n", "2", "--bind", "core"]), &program, &["bound"]), 2);
}

#[test]
fn the_example_of_the_documents_does_what_they_say() {
    let documents = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mpi-tools.md");
    let text = std::fs::read_to_string(documents).expect("docs/mpi-tools.md can be read");
    let (_, example) = text.split_once("```c\n").expect("docs/mpi-tools.md has an example");
    let (example, _) = example.split_once("```").expect("that ends");
    let source = library().join("tools_example.c");
    std::fs::write(&source, example).unwrap();
    let output = run(Some(&["-n", "2"]), &compiled("tools_example", &[source]), &[]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(printed.lines().collect::<Vec<_>>(), ["wait is 2, 1 message to itself"; 2], "{output:?}");
}

#[test]
fn the_example_of_threads_has_a_communicator_for_each() {
    let documents = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/threads.md");
    let text = std::fs::read_to_string(documents).expect("docs/threads.md can be read");
    let (_, example) = text.split_once("```c\n").expect("docs/threads.md has an example");
    let (example, _) = example.split_once("```").expect("that ends");
    let source = library().join("threads_example.c");
    std::fs::write(&source, example).unwrap();
    let program = compiled_openmp("threads_example", &[source]);
    let output = run_limited("export CANELE_LANES=3", &["-n", "2"], &program, &[]);
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<_> = printed.lines().collect();
    lines.sort_unstable();
    let thread = |line: usize| format!("thread {} of rank {}: 1", line / 2, line % 2);
    assert_eq!(lines, (0..8).map(thread).collect::<Vec<_>>(), "{output:?}");
}

programs! {
    abi [1];
    accumulates [1 2 3];
    agreements [2];
    aliases [1 3];
    anytime [1 2];
    attributes [1 2];
    between [2 3 5];
    buffers [1 3];
    cancels [2];
    copies [1 3];
    datatypes [1 2];
    deferred [1 2 3];
    duplicates [1 2 5];
    dynamic [1 2 3];
    errors [1];
    exits [1 3];
    few_resources [1 2];
    file_accesses [1 2 4];
    file_datareps [1 3];
    file_faults [1 3];
    file_hints [1 2 4];
    file_lanes [1 2 3];
    file_views [1 2 4];
    files [1 3];
    flushes [2];
    fortran [1];
    fortran_library [1];
    gapped [1 2 3];
    generalized [1];
    groups [1 2 5];
    idup_lanes [1 2 3];
    infos [1 3];
    initial [1 2];
    kept [1 3];
    lanes [1 2 3];
    late [2 3];
    memory [1 2 3];
    mixed [1 2];
    named_lanes [1 2 3];
    no_credit [2 3];
    onesided [1 2 3 4];
    operations [1];
    partitioned [1 2];
    partitions [1 2 3 4];
    ports [1 2 3 5];
    reductions [1 2 3 5];
    refused [2];
    removed [1];
    requests [1 2];
    resources [1 2 3];
    sessions [1 3];
    short_floats [2];
    spawn [1 2 3];
    spread [1 2 3];
    strided [1 2 3 5];
    tool_events [2];
    tool_threads [1 2];
    tools [1 2 3];
    truncated [2];
    window_kinds [1 2 3 4];
    window_lanes [1 2 3];
    windows [1 2 3];
    workers [2 3];
}

#[test]
fn fortran_conversions_in_cpp() {
    let source = folder("programs").join("fortran.cpp");
    passes(&compiled_cpp("fortran_conversions_in_cpp", &[source]), 1);
}
