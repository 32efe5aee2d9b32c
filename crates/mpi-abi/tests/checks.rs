//! The tunable `check` finds collective calls that do not match, and does not change right programs.

mod support;

use support::{all_passed, compiled, folder, names, run, text};

/// The kind of the mismatch, the report, and the word for the difference.
const WRONG: [(&str, &str, &str); 20] = [
    (
        "calls",
        "rank 0 calls MPI_Bcast(count 4 of MPI_INT, root 0) as its 3rd collective on MPI_COMM_WORLD; rank 2 calls \
         MPI_Allreduce(count 4 of MPI_INT, op MPI_SUM)",
        "calls",
    ),
    ("roots", "rank 2 calls MPI_Bcast(count 4 of MPI_INT, root 1)", "roots"),
    ("operations", "rank 2 calls MPI_Allreduce(count 4 of MPI_INT, op MPI_MAX)", "operations"),
    ("counts", "rank 2 calls MPI_Allreduce(count 5 of MPI_INT, op MPI_SUM)", "counts or datatypes"),
    ("datatypes", "rank 2 calls MPI_Bcast(count 4 of MPI_FLOAT, root 0)", "counts or datatypes"),
    ("gather", "rank 2 calls MPI_Gather(count 2 of MPI_INT, root 0)", "counts or datatypes"),
    ("scatter", "rank 2 calls MPI_Scatter(count 1 of MPI_INT, root 0)", "counts or datatypes"),
    (
        "lists",
        "rank 2 calls MPI_Reduce_scatter(counts [1, 2, 1, 1] of MPI_INT, op MPI_SUM)",
        "counts or datatypes",
    ),
    ("parts", "; rank 2 calls MPI_Gatherv(count 2 of MPI_INT, root 0)", "counts or datatypes"),
    ("scattered", "; rank 2 calls MPI_Scatterv(count 2 of MPI_INT, root 1)", "counts or datatypes"),
    (
        "missing",
        "rank 0 calls MPI_Barrier as its 3rd collective on MPI_COMM_WORLD; rank 2 calls MPI_Finalize",
        "calls",
    ),
    ("immediate", "rank 2 calls MPI_Ibcast(count 4 of MPI_INT, root 1)", "roots"),
    ("mixed", "rank 0 calls MPI_Ibcast(count 4 of MPI_INT, root 0)", "calls"),
    ("order", "calls MPI_Iallreduce(count 2 of MPI_INT, op MPI_SUM)", "counts or datatypes"),
    ("persistent", "rank 2 calls MPI_Reduce_init(count 1 of MPI_INT, op MPI_SUM, root 1)", "roots"),
    (
        "creation",
        "rank 0 calls MPI_Comm_split as its 3rd collective on MPI_COMM_WORLD; rank 2 calls MPI_Comm_dup",
        "calls",
    ),
    (
        "duplicate",
        "rank 0 calls MPI_Comm_idup as its 3rd collective on MPI_COMM_WORLD; rank 2 calls MPI_Ibarrier",
        "calls",
    ),
    (
        "neighbours",
        "as its 1st collective on a communicator without a name; rank 2 calls MPI_Neighbor_alltoall",
        "calls",
    ),
    (
        "between",
        "as its 1st collective on a communicator without a name; rank 0 calls MPI_Allreduce(count",
        "counts or datatypes",
    ),
    (
        "between-lengths",
        "as its 1st collective on a communicator without a name; rank 0 calls MPI_Allgather(count",
        "counts or datatypes",
    ),
];

#[test]
fn calls_that_do_not_belong_together_end_with_both() {
    let program = compiled("unlike", &[folder("programs/faults").join("unlike.c")]);
    for (how, said, what) in WRONG {
        let output = run(Some(&["-n", "4", "--check"]), &program, &[how]);
        let all = text(&output);
        assert!(output.status.code().is_some_and(|code| code != 0 && code != 124), "{how}: {all}");
        let line = all.lines().find(|line| line.contains(said));
        assert!(line.is_some_and(|line| line.contains(&format!(": the {what} differ"))), "{how}: {all}");
    }
}

#[test]
fn right_programs_pass_though_they_are_checked() {
    for name in names(&folder("programs")) {
        let ranks = match &*name {
            "agreements" | "cancels" | "flushes" | "partitioned" | "truncated" => 2,
            _ => 3,
        };
        let program = compiled(&format!("checked-{name}"), &[folder("programs").join(format!("{name}.c"))]);
        let number = ranks.to_string();
        all_passed(&program, &run(Some(&["-n", &number, "--check"]), &program, &[]), ranks);
    }
}
