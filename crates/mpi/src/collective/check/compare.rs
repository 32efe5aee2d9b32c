//! Records of calls: their bytes, and their differences.

use std::hash::Hasher;

use rustc_hash::FxHasher;

use super::Form;
use super::describe::{ANY, Description};

const WORDS: usize = 7;
/// Length limit of a call's text; the rest is cut off.
const TEXT: usize = 144;
/// Length of a record in bytes.
pub(super) const RECORD: usize = 8 * WORDS + TEXT;

/// The record of a call that members exchange.
#[derive(Clone, Debug)]
pub(super) struct Record {
    words: [u64; WORDS],
    text: String,
    /// In this rank's own record: the signatures of its list, one for each peer.
    expected: Vec<u64>,
}

// Indices of the words.
const CALL: usize = 0;
const ROOT: usize = 1;
const OP: usize = 2;
const DATA: usize = 3;
const TAKEN: usize = 4;
const NUMBER: usize = 5;
const PART: usize = 6;

/// The compared words in order, with their names.
const COMPARED: [(usize, &str); 4] = [(CALL, "calls"), (ROOT, "roots"), (OP, "operations"), (DATA, LENGTHS)];
const LENGTHS: &str = "counts or datatypes";

/// Two calls that differ, each with its rank, and the name of the difference.
pub(super) type Difference = (String, String, &'static str);

impl Record {
    /// Makes the record of a call, the `number`th of this rank.
    pub fn new(form: Form, call: &Description, number: u64) -> Self {
        let name = match form {
            Form::Blocking => call.name.to_owned(),
            Form::Immediate if call.name == "MPI_Comm_dup" => "MPI_Comm_idup".to_owned(),
            Form::Immediate => format!("MPI_I{}", call.name.trim_start_matches("MPI_").to_lowercase()),
            Form::Persistent => format!("{}_init", call.name),
        };
        let mut hasher = FxHasher::default();
        hasher.write(name.as_bytes());
        let words = [hasher.finish(), call.root, call.op, call.data, call.taken, number, call.part];
        let text = if call.arguments.is_empty() { name } else { format!("{name}({})", call.arguments) };
        Self { words, text, expected: call.expected.clone() }
    }

    /// Returns the number of this collective on its communicator, counted from 1.
    pub fn number(&self) -> u64 {
        self.words[NUMBER]
    }

    /// Returns the record's bytes.
    pub fn encode(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        let (words, text) = bytes.split_at_mut(8 * WORDS);
        words.as_chunks_mut().0.iter_mut().zip(self.words).for_each(|(at, word)| *at = word.to_le_bytes());
        text.iter_mut().zip(self.text.bytes()).for_each(|(at, byte)| *at = byte);
        bytes
    }

    /// Decodes a record.
    pub fn decode(bytes: &[u8]) -> Self {
        let (head, text) = bytes.split_at(8 * WORDS);
        let mut words = [0; WORDS];
        words.iter_mut().zip(head.as_chunks().0).for_each(|(word, at)| *word = u64::from_le_bytes(*at));
        let len = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        let cut = if len == text.len() { "…" } else { "" };
        Self { words, text: String::from_utf8_lossy(&text[..len]).into_owned() + cut, expected: Vec::new() }
    }

    fn says(&self, rank: usize) -> String {
        format!("rank {rank} calls {}", self.text)
    }
}

/// Returns the first two differing calls of one group; `mine` is the record of `rank`.
pub(super) fn within(mine: &Record, rank: usize, all: &[Record]) -> Option<Difference> {
    first_two(all).or_else(|| {
        let (n, their) = unexpected(mine, all)?;
        Some((mine.says(rank), their.says(n), LENGTHS))
    })
}

/// Returns the first peer whose part differs from this rank's list.
fn unexpected<'a>(mine: &Record, all: &'a [Record]) -> Option<(usize, &'a Record)> {
    let mut listed = all.iter().zip(&mine.expected).enumerate();
    listed
        .find(|(_, (their, expected))| differ(their.words[PART], **expected))
        .map(|(n, (their, _))| (n, their))
}

fn differ(one: u64, other: u64) -> bool {
    one != ANY && other != ANY && one != other
}

fn first_two(all: &[Record]) -> Option<Difference> {
    COMPARED.iter().find_map(|&(word, what)| {
        let mut saying = all.iter().enumerate().filter(|(_, record)| record.words[word] != ANY);
        let (first, one) = saying.next()?;
        let (second, other) = saying.find(|(_, record)| record.words[word] != one.words[word])?;
        Some((one.says(first), other.says(second), what))
    })
}

/// Returns the first call of the other group that differs from this rank's.
pub(super) fn between(mine: &Record, rank: usize, theirs: &[Record]) -> Option<Difference> {
    let crossed = |their: &Record| {
        differ(mine.words[DATA], their.words[TAKEN]) || differ(mine.words[TAKEN], their.words[DATA])
    };
    let compared = COMPARED.iter().find_map(|&(word, what)| {
        let has_difference = |their: &Record| match word {
            DATA if mine.words[TAKEN] != ANY => crossed(their),
            _ => differ(mine.words[word], their.words[word]),
        };
        let found = theirs.iter().enumerate().find(|(_, their)| has_difference(their));
        found.map(|(n, their)| (n, their, what))
    });
    let found = compared.or_else(|| unexpected(mine, theirs).map(|(n, their)| (n, their, LENGTHS)));
    found.map(|(n, their, what)| (mine.says(rank), format!("{} in the other group", their.says(n)), what))
}

/// Returns a number with its ending: 1st, 2nd, 3rd …
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
        assert_eq!(first_two(&same), None);
        let [one, two, _] = same;
        let data = [one.clone(), two.clone(), record("MPI_Gather", 1, 8)];
        let (first, second, what) = first_two(&data).unwrap();
        assert_eq!((&*first, &*second), ("rank 1 calls MPI_Gather", "rank 2 calls MPI_Gather"));
        assert_eq!(what, "counts or datatypes");
        let calls = [one.clone(), two.clone(), record("MPI_Bcast", 2, 9)];
        assert_eq!(first_two(&calls).unwrap().2, "calls");
        assert_eq!(first_two(&[one, record("MPI_Gather", 2, 7)]).unwrap().2, "roots");
    }

    #[test]
    fn the_rank_with_a_list_finds_parts_that_are_others() {
        let part = |part| {
            Record::decode(
                &Record::new(Form::Blocking, &Description { part, ..Description::new("MPI_Gatherv") }, 1)
                    .encode(),
            )
        };
        let root = Description { expected: vec![5, 6, ANY], ..Description::new("MPI_Gatherv") };
        let root = Record::new(Form::Blocking, &root, 1);
        assert_eq!(within(&root, 0, &[part(5), part(ANY), part(8)]), None);
        assert_eq!(within(&root, 0, &[part(5), part(7), part(8)]).unwrap().1, "rank 1 calls MPI_Gatherv");
        assert_eq!(within(&part(7), 1, &[part(5), part(7), part(8)]), None);
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
