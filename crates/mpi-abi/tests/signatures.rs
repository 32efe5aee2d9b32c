//! Every function that the code defines has the parameters that the standard's table says.

include!(concat!(env!("OUT_DIR"), "/defined.rs"));

use std::collections::HashMap;

/// Name and the parameters as they stand in C.
fn standard() -> HashMap<&'static str, Vec<&'static str>> {
    let row = |line: &'static str| {
        let [name, _, parameters] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let parameters = parameters.split(", ").filter(|p| !["void", "..."].contains(p)).collect();
        (name, parameters)
    };
    include_str!("../tables/functions.tsv").lines().skip(1).map(row).collect()
}

/// What a C parameter is: its type without `const`, and whether a pointer to it is passed.
fn in_c(declared: &str) -> (&str, bool) {
    let of = declared.trim_start_matches("const ").split([' ', '*', '[']).next().unwrap_or_default();
    (of, declared.contains(['*', '[']))
}

const WIDE: [&str; 3] = ["MPI_Aint", "MPI_Count", "MPI_Offset"];

/// Whether a type of the code, as it stands there, is that of a C parameter.
fn agrees(code: &str, declared: &str) -> bool {
    let (of, pointer) = in_c(declared);
    let (large, code) = match code.strip_prefix("large ") {
        Some(code) => (true, code),
        None => (false, code),
    };
    let number = |expected: &str| {
        let name = code_name(expected);
        match name {
            "c_int" => of == "int" || of == "MPI_T_cb_safety" || of == "MPI_T_source_order",
            "i64" | "Aint" | "isize" => WIDE.contains(&of),
            "c_double" => of == "double",
            "c_char" => of == "char",
            "MPI_Status" => of == "MPI_Status",
            "Range" => of == "int" && declared.ends_with("[][3]"),
            _ if name.starts_with("MPI_") => of == name,
            // Addresses of anything.
            _ => true,
        }
    };
    match code_name(code) {
        "Count" => !pointer && if large { WIDE.contains(&of) } else { of == "int" },
        "Counts" => pointer && of == if large { "MPI_Count" } else { "int" },
        "Displacements" => pointer && if large { WIDE.contains(&of) } else { of == "int" },
        "OutCount" => pointer && if large { WIDE.contains(&of) } else { of == "int" },
        "Text" | "Room" => pointer && of == "char",
        "StatusOut" => pointer && of == "MPI_Status",
        "Out" | "In" => pointer && number(inside(code)),
        "c_int" | "i64" | "Aint" | "c_double" => !pointer && number(code),
        name if name.starts_with("MPI_") => !pointer && of == name,
        // Memory, functions, plain pointers: whatever they point to.
        _ => pointer,
    }
}

/// The name of a type, without its path and parameters.
fn code_name(code: &str) -> &str {
    code.split('<').next().unwrap_or_default().rsplit("::").next().unwrap_or_default().trim()
}

/// The parameter of a type.
fn inside(code: &str) -> &str {
    let inside = code.split_once('<').and_then(|(_, rest)| rest.rsplit_once('>'));
    inside.map_or("", |(inside, _)| inside.trim())
}

#[test]
fn functions_have_the_parameters_of_the_standard() {
    let standard = standard();
    assert!(DEFINED.len() > 100, "the table of what is defined is not empty");
    let mut wrong = Vec::new();
    for (name, code) in DEFINED {
        match standard.get(name) {
            None => wrong.push(format!("{name} is no function of the standard")),
            Some(declared) if declared.len() != code.len() => {
                wrong.push(format!("{name} has {} parameters, not {}", declared.len(), code.len()));
            }
            Some(declared) => wrong.extend(
                declared.iter().zip(*code).filter(|(declared, code)| !agrees(code, declared)).map(
                    |(declared, code)| {
                        format!("{name}: `{declared}` of the standard is `{code}` in the code")
                    },
                ),
            ),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn wrong_types_are_noticed() {
    for (code, declared) in [
        ("c_int", "MPI_Count count"),
        ("large Count", "int count"),
        ("Count", "MPI_Count count"),
        ("Out < c_int >", "MPI_Count *size"),
        ("Out < c_int >", "int size"),
        ("MPI_Comm", "MPI_Win win"),
        ("Out < MPI_Comm >", "MPI_Win *win"),
        ("Text", "int *n"),
        ("large Counts", "const int counts[]"),
        ("In < Range >", "const int ranks[]"),
        ("Memory", "int count"),
        ("Option < Query >", "MPI_Aint count"),
    ] {
        assert!(!agrees(code, declared), "{code} {declared}");
    }
}
