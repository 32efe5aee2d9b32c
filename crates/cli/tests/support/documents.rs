//! The commands that documents tell readers to type: those of blocks `sh`, and those after a prompt in blocks
//! `console`.
//!
//! Reads as much of the shell's syntax as the documents use: quotes, comments, `$(…)`, `${…}`, assignments
//! and lists of commands.

#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::path::Path;

/// One command of a line, without the commands before and after it.
#[derive(Debug)]
pub struct DocumentCommand {
    /// `README.md`, or the name of a file in `docs`.
    pub page: String,
    /// The command with its assignments, unchanged.
    pub text: String,
    /// Its words without quotes and assignments.
    pub words: Vec<String>,
}

/// Returns the commands of `README.md` and all pages of `docs`, in their order.
pub fn commands(root: &Path) -> Vec<DocumentCommand> {
    let entries =
        fs::read_dir(root.join("docs")).expect("there are documents").map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.sort();
    let files = std::iter::once(root.join("README.md")).chain(pages);
    files
        .flat_map(|file| {
            let page = file.file_name().unwrap().to_string_lossy().into_owned();
            let text =
                fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let lines = typed_lines(&text).into_iter();
            lines.flat_map(move |line| commands_of(&page, &line)).collect::<Vec<_>>()
        })
        .collect()
}

/// Returns the lines that readers type, joined with their continuations.
fn typed_lines(text: &str) -> Vec<String> {
    let (mut typed, mut language) = (Vec::<String>::new(), None);
    let mut continues = false;
    for line in text.lines() {
        if let Some(name) = line.trim().strip_prefix("```") {
            language = if language.is_some() { None } else { Some(name) };
            continue;
        }
        let line = match language {
            Some("sh") => line,
            Some("console") => match line.strip_prefix("$ ") {
                Some(line) => line,
                None => continue,
            },
            _ => continue,
        };
        let (begun, goes_on) = line.strip_suffix('\\').map_or((line, false), |begun| (begun, true));
        match typed.last_mut().filter(|_| continues) {
            Some(last) => last.push_str(begun),
            None => typed.push(begun.to_owned()),
        }
        continues = goes_on;
    }
    typed
}

/// Returns the commands of one line.
fn commands_of(page: &str, line: &str) -> Vec<DocumentCommand> {
    let found = split(line).into_iter().map(|(text, words)| {
        let is_assignment = |word: &String| {
            let name = word.split_once('=').map(|(name, _)| name);
            name.is_some_and(|name| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || "_0123456789".contains(c))
            })
        };
        let words = words.into_iter().skip_while(|word| is_assignment(word) || word == "do").collect();
        DocumentCommand { page: page.to_owned(), text, words }
    });
    found.filter(|command| !command.words.is_empty()).collect()
}

/// Splits a line into commands: the text of each, and its words.
fn split(line: &str) -> Vec<(String, Vec<String>)> {
    let mut commands = vec![(String::new(), Vec::new())];
    let (mut word, mut quote, mut depth) = (None::<String>, None, 0_usize);
    for letter in line.chars() {
        let is_plain = quote.is_none() && depth == 0;
        if is_plain && letter == '#' && word.is_none() {
            break;
        }
        let (text, words) = commands.last_mut().expect("there is a first command");
        if is_plain && (letter.is_whitespace() || "&;|".contains(letter)) {
            words.extend(word.take());
            match letter.is_whitespace() {
                true => text.push(letter),
                false => commands.push((String::new(), Vec::new())),
            }
            continue;
        }
        text.push(letter);
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            _ => {
                let is_end = ")}".contains(letter);
                depth =
                    if is_end { depth.saturating_sub(1) } else { depth + usize::from("({".contains(letter)) };
                word.get_or_insert_default().push(letter);
            }
        }
    }
    let (_, words) = commands.last_mut().expect("there is a first command");
    words.extend(word);
    commands.into_iter().map(|(text, words)| (text.trim().to_owned(), words)).collect()
}

/// Checks this reader with a page of all forms.
pub fn check_reading() {
    let page = "```sh\nA=1 mpicc -o a a.c && mpiexec -n 4 ./a   # says: it's done; really\n# nothing\n\
                H=(--hosts h0 h1)\ncanele bench --plot x \"${H[@]}\" \\\n    --more 'a b; c'\n```\n```console\n$ canele why\njob 1: x\n```\n\
                ```c\nint main;\n```\n```sh\nfor i in 1; do scripts/x y; done\n```\n";
    let lines = typed_lines(page);
    let found: Vec<_> = lines.iter().flat_map(|line| commands_of("page", line)).collect();
    let words: Vec<String> = found.iter().map(|command| command.words.join("|")).collect();
    let expected = [
        "mpicc|-o|a|a.c",
        "mpiexec|-n|4|./a",
        "canele|bench|--plot|x|${H[@]}|--more|a b; c",
        "canele|why",
        "for|i|in|1",
        "scripts/x|y",
        "done",
    ];
    assert_eq!(words, expected);
    assert_eq!(found[0].text, "A=1 mpicc -o a a.c");
}
