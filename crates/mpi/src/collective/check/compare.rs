//! Records of calls: as bytes, and in what they differ.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::Form;
use super::describe::{ANY, Description};

const WORDS: usize = 6;
/// The longest text of a call; the rest of a longer one is left out.
const TEXT: usize = 144;
/// Bytes of a record.
pub(super) const RECORD: usize = 8 * WORDS + TEXT;

/// What members tell each other of a call.
#[derive(Clone, Debug)]
pub(super) struct Record {
    words: [u64; WORDS],
    text: String,
}

// Places of the words.
const CALL: usize = 0;
const ROOT: usize = 1;
const OP: usize = 2;
const DATA: usize = 3;
const TAKEN: usize = 4;
const NUMBER: usize = 5;

/// What is compared, in this order, and its name.
const COMPARED: [(usize, &str); 4] =
    [(CALL, "calls"), (ROOT, "roots"), (OP, "operations"), (DATA, "counts or datatypes")];

/// Two calls that differ, each with its rank, and in what.
pub(super) type Difference = (String, String, &'static str);

impl Record {
    /// The record of a call, the `number`th of this rank.
    pub fn new(form: Form, call: &Description, number: u64) -> Self {
        let name = match form {
            Form::Blocking => call.name.to_owned(),
            Form::Immediate if call.name == "MPI_Comm_dup" => "MPI_Comm_idup".to_owned(),
            Form::Immediate => format!("MPI_I{}", call.name.trim_start_matches("MPI_").to_lowercase()),
            Form::Persistent => format!("{}_init", call.name),
        };
        let mut hasher = FxHasher::default();
        hasher.write(name.as_bytes());
        let words = [hasher.finish(), call.root, call.op, call.data, call.taken, number];
        let text = if call.arguments.is_empty() { name } else { format!("{name}({})", call.arguments) };
        Self { words, text }
    }

    /// Which collective of this rank on its communicator it is, counted from 1.
    pub fn number(&self) -> u64 {
        self.words[NUMBER]
    }

    /// Its bytes.
    pub fn encode(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        let (words, text) = bytes.split_at_mut(8 * WORDS);
        words.as_chunks_mut().0.iter_mut().zip(self.words).for_each(|(at, word)| *at = word.to_le_bytes());
        text.iter_mut().zip(self.text.bytes()).for_each(|(at, byte)| *at = byte);
        bytes
    }

    /// The record of such bytes.
    pub fn decode(bytes: &[u8]) -> Self {
        let (head, text) = bytes.split_at(8 * WORDS);
        let mut words = [0; WORDS];
        words.iter_mut().zip(head.as_chunks().0).for_each(|(word, at)| *word = u64::from_le_bytes(*at));
        let len = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        let cut = if len == text.len() { "…" } else { "" };
        Self { words, text: String::from_utf8_lossy(&text[..len]).into_owned() + cut }
    }

    fn says(&self, rank: usize) -> String {
        format!("rank {rank} calls {}", self.text)
    }
}

/// The first two calls of one group's members that differ.
pub(super) fn within(all: &[Record]) -> Option<Difference> {
    COMPARED.iter().find_map(|&(word, what)| {
        let mut saying = all.iter().enumerate().filter(|(_, record)| record.words[word] != ANY);
        let (first, one) = saying.next()?;
        let (second, other) = saying.find(|(_, record)| record.words[word] != one.words[word])?;
        Some((one.says(first), other.says(second), what))
    })
}

/// The first call of the other group's members that differs from this rank's.
pub(super) fn between(mine: &Record, rank: usize, theirs: &[Record]) -> Option<Difference> {
    let differ = |one: u64, other: u64| one != ANY && other != ANY && one != other;
    let crossed = |their: &Record| {
        differ(mine.words[DATA], their.words[TAKEN]) || differ(mine.words[TAKEN], their.words[DATA])
    };
    COMPARED.iter().find_map(|&(word, what)| {
        let has_difference = |their: &Record| match word {
            DATA if mine.words[TAKEN] != ANY => crossed(their),
            _ => differ(mine.words[word], their.words[word]),
        };
        let found = theirs.iter().enumerate().find(|(_, their)| has_difference(their));
        found.map(|(n, their)| (mine.says(rank), format!("{} in the other group", their.says(n)), what))
    })
}

/// A number with its ending: 1st, 2nd, 3rd …
pub(super) fn ordinal(number: u64) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &'static str, root: u64, data: u64) -> Record {
        let call = Description { root, data, ..Description::new(name) };
        Record::decode(&Record::new(Form::Blocking, &call, 3).encode())
    }

    #[test]
    fn the_first_that_differs_from_the_first_that_says_something_is_named() {
        let same = [record("MPI_Gather", 1, ANY), record("MPI_Gather", 1, 7), record("MPI_Gather", 1, 7)];
        assert_eq!(within(&same), None);
        let [one, two, _] = same;
        let data = [one.clone(), two.clone(), record("MPI_Gather", 1, 8)];
        let (first, second, what) = within(&data).unwrap();
        assert_eq!((&*first, &*second), ("rank 1 calls MPI_Gather", "rank 2 calls MPI_Gather"));
        assert_eq!(what, "counts or datatypes");
        let calls = [one.clone(), two.clone(), record("MPI_Bcast", 2, 9)];
        assert_eq!(within(&calls).unwrap().2, "calls");
        assert_eq!(within(&[one, record("MPI_Gather", 2, 7)]).unwrap().2, "roots");
    }

    #[test]
    fn long_texts_are_cut_and_numbers_have_endings() {
        let call = Description { arguments: "x".repeat(2 * TEXT), ..Description::new("MPI_Scan") };
        let text = Record::decode(&Record::new(Form::Immediate, &call, 1).encode()).text;
        assert!(
            text.starts_with("MPI_Iscan(xxx") && text.ends_with("x…") && text.chars().count() == TEXT + 1
        );
        assert_eq!(
            [1, 2, 3, 4, 11, 12, 13, 21, 102, 113].map(ordinal).concat(),
            "1st2nd3rd4th11th12th13th21st102nd113th"
        );
    }
}
