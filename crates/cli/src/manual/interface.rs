//! The man pages of the interface for C, made from the comments of its header.
//!
//! Owns the distribution of declarations over pages. A page has the functions of one kind, and each
//! function's name leads to its page.

use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use super::header::{self, Declaration};
use super::{link, source, verbatim};

/// The section of the manual for functions of C.
const SECTION: &str = "3";

/// A page: its name, its summary, and the names that belong to it.
struct FunctionPage {
    name: &'static str,
    summary: &'static str,
    /// The beginnings of the names on the page. A name belongs to the page with the longest beginning of it.
    beginnings: &'static [&'static str],
}

const PAGES: [FunctionPage; 8] = [
    FunctionPage {
        name: "canele_job",
        summary: "start and finish a job, and ask about it",
        beginnings: &["canele_job", "canele_version", "CANELE_FOREVER"],
    },
    FunctionPage {
        name: "canele_flow",
        summary: "send, receive and probe messages on flows",
        beginnings: &["canele_flow", "canele_matched", "canele_status", "CANELE_ANY_"],
    },
    FunctionPage {
        name: "canele_request",
        summary: "start sends and receives, and wait for them",
        beginnings: &["canele_request", "canele_wait_", "canele_flow_isend", "canele_flow_irecv"],
    },
    FunctionPage {
        name: "canele_collective",
        summary: "operations that all ranks of a flow take part in",
        beginnings: &[
            "canele_flow_barrier",
            "canele_flow_broadcast",
            "canele_flow_reduce",
            "canele_flow_allreduce",
            "canele_flow_gather",
            "canele_flow_scatter",
            "canele_flow_allgather",
            "canele_flow_alltoall",
            "canele_type",
            "canele_op",
            "CANELE_INT",
            "CANELE_UINT",
            "CANELE_FLOAT",
            "CANELE_DOUBLE",
            "CANELE_SUM",
            "CANELE_MIN",
            "CANELE_MAX",
            "CANELE_PROD",
        ],
    },
    FunctionPage {
        name: "canele_region",
        summary: "memory that other ranks read, write and notify",
        beginnings: &[
            "canele_region",
            "canele_remote_region",
            "canele_job_region",
            "canele_job_find_region",
            "canele_notice",
            "canele_job_try_notice",
            "canele_job_wait_notice",
            "canele_job_on_notice",
        ],
    },
    FunctionPage {
        name: "canele_channel",
        summary: "ordered messages between two ranks",
        beginnings: &["canele_channel", "canele_job_channel", "canele_slice"],
    },
    FunctionPage {
        name: "canele_mailbox",
        summary: "messages to mailboxes that have names",
        beginnings: &[
            "canele_mailbox",
            "canele_message",
            "canele_job_create_mailbox",
            "canele_job_find_mailbox",
        ],
    },
    FunctionPage {
        name: "canele_error",
        summary: "why a call failed",
        beginnings: &["canele_error", "CANELE_OK", "CANELE_ERROR"],
    },
];

/// Returns the pages by the names of their files.
pub fn pages() -> Vec<(String, Vec<u8>)> {
    let declarations = header::declarations(header::TEXT);
    let file = |name: &str| format!("{name}.{SECTION}");
    let mut pages = vec![(file("canele"), overview())];
    for page in &PAGES {
        let of_page: Vec<&Declaration> =
            declarations.iter().filter(|declaration| is_on(page, &declaration.name)).collect();
        pages.push((file(page.name), text_of(page, &of_page)));
        let others = names(&of_page).filter(|name| *name != page.name);
        pages.extend(others.map(|name| (file(name), link(SECTION, page.name))));
    }
    pages
}

/// Returns true if the declaration of this name belongs to the page.
fn is_on(page: &FunctionPage, name: &str) -> bool {
    let longest = |page: &FunctionPage| {
        page.beginnings
            .iter()
            .filter(|beginning| name.starts_with(**beginning))
            .map(|found| found.len())
            .max()
    };
    longest(page).is_some() && longest(page) == PAGES.iter().filter_map(longest).max()
}

/// Returns the names of functions and types, by which a reader looks for a page.
fn names<'a>(declarations: &'a [&Declaration]) -> impl Iterator<Item = &'a str> {
    declarations.iter().filter(|declaration| !declaration.is_constant()).map(|declaration| &*declaration.name)
}

fn begin(name: &str, names: &str, summary: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("TH", [name, SECTION, "", &source(), "Canelé"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("{names} - {summary}"))]);
    roff.control("SH", ["SYNOPSIS"]);
    roff
}

fn end(mut roff: Roff, but: &str) -> Vec<u8> {
    roff.control("SH", ["SEE ALSO"]);
    let others =
        std::iter::once("canele").chain(PAGES.iter().map(|page| page.name)).filter(|name| *name != but);
    let others: Vec<String> = others.map(|name| format!("{name}({SECTION})")).collect();
    roff.text([roman(format!("{}, canele-run(1)", others.join(", ")))]);
    roff.to_roff().into_bytes()
}

/// Returns the page of the whole interface, with the introduction of the header.
fn overview() -> Vec<u8> {
    let mut roff = begin("canele", "canele", "message passing between processes, for C and C++");
    verbatim(
        &mut roff,
        "#include <canele.h>\n\ncc -o program program.c $(pkg-config --cflags --libs canele)",
    );
    roff.control("SH", ["DESCRIPTION"]);
    for paragraph in header::introduction(header::TEXT) {
        // The first part of the header's introduction is for developers.
        if !paragraph.contains("CANELE_UPDATE") {
            roff.control("PP", []);
            roff.text(inlines(&paragraph));
        }
    }
    roff.control("SH", ["PAGES"]);
    for page in &PAGES {
        roff.control("TP", []);
        roff.text([bold(format!("{}({SECTION})", page.name))]);
        roff.text([roman(page.summary)]);
    }
    end(roff, "canele")
}

/// Returns the page of the functions, types and constants of one kind.
fn text_of(page: &FunctionPage, declarations: &[&Declaration]) -> Vec<u8> {
    let others = names(declarations).filter(|name| *name != page.name);
    let all: Vec<&str> = std::iter::once(page.name).chain(others).collect();
    let mut roff = begin(page.name, &all.join(", "), page.summary);
    let functions = || declarations.iter().filter(|declaration| declaration.is_function());
    let prototypes: Vec<&str> = functions().map(|function| &*function.code).collect();
    verbatim(&mut roff, &format!("#include <canele.h>\n\n{}", prototypes.join("\n\n")));
    roff.control("SH", ["DESCRIPTION"]);
    functions().for_each(|function| describe(&mut roff, function));
    let types = || declarations.iter().filter(|other| !other.is_function() && !other.is_constant());
    if types().next().is_some() {
        roff.control("SH", ["TYPES"]);
        types().for_each(|declared| describe(&mut roff, declared));
    }
    let constants = || declarations.iter().filter(|declaration| declaration.is_constant());
    if constants().next().is_some() {
        roff.control("SH", ["CONSTANTS"]);
        constants().for_each(|constant| list(&mut roff, constant));
    }
    end(roff, page.name)
}

/// Adds the comment of a declaration to the page, and those of its members.
fn describe(roff: &mut Roff, declaration: &Declaration) {
    roff.control("SS", [&*declaration.name]);
    // An enumeration is shown by the list of its numbers.
    let is_shown = declaration.code.starts_with("typedef");
    if is_shown {
        verbatim(roff, &declaration.code);
    }
    for (at, paragraph) in declaration.comment.iter().enumerate() {
        if at > 0 || is_shown {
            roff.control("PP", []);
        }
        roff.text(inlines(paragraph));
    }
    declaration.members.iter().for_each(|member| list(roff, member));
}

/// Adds a name to a list, with its comment below.
fn list(roff: &mut Roff, declaration: &Declaration) {
    roff.control("TP", []);
    let number = declaration.code.split_once('=').map(|(_, number)| format!(" ({})", number.trim()));
    roff.text([bold(&declaration.name), roman(number.unwrap_or_default())]);
    roff.text(inlines(&declaration.comment.join(" ")));
}

/// Converts a text in which arguments stand between backticks.
fn inlines(text: &str) -> Vec<Inline> {
    let parts = text.split('`').enumerate().filter(|(_, part)| !part.is_empty());
    parts.map(|(at, part)| if at % 2 == 1 { italic(part) } else { roman(part) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str) -> String {
        let (_, page) =
            pages().into_iter().find(|(file, _)| file == name).unwrap_or_else(|| panic!("{name}"));
        String::from_utf8(page).unwrap()
    }

    #[test]
    fn every_declaration_is_on_one_page() {
        for declaration in header::declarations(header::TEXT) {
            let name = &declaration.name;
            let on: Vec<&str> = PAGES.iter().filter(|page| is_on(page, name)).map(|page| page.name).collect();
            assert_eq!(on.len(), 1, "{name} is on the pages {on:?}: give one of PAGES a beginning of it");
        }
    }

    #[test]
    fn every_beginning_is_that_of_a_declaration() {
        let declarations = header::declarations(header::TEXT);
        for beginning in PAGES.iter().flat_map(|page| page.beginnings) {
            let members = declarations.iter().flat_map(|declaration| &declaration.members);
            let mut all = declarations.iter().chain(members);
            assert!(all.any(|declaration| declaration.name.starts_with(beginning)), "{beginning}");
        }
    }

    #[test]
    fn a_page_has_what_the_header_says() {
        let page = text("canele_flow.3");
        assert!(page.contains("canele_error canele_flow_send(const struct canele_flow *flow,\n"), "{page}");
        assert!(
            page.contains(".SS canele_flow_send\nSends \\fIbytes\\fR bytes at \\fIdata\\fR to rank "),
            "{page}"
        );
        assert!(!page.contains("canele_flow_isend(const"), "a page of its own has those that start");
        assert!(text("canele_error.3").contains("\\fBCANELE_ERROR_TRUNCATED\\fR (4)\nA message was longer"));
        assert!(
            text("canele.3").contains("Handles: a function that makes a handle")
                && !text("canele.3").contains("UPDATE")
        );
        assert!(text("canele_channel.3").contains("    size_t bytes;\n} canele_slice;"));
    }

    #[test]
    fn names_of_functions_and_types_lead_to_pages() {
        let found =
            [("canele_flow_send", "flow"), ("canele_wait_any", "request"), ("canele_notice", "region")];
        for (name, page) in found {
            assert_eq!(text(&format!("{name}.3")), format!(".so man3/canele_{page}.3\n"));
        }
    }
}
