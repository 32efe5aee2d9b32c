//! Programs of MPI that are traced: every call is in the trace, with the messages by communicator.

#![forbid(unsafe_code)]

mod support;

use std::path::Path;

use support::{compiled, launch, library, text};

#[test]
fn every_call_is_in_the_trace_and_messages_name_their_communicator() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/traced/traced.c");
    let program = compiled("traced", &[source]);
    let trace = std::env::temp_dir().join(format!("canele-mpi-traced-{}.json", std::process::id()));
    let mut run = launch::command();
    run.args(["run", "--timeout", "120", "-n", "2", "--trace"]).arg(&trace).arg("env");
    run.arg(format!("LD_LIBRARY_PATH={}", library().display())).arg(program);
    let output = run.output().expect("the launcher starts");
    assert!(output.status.success(), "{}", text(&output));
    let written = std::fs::read_to_string(&trace).expect("a trace");
    let calls = |name: &str| {
        let call = format!("\"cat\":\"call\",\"name\":\"{name}\"");
        written.lines().filter(|line| line.contains(&call)).count()
    };
    let names =
        ["MPI_Send", "MPI_Recv", "MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Barrier", "MPI_Finalize"];
    assert_eq!(names.map(calls), [5, 5, 8, 8, 2, 2, 2], "{written}");
    let messages = |kind: &str, tag: u32| {
        let (kind, args) =
            (format!("\"cat\":\"{kind}\""), format!("\"tag\":{tag},\"flow\":\"MPI_COMM_WORLD\""));
        // Collectives have tags of their own.
        let of_program = written.lines().filter(|line| !line.contains("\"collective\""));
        of_program.filter(|line| line.contains(&kind) && line.contains(&args)).count()
    };
    assert_eq!([messages("send", 3), messages("receive", 3)], [5, 5], "{written}");
    assert_eq!([messages("send", 4), messages("receive", 4)], [8, 8], "{written}");
    let lines_with =
        |parts: &[&str]| written.lines().filter(|line| parts.iter().all(|part| line.contains(part))).count();
    // A non-blocking collective has its name and bytes, and its messages belong to it.
    for phase in ["\"ph\":\"b\"", "\"ph\":\"e\""] {
        assert_eq!(lines_with(&[phase, "\"cat\":\"operation\",\"name\":\"allreduce\""]), 2, "{written}");
    }
    assert_eq!(lines_with(&["\"ph\":\"b\"", "\"cat\":\"operation\"", "\"bytes\":4"]), 2, "{written}");
    for kind in ["\"cat\":\"send\"", "\"cat\":\"receive\""] {
        assert!(lines_with(&[kind, "\"collective\":\"allreduce\""]) > 0, "{written}");
    }
    // One-sided accesses have their names, too.
    for (name, count) in [("put", 1), ("get", 1), ("accumulate", 2), ("fetch-and-op", 2)] {
        let (name, bytes) = (format!("\"cat\":\"one-sided\",\"name\":\"{name}\""), "\"bytes\":4");
        assert_eq!(
            lines_with(&[&name, "\"peer\":", bytes, "\"route\":\"mapped\""]),
            count,
            "{name}: {written}"
        );
    }
    std::fs::remove_file(trace).expect("it is there");
}
