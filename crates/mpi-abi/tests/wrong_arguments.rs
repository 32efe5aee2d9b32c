//! Every function of the interface, called with each of its arguments wrong. No call crashes. A wrong handle,
//! or a wrong number that can be checked, is an error.
//!
//! The program is generated from the tables. It runs as a job of one rank, in which no call waits: messages
//! go to `MPI_PROC_NULL`, collectives run on `MPI_COMM_SELF`.

mod support;

use std::fmt::Write;

use canele_mpi_tables::{Exported, ParameterKind, Tables, exported, removed_functions};

/// Functions that end the process or MPI, or have no argument that can be wrong.
const LEFT_OUT: [&str; 5] = ["MPI_Abort", "MPI_Finalize", "MPI_Init", "MPI_Init_thread", "MPI_Pcontrol"];

/// Arguments that are not checked: this process is in none of the groups, which are empty.
const MEANINGLESS: [(&str, &str); 3] = [
    ("MPI_Comm_create_group", "tag"),
    ("MPI_Intercomm_create_from_groups", "local_leader"),
    ("MPI_Intercomm_create_from_groups", "remote_leader"),
];

/// A wrong value of an argument.
struct Wrong {
    what: &'static str,
    expression: String,
    /// True if the call has to fail.
    fails: bool,
}

fn wrong(what: &'static str, expression: impl Into<String>, fails: bool) -> Wrong {
    Wrong { what, expression: expression.into(), fails }
}

/// Kinds of handles: type in C, and a value that was freed.
const HANDLES: [(&str, &str, &str); 11] = [
    ("comm", "MPI_Comm", "freed_comm"),
    ("group", "MPI_Group", "freed_group"),
    ("datatype", "MPI_Datatype", "freed_datatype"),
    ("op", "MPI_Op", "freed_op"),
    ("info", "MPI_Info", "freed_info"),
    ("errhandler", "MPI_Errhandler", "freed_errhandler"),
    ("request", "MPI_Request", "freed_request"),
    ("session", "MPI_Session", "freed_session"),
    ("message", "MPI_Message", "(MPI_Message)77777"),
    ("win", "MPI_Win", "(MPI_Win)77777"),
    ("file", "MPI_File", "(MPI_File)77777"),
];

/// Returns the wrong values of an argument.
fn wrongs(kind: &ParameterKind) -> Vec<Wrong> {
    if let Some((_, of, freed)) = HANDLES.iter().find(|(name, ..)| *name == kind.name) {
        return vec![
            wrong("never set", format!("({of})0"), true),
            wrong("freed", *freed, true),
            wrong("of another kind", format!("({of}){}", other_kind(&kind.name)), true),
            wrong("of another kind and made", format!("({of}){}", other_made(&kind.name)), true),
            wrong("negative", format!("({of})(intptr_t)-1"), true),
            wrong("too large", format!("({of})(intptr_t)0x7fffffffffff"), true),
        ];
    }
    let of_number = |fails| vec![wrong("negative", "-77", fails), wrong("too large", "0x7fffffff", fails)];
    match kind.name.as_str() {
        "rank" | "root" | "tag" | "keyval" | "thread_level" => of_number(true),
        "count" => vec![wrong("negative", "-77", true)],
        "color" | "split_type" | "order" | "combiner" | "error_class" | "type_class" => of_number(false),
        name if name.contains(['*', '[']) || kind.c.contains('*') || kind.c.contains("_function") => {
            vec![wrong("null", if kind.c.contains("_function") { "0" } else { "NULL" }, false)]
        }
        _ if kind.rust == "usize" => vec![wrong("negative", "(void *)(intptr_t)-77", false)],
        _ => vec![wrong("negative", "-77", false)],
    }
}

/// Returns a constant that is a handle of another kind.
fn other_kind(name: &str) -> &'static str {
    if name == "datatype" { "MPI_COMM_SELF" } else { "MPI_INT" }
}

/// Returns a handle of another kind that the program has made.
fn other_made(name: &str) -> &'static str {
    if name == "request" { "made_comm" } else { "made_request" }
}

/// Returns a right value of an argument.
fn right(kind: &ParameterKind, large: bool) -> String {
    let value = match kind.name.as_str() {
        "comm" => "MPI_COMM_SELF",
        "group" => "MPI_GROUP_EMPTY",
        "datatype" => "MPI_INT",
        "op" => "MPI_SUM",
        "info" => "MPI_INFO_NULL",
        "errhandler" => "MPI_ERRORS_RETURN",
        "request" => "MPI_REQUEST_NULL",
        "session" => "session",
        "message" => "MPI_MESSAGE_NO_PROC",
        "win" => "MPI_WIN_NULL",
        "file" => "MPI_FILE_NULL",
        "rank" => "MPI_PROC_NULL",
        "thread_level" => "MPI_THREAD_SINGLE",
        "order" => "MPI_ORDER_C",
        "string" => "\"name\"",
        "keyval" => "keyval",
        "user_function" | "user_function_c" => "NULL",
        "t_cb_safety" => "MPI_T_CB_REQUIRE_NONE",
        _ => "",
    };
    if !value.is_empty() {
        return value.to_owned();
    }
    let c = if large { &kind.c_large } else { &kind.c };
    if c.contains("_function") {
        return "0".to_owned();
    }
    if c.contains(['*', '[']) { "(void *)place".to_owned() } else { "0".to_owned() }
}

/// Adds the calls of one function, one line for each wrong argument.
fn calls(text: &mut String, function: &Exported<'_>) {
    let parameters: Vec<_> = function.parameters.iter().filter(|p| p.kind.name != "...").collect();
    for (at, parameter) in parameters.iter().enumerate() {
        for Wrong { what, expression, fails } in wrongs(&parameter.kind) {
            let argument = |(n, p): (usize, &&canele_mpi_tables::Parameter)| {
                if n == at { expression.clone() } else { right(&p.kind, function.large) }
            };
            let list: Vec<String> = parameters.iter().enumerate().map(argument).collect();
            let has_meaning = !MEANINGLESS.contains(&(&function.name, &parameter.name));
            let fails = fails && has_meaning && function.of.form != "value";
            let case = format!("{}: {} {what}", function.name, parameter.name);
            let macro_name = if fails { "FAILS" } else { "RETURNS" };
            writeln!(text, "    {macro_name}(\"{case}\", {}({}));", function.name, list.join(", ")).unwrap();
        }
    }
}

#[test]
fn no_function_crashes_and_wrong_handles_are_errors() {
    let tables = Tables::standard();
    let functions = [exported(&tables), removed_functions(&tables)].concat();
    let tried: Vec<_> = functions.iter().filter(|f| !LEFT_OUT.contains(&f.name.as_str())).collect();
    let mut text = String::from(include_str!("wrong_arguments.h"));
    for (n, function) in tried.iter().enumerate() {
        writeln!(text, "static void try_{n}(void) {{").unwrap();
        calls(&mut text, function);
        writeln!(text, "}}").unwrap();
    }
    writeln!(text, "static void try_all(void) {{").unwrap();
    (0..tried.len()).for_each(|n| writeln!(text, "    try_{n}();").unwrap());
    writeln!(text, "}}").unwrap();
    let source = support::library().join("wrong_arguments.c");
    std::fs::write(&source, text).unwrap();
    let program = support::compiled("wrong_arguments", &[source]);
    let output = support::run(None, &program, &[]);
    assert!(output.status.success(), "{}: {}", output.status, support::text(&output));
}
