//! The header is generated from the sources, compiles everywhere, and declares exactly the functions that the
//! library exports.

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use cbindgen::{Builder, Config, DocumentationStyle, Language, Style};

use support::{HEADER, compile, folder, library, text};

/// The sources, in the order of the header.
const SOURCES: [&str; 13] = [
    "error",
    "types",
    "memory",
    "job",
    "flow",
    "tagged",
    "request",
    "probe",
    "collective",
    "region",
    "notice",
    "channel",
    "mailbox",
];

const INTRODUCTION: &str = "\
/* Canelé: message passing between processes. This is its own interface for C and C++; MPI's is in mpi.h.
 *
 * Made from the sources by `CANELE_UPDATE=1 cargo test -p canele-capi --test header`: do not edit.
 *
 * A job is a number of processes, its ranks, which `canele run` starts together. Ranks exchange messages with tags
 * on flows, put data into each other's regions, post to mailboxes, and take part in collectives. docs/c.md has a
 * first program.
 *
 * Errors: functions return CANELE_OK, which is 0, or a code; canele_error_text() then names the rank, the value and
 * the remedy. For functions that return something else the comment names the result of an error; that error has a
 * text, too.
 *
 * Handles: a function that makes a handle stores it where one of its last arguments points to; if it fails, it stores
 * NULL there. A function that closes a handle takes its address and sets it to NULL. A NULL handle is an error. A copy
 * of a closed handle is an error, too, but only until its memory serves another handle.
 *
 * Pointers: NULL is an error unless there are no bytes, or the comment allows it. Any other pointer must point to as
 * much memory as the arguments say. Bytes need no alignment; items of a type need the alignment of the type. Texts are
 * in UTF-8 and end with a zero byte.
 *
 * Memory of a blocking call may be used again when the call returns. Memory of a non-blocking call (canele_flow_isend,
 * canele_flow_irecv and so on) belongs to the library until its request has ended.
 *
 * Threads: any thread may make any call at any time. Two threads must not use the same request, message or matched
 * message at the same time, and no thread may close a handle that another thread uses.
 *
 * Numbers: lengths and offsets are in bytes, times in nanoseconds; CANELE_FOREVER is a time without limit. */
";

/// Returns the header that the sources generate.
fn generated() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let numbers = ["MAJOR", "MINOR", "PATCH"].into_iter().zip(version.split('.'));
    let numbers: String = numbers.map(|(name, n)| format!("#define CANELE_VERSION_{name} {n}\n")).collect();
    let config = Config {
        language: Language::C,
        cpp_compat: true,
        style: Style::Both,
        header: Some(INTRODUCTION.to_owned()),
        include_guard: Some("CANELE_H".to_owned()),
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(str::to_owned).to_vec(),
        after_includes: Some(format!(
            "\n/* The version of this header; canele_version() tells the library's. */\n{numbers}#define CANELE_VERSION \"{version}\"\n"
        )),
        documentation_style: DocumentationStyle::Doxy,
        usize_is_size_t: true,
        line_length: 110,
        tab_width: 4,
        ..Config::default()
    };
    let builder = Builder::new().with_config(config);
    let sources = SOURCES.iter().chain(&["message"]).map(|name| folder("src").join(format!("{name}.rs")));
    let bindings = sources.fold(builder, |builder, path| builder.with_src(path)).generate();
    let mut text = Vec::new();
    bindings.expect("the sources can be read").write(&mut text);
    String::from_utf8(text).expect("the header is a text")
}

fn committed() -> String {
    std::fs::read_to_string(HEADER).unwrap_or_default()
}

#[test]
fn the_header_is_that_of_the_sources() {
    let generated = generated();
    if std::env::var_os("CANELE_UPDATE").is_some() {
        std::fs::write(HEADER, &generated).unwrap();
    }
    assert!(
        committed() == generated,
        "{HEADER} is out of date: CANELE_UPDATE=1 cargo test -p canele-capi --test header"
    );
}

/// Returns the names of functions that a text declares or calls: words before a parenthesis.
fn functions(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let code: String = text
        .split("/*")
        .enumerate()
        .map(|(n, part)| match n {
            0 => part,
            _ => part.split_once("*/").map_or("", |(_, code)| code),
        })
        .collect();
    let ends = code.match_indices('(').map(|(at, _)| &code[..at]);
    let names = ends.map(|before| before.rsplit(|c| !is_name(c)).next().unwrap_or_default().to_owned());
    names.filter(|name| name.starts_with("canele_")).collect()
}

#[test]
fn the_library_exports_exactly_what_the_header_declares() {
    let output = Command::new("readelf")
        .args(["--dyn-syms", "--wide"])
        .arg(library().join("libcanele.so.0"))
        .output()
        .expect("readelf comes with the compiler");
    assert!(output.status.success(), "{}", text(&output));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut exported: BTreeSet<String> = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|row| row.len() == 8 && ["GLOBAL", "WEAK"].contains(&row[4]) && row[6] != "UND")
        .map(|row| row[7].split('@').next().unwrap_or_default().to_owned())
        .collect();
    let declared = functions(&committed());
    assert!(declared.len() > 80, "the header declares {} functions", declared.len());
    // The libraries of a process find each other by these functions.
    assert!(exported.remove("canele_offer") && exported.remove("canele_offer_version"));
    assert_eq!(exported, declared);
}

#[test]
fn the_library_has_the_name_of_its_major_version() {
    let output =
        Command::new("readelf").arg("--dynamic").arg(library().join("libcanele.so")).output().unwrap();
    let major = env!("CARGO_PKG_VERSION").split('.').next().unwrap();
    assert!(text(&output).contains(&format!("Library soname: [libcanele.so.{major}]")), "{}", text(&output));
}

#[test]
fn the_header_is_clean_in_every_c_and_cpp() {
    let header = Path::new(HEADER);
    let c = [["gcc", "-xc"], ["clang", "-xc"]];
    let cpp = [["g++", "-xc++"], ["clang++", "-xc++"]];
    let c = c.into_iter().flat_map(|by| ["-std=c11", "-std=c17", "-std=gnu11"].map(|version| (by, version)));
    let cpp = cpp
        .into_iter()
        .flat_map(|by| ["-std=c++11", "-std=c++17", "-std=c++20"].map(|version| (by, version)));
    for ([compiler, language], version) in c.chain(cpp) {
        // Clang also warns of a header on its own, and of libraries without a link step.
        let (once, unused) = ("-Wno-pragma-once-outside-header", "-Wno-unused-command-line-argument");
        let words = [compiler, language, version, "-fsyntax-only", once, unused];
        let words = if compiler.starts_with('g') { &words[..4] } else { &words[..] };
        if let Some(output) = compile(words, header, Path::new("/dev/null")) {
            assert!(output.status.success(), "{words:?}: {}", text(&output));
        }
    }
}

#[test]
fn what_is_not_declared_is_not_found() {
    let text = "/* canele_not(this) */ int canele_a(void); typedef int canele_t;\nvoid *canele_b(int x); /* (*/ f(1);";
    let expected = ["canele_a", "canele_b"].map(str::to_owned);
    assert_eq!(functions(text), BTreeSet::from(expected));
}
