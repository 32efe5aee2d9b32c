//! Every function that takes a buffer, with each of its buffers in memory that the processors cannot read:
//! the error names the buffer.
//!
//! The program is generated from the tables. It runs as a job of two ranks, for the short paths between them.

mod support;

use std::fmt::Write;

use canele_mpi_tables::{Exported, Parameter, Tables, exported};

/// Functions that only compare or return an address.
const LEFT_OUT: [&str; 3] = ["MPI_Free_mem", "MPI_Get_address", "MPI_Win_detach"];

/// Returns true for calls that end another one, which got the buffer, and for those of tools, whose values
/// are no messages.
fn is_left_out(function: &Exported<'_>) -> bool {
    if function.name.starts_with("MPI_T_") {
        return true;
    }
    let ends =
        function.name.starts_with("MPI_File_") && function.name.trim_end_matches("_c").ends_with("_end");
    ends || LEFT_OUT.contains(&function.name.as_str())
}

fn is_buffer(parameter: &Parameter) -> bool {
    let is_packed = matches!(parameter.name.as_str(), "inbuf" | "outbuf");
    is_packed || matches!(parameter.kind.name.as_str(), "buffer" | "buffer*")
}

/// Returns a right value of an argument.
fn right(function: &Exported<'_>, parameter: &Parameter) -> &'static str {
    let c = if function.large { &parameter.kind.c_large } else { &parameter.kind.c };
    match (parameter.kind.name.as_str(), parameter.name.as_str()) {
        _ if is_buffer(parameter) => "(void *)host",
        ("comm", _) if function.name.contains("eighbor") => "cart",
        ("comm", _) => "MPI_COMM_SELF",
        ("datatype", _) => "MPI_INT",
        ("datatype[]", _) => "types",
        ("op", _) => "MPI_SUM",
        ("info", _) => "MPI_INFO_NULL",
        ("session", _) => "session",
        ("message*", _) => "&(MPI_Message){MPI_MESSAGE_NO_PROC}",
        ("win", _) => "win",
        ("file", _) => "file",
        ("count", _) | (_, "count" | "partitions" | "disp_unit") => "1",
        (_, "size" | "outsize" | "insize") => "8",
        (_, "datarep") => "\"external32\"",
        (kind, _) if kind.ends_with("[]") && c.starts_with("const int") => "int_ones",
        (kind, _) if kind.ends_with("[]") => "(void *)ones",
        _ if c.contains(['*', '[']) => "(void *)place",
        _ => "0",
    }
}

fn calls(text: &mut String, function: &Exported<'_>) {
    for at in (0..function.parameters.len()).filter(|at| is_buffer(&function.parameters[*at])) {
        let argument = |(n, parameter)| if n == at { "(void *)device" } else { right(function, parameter) };
        let list: Vec<&str> = function.parameters.iter().enumerate().map(argument).collect();
        let (name, buffer) = (&function.name, &function.parameters[at].name);
        writeln!(text, "    REFUSED(\"{name}: {buffer}\", {name}({}));", list.join(", ")).unwrap();
    }
}

#[test]
fn every_buffer_in_memory_of_a_device_is_refused_in_words() {
    let tables = Tables::standard();
    let functions = exported(&tables);
    let mut text = String::from(include_str!("device_memory.h"));
    writeln!(text, "static void try_all(void)\n{{").unwrap();
    functions
        .iter()
        .filter(|function| !is_left_out(function))
        .for_each(|function| calls(&mut text, function));
    writeln!(text, "}}").unwrap();
    let tried = text.matches("    REFUSED(").count();
    assert!(tried > 300, "only {tried} calls");
    let source = support::library().join("device_memory.c");
    std::fs::write(&source, text).unwrap();
    let program = support::compiled("device_memory", &[source]);
    let output = support::run(Some(&["-n", "2"]), &program, &[]);
    assert!(output.status.success(), "{}: {}", output.status, support::text(&output));
}
