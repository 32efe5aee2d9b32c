//! The queries of build systems to a compiler wrapper: the options of the two families of MPI
//! implementations, and the form of answers.

use std::ffi::OsString;

/// A query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    /// Asks for the command that would be run.
    Line,
    /// Asks for the command that compiles and does not link.
    CompileLine,
    /// Asks for the flags that are added to compile.
    CompileFlags,
    /// Asks for the flags that are added to link.
    LinkFlags,
    /// Asks for the folder of the header.
    IncludeFolders,
    /// Asks for the folder of the library.
    LibraryFolders,
    /// Asks for the name of the library.
    LibraryNames,
    /// Asks for the compiler.
    Compiler,
    /// Asks for the release.
    Version,
}

/// Names, with one dash or two.
const NAMES: [(&str, Query); 13] = [
    ("show", Query::Line),
    ("showme", Query::Line),
    ("compile_info", Query::CompileLine),
    ("compile-info", Query::CompileLine),
    ("link_info", Query::Line),
    ("link-info", Query::Line),
    ("showme:compile", Query::CompileFlags),
    ("showme:link", Query::LinkFlags),
    ("showme:incdirs", Query::IncludeFolders),
    ("showme:libdirs", Query::LibraryFolders),
    ("showme:libs", Query::LibraryNames),
    ("showme:command", Query::Compiler),
    ("showme:version", Query::Version),
];

impl Query {
    fn read(word: &OsString) -> Option<Query> {
        let word = word.to_str()?;
        let name = word.strip_prefix("--").or(word.strip_prefix('-'))?;
        NAMES.iter().find(|(known, _)| *known == name).map(|&(_, query)| query)
    }
}

/// Returns the first query among the words, and the other words.
pub fn split(words: Vec<OsString>) -> (Option<Query>, Vec<OsString>) {
    let mut query = None;
    let rest = words.into_iter().filter(|word| {
        let read = Query::read(word);
        query = query.or(read);
        read.is_none()
    });
    let rest = rest.collect();
    (query, rest)
}

/// Returns words in the form that a user types. Double quotes are used, because CMake's FindMPI knows no
/// others.
pub fn typed(words: &[OsString]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(&word.to_string_lossy())).collect();
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=~".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let mut text = String::from("\"");
    for c in word.chars() {
        if "\"\\$`".contains(c) {
            text.push('\\');
        }
        text.push(c);
    }
    text.push('"');
    // An option keeps its letter before the quotes: -I"/a folder".
    match word.get(..2) {
        Some(flag @ ("-I" | "-L")) => format!("{flag}\"{}", &text[3..]),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn questions_are_taken_out_wherever_they_stand() {
        for (line, query, rest) in [
            ("-show", Query::Line, ""),
            ("-O2 --show a.c", Query::Line, "-O2 a.c"),
            ("--showme:compile", Query::CompileFlags, ""),
            ("-showme:libdirs", Query::LibraryFolders, ""),
            ("a.c -link_info", Query::Line, "a.c"),
            ("-compile-info", Query::CompileLine, ""),
        ] {
            assert_eq!(split(words(line)), (Some(query), words(rest)), "{line}");
        }
        for line in ["-O2 a.c", "show", "-shown", "---show", "-showme:nothing"] {
            assert_eq!(split(words(line)), (None, words(line)), "{line}");
        }
    }

    #[test]
    fn words_with_blanks_are_quoted() {
        let line = ["cc", "-I/a b/c", "-DX=\"y $z\"", "-lmpi_abi", ""].map(OsString::from);
        assert_eq!(typed(&line), r#"cc -I"/a b/c" "-DX=\"y \$z\"" -lmpi_abi """#);
    }
}
