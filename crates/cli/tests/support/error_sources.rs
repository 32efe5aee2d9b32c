//! The texts of errors in the sources: those of error types with their comments, and all string literals of a
//! file.
//!
//! Reads as much of Rust and Python as these sources use. Values that a program inserts into a text are shown
//! as `…`.

#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::path::{Path, PathBuf};

/// A text of an error type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorText {
    /// Crate, type and variant, as `engine::Error::Deadline`; for MPI the class, for Python the exception.
    pub key: String,
    /// The text that the user sees.
    pub text: String,
    /// Its doc comment.
    pub meaning: String,
}

/// Returns the sources below a folder, in the order of their paths.
pub fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.unwrap().path()) {
        match path.extension() {
            _ if path.is_dir() => found.extend(sources(&path)),
            Some(extension) if extension == "rs" => found.push(path),
            _ => {}
        }
    }
    found.sort();
    found
}

/// Returns the texts of `#[error(…)]` in a source of a crate, without those that only pass on another error's
/// text.
pub fn error_texts(krate: &str, source: &str) -> Vec<ErrorText> {
    let (mut found, mut comment, mut type_name) = (Vec::new(), Vec::new(), String::new());
    let mut text: Option<String> = None;
    let mut lines = source.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if let Some(words) = line.strip_prefix("///") {
            comment.push(words.trim().to_owned());
            continue;
        }
        if line.starts_with("#[error(") {
            let mut attribute = line.to_owned();
            while !attribute.ends_with(")]") {
                attribute = format!("{attribute}\n{}", lines.next().expect("an attribute ends"));
            }
            text = literals(&attribute).into_iter().next();
            continue;
        }
        if line.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
        let named =
            words.iter().position(|word| ["enum", "struct"].contains(word)).and_then(|at| words.get(at + 1));
        if let (Some(name), true) =
            (named, line.starts_with("pub") || line.starts_with("enum") || line.starts_with("struct"))
        {
            type_name = (*name).to_owned();
        }
        if let Some(text) = text.take().filter(|text| text.chars().any(char::is_alphabetic)) {
            let variant = if named.is_some() { String::new() } else { format!("::{}", words[0]) };
            found.push(ErrorText {
                key: format!("{krate}::{type_name}{variant}"),
                text,
                meaning: comment.join(" "),
            });
        }
        comment.clear();
    }
    found
}

/// Returns the classes of MPI's errors: pairs of a name and its meaning.
pub fn classes(source: &str) -> Vec<ErrorText> {
    let texts = literals(source);
    let pairs =
        texts.windows(2).filter(|pair| pair[0].starts_with("MPI_ERR_") || pair[0].starts_with("MPIX_ERR_"));
    pairs
        .map(|pair| ErrorText { key: pair[0].clone(), text: pair[0].clone(), meaning: sentence(&pair[1]) })
        .collect()
}

/// Returns the exceptions of the module for Python with the first sentence of their documentation.
pub fn exceptions(source: &str) -> Vec<ErrorText> {
    let behind = source.split("\nclass ").skip(1).filter_map(|class| class.split_once('('));
    let texts = behind.map(|(name, rest)| {
        let text = format!("canele.{name}");
        let meaning = rest.split("\"\"\"").nth(1).unwrap_or_default().to_owned();
        ErrorText { key: text.clone(), text, meaning }
    });
    texts.collect()
}

/// Returns the string literals of a source in Rust, with `…` for inserted values.
pub fn literals(source: &str) -> Vec<String> {
    let (mut found, mut text) = (Vec::new(), None::<String>);
    let mut letters = source.chars().peekable();
    let mut last = ' ';
    while let Some(letter) = letters.next() {
        match (letter, &mut text) {
            ('/', None) if letters.peek() == Some(&'/') => {
                while letters.next().is_some_and(|letter| letter != '\n') {}
            }
            // Skips an escaped letter between single quotes.
            ('\\', None) => _ = letters.next(),
            ('"', None) if last != '\'' => text = Some(String::new()),
            (_, None) => {}
            ('"', Some(done)) => {
                found.push(std::mem::take(done));
                text = None;
            }
            ('\\', Some(text)) => match letters.next() {
                Some('\n') => while letters.next_if(|letter| letter.is_whitespace()).is_some() {},
                Some('n') => text.push('\n'),
                Some(other) => text.push(other),
                None => {}
            },
            ('{' | '}', Some(text)) if letters.next_if_eq(&letter).is_some() => text.push(letter),
            ('{', Some(text)) => {
                while letters.next().is_some_and(|letter| letter != '}') {}
                text.push('…');
            }
            (letter, Some(text)) => text.push(letter),
        }
        last = letter;
    }
    found
}

/// Returns the words as a sentence.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

/// Checks this reader with sources of all forms.
pub fn check_reading() {
    let source = r#"
/// Why it failed.
#[derive(Error)]
pub enum Wrong {
    /// It is gone.
    /// For ever.
    #[error("{0} is gone: {why}", why = "x")]
    Gone(u32),
    /// Passed on.
    #[error(transparent)]
    Other(#[from] io::Error),
    /// Too long.
    #[error(
        "it is long, \
         {} bytes", if .x == '"' { 1 } else { 2 }
    )]
    Long {
        /// How long.
        bytes: usize,
    },
    /// Passed on as well.
    #[error("{0}")]
    Third(String),
}

/// Alone.
#[error("alone")]
pub struct Alone;
"#;
    let expected = [
        ("a::Wrong::Gone", "… is gone: …", "It is gone. For ever."),
        ("a::Wrong::Long", "it is long, … bytes", "Too long."),
        ("a::Alone", "alone", "Alone."),
    ];
    let found = error_texts("a", source);
    let found: Vec<_> = found.iter().map(|error| (&*error.key, &*error.text, &*error.meaning)).collect();
    assert_eq!(found, expected);
    let found = classes(r#"A => ("MPI_ERR_A", "not a"), B => ( "MPIX_ERR_B", "b"), // "c""#);
    assert_eq!(
        found[1],
        ErrorText { key: "MPIX_ERR_B".into(), text: "MPIX_ERR_B".into(), meaning: "B.".into() }
    );
    assert_eq!(found.len(), 2);
    let found = exceptions("import x\n\nclass Error(RuntimeError):\n    \"\"\"Any. All.\"\"\"\n");
    assert_eq!(
        found[0],
        ErrorText { key: "canele.Error".into(), text: "canele.Error".into(), meaning: "Any. All.".into() }
    );
    assert_eq!(literals(r#"x(/* ' */ "a\"{b:?}{{c}}", '"', "d")"#), ["a\"…{c}", "d"]);
}
