//! The man pages of the command, of MPI's commands and of the interface for C, made from the definitions of
//! the arguments, the texts of `--help` and the header.
//!
//! Owns the list of pages. `scripts/install` and the packages write them by this module.

mod header;
mod interface;

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use canele_launch::mpiexec;
use clap::CommandFactory;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::compile::{Language, help};
use crate::{Canele, mpichversion, say};

/// The section of the manual for commands.
const SECTION: &str = "1";

/// Writes all pages into the folders `man1` and `man3` of an existing folder.
pub fn main(folder: &Path) -> ExitCode {
    match all_pages()
        .and_then(|pages| pages.iter().try_for_each(|(name, page)| write_page(folder, name, page)))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("manual: cannot write pages to {}: {error}", folder.display()));
            ExitCode::FAILURE
        }
    }
}

fn all_pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    Ok(pages()?.into_iter().chain(interface::pages()).collect())
}

/// Writes a page into the folder of its section, with which the name of its file ends.
fn write_page(folder: &Path, name: &str, page: &[u8]) -> io::Result<()> {
    let section = name.rsplit('.').next().unwrap_or(SECTION);
    let folder = folder.join(format!("man{section}"));
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), page)
}

/// Returns the pages of commands by the names of their files.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut command = Canele::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, &mut pages)?;
    let compiler =
        |name: &str, language| of_text(name, "compile and link programs that use MPI", &help(language));
    let others = [
        ("mpiexec", of_text("mpiexec", "start MPI programs", mpiexec::HELP)),
        ("mpirun", link(SECTION, "mpiexec")),
        ("mpicc", compiler("mpicc", Language::C)),
        ("mpicxx", compiler("mpicxx", Language::Cxx)),
        ("mpic++", link(SECTION, "mpicxx")),
        ("mpiCC", link(SECTION, "mpicxx")),
        ("mpifort", compiler("mpifort", Language::Fortran)),
        ("mpif90", link(SECTION, "mpifort")),
        ("mpif77", link(SECTION, "mpifort")),
        (
            "mpichversion",
            of_text("mpichversion", "say which MPICH the library stands in for", mpichversion::HELP),
        ),
    ];
    pages.extend(others.map(|(name, page)| (format!("{name}.{SECTION}"), page)));
    Ok(pages)
}

fn add_pages(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    for subcommand in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        add_pages(subcommand, pages)?;
    }
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let page = match command.get_name() {
        "cc" => of_text(&name, "compile and link C programs that use MPI", &help(Language::C)),
        "fortran" => {
            of_text(&name, "compile and link Fortran programs that use MPI", &help(Language::Fortran))
        }
        "c++" => of_text(&name, "compile and link C++ programs that use MPI", &help(Language::Cxx)),
        _ => of_command(command)?,
    };
    pages.push((format!("{name}.{SECTION}"), page));
    Ok(())
}

/// Returns the page of a command; the text after its options keeps its lines.
fn of_command(command: &clap::Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone()).source(source()).manual("Canelé");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.get_subcommands().any(|sub| !sub.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (notes, examples) = after.split_once("Examples:\n").unwrap_or((&after, ""));
    let mut roff = Roff::new();
    for (title, text) in [("NOTES", notes), ("EXAMPLES", examples)] {
        if !text.trim().is_empty() {
            roff.control("SH", [title]);
            verbatim(&mut roff, text);
        }
    }
    roff.to_writer(&mut page)?;
    Ok(page)
}

/// Returns a page with the text of `--help`.
fn of_text(name: &str, summary: &str, text: &str) -> Vec<u8> {
    let mut roff = Roff::new();
    let source = source();
    roff.control("TH", [name, SECTION, "", &source, "Canelé"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("{name} - {summary}"))]);
    roff.control("SH", ["DESCRIPTION"]);
    verbatim(&mut roff, text);
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman("canele(1), canele-run(1), canele-doctor(1)")]);
    roff.to_roff().into_bytes()
}

/// Adds lines that are not filled.
fn verbatim(roff: &mut Roff, text: &str) {
    roff.control("nf", []);
    for line in text.trim_matches('\n').lines() {
        // An empty line would separate paragraphs with several blanks.
        match line.is_empty() {
            true => roff.control("sp", []),
            false => roff.text([roman(line)]),
        };
    }
    roff.control("fi", []);
}

/// Returns a page that refers to another one.
fn link(section: &str, name: &str) -> Vec<u8> {
    format!(".so man{section}/{name}.{section}\n").into_bytes()
}

fn source() -> String {
    format!("canele {}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_shown_has_a_page_and_no_other() {
        let pages = pages().unwrap();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        for name in [
            "canele.1",
            "canele-run.1",
            "canele-doctor.1",
            "canele-sim-campaign.1",
            "canele-c++.1",
            "canele-fortran.1",
            "mpif77.1",
            "mpiCC.1",
            "mpichversion.1",
        ] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert!(
            !names
                .iter()
                .any(|name| name.contains("agent") || name.contains("-host") || name.contains("help"))
        );
        for (name, page) in &pages {
            let text = String::from_utf8(page.clone()).unwrap();
            assert!(text.contains(".SH NAME") || text.starts_with(".so man1/"), "{name}");
        }
    }
}
