//! The demonstration on one client, which fills its part of a matrix, counts, transposes, and checks another
//! client's part.
//!
//! Row r of the matrix is page r. The transpose has the same number of pages, row after row without gaps, so
//! each of its pages needs all rows of the matrix. One last page has the counts, which every client
//! increments.

use std::ops::Range;

use crate::cache::Access;
use crate::client::Client;
use crate::error::DsmError;
use crate::mapping::Mapping;

/// Most values that the counts distinguish.
const MOST_BINS: usize = 256;

/// The result of a client's comparison with the serial reference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checked {
    /// Number of words compared.
    pub words: u64,
    /// Number of words that differ.
    pub wrong: u64,
}

/// The matrix and its derived data, in shared memory.
struct Shared {
    rows: u32,
    columns: u64,
    seed: u64,
    matrix: Mapping<u64>,
    transpose: Mapping<u64>,
    counts: Mapping<u64>,
}

/// Returns an entry of the matrix by its number, row after row (splitmix64).
pub fn entry(seed: u64, number: u64) -> u64 {
    let mut mixed = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Runs the demonstration; calls `seen` at each step.
pub fn transpose(
    client: &mut Client,
    rows: u32,
    seed: u64,
    mut seen: impl FnMut(u32, &str),
) -> Result<Checked, DsmError> {
    let shared = Shared::map(client, rows, seed)?;
    let (own, others) = parts(client, rows);
    shared.fill(client, own.clone())?;
    client.barrier()?;
    seen(1, "filled");
    shared.count(client, own.clone())?;
    seen(2, "counted");
    shared.transpose(client, own)?;
    client.barrier()?;
    seen(3, "transposed");
    shared.check(client, others)
}

/// Returns the pages that this client makes, and those that it checks, which the next client makes.
fn parts(client: &Client, pages: u32) -> (Range<u32>, Range<u32>) {
    let clients = client.space().clients();
    let (count, place) = (clients.len() as u64, u64::from(client.space().rank().0 - clients.start));
    let part = |place: u64| {
        let start = |place| (u64::from(pages) * place / count) as u32;
        start(place)..start(place + 1)
    };
    (part(place), part((place + 1) % count))
}

impl Shared {
    fn map(client: &Client, rows: u32, seed: u64) -> Result<Self, DsmError> {
        let matrix = client.map(0..rows)?;
        let columns = matrix.items_per_page() as u64;
        let (transpose, counts) = (client.map(rows..2 * rows)?, client.map(2 * rows..2 * rows + 1)?);
        Ok(Self { rows, columns, seed, matrix, transpose, counts })
    }

    fn bins(&self) -> u64 {
        self.counts.items_per_page().min(MOST_BINS) as u64
    }

    /// Returns row and column in the matrix of an entry of the transpose, by its number, row after row.
    fn source(&self, number: u64) -> (u64, u64) {
        let rows = u64::from(self.rows);
        (number % rows, number / rows)
    }

    fn fill(&self, client: &mut Client, own: Range<u32>) -> Result<(), DsmError> {
        client.prefetch(&self.matrix, own.clone(), Access::Write)?;
        for row in own {
            let first = u64::from(row) * self.columns;
            let page = client.write(&self.matrix, row)?;
            page.iter_mut().zip(first..).for_each(|(word, number)| *word = entry(self.seed, number));
        }
        Ok(())
    }

    /// Counts the entries of a part, then adds them to the shared counts.
    fn count(&self, client: &mut Client, own: Range<u32>) -> Result<(), DsmError> {
        let bins = self.bins();
        let mut counts = vec![0_u64; bins as usize];
        for row in own {
            for word in client.read(&self.matrix, row)? {
                counts[(word % bins) as usize] += 1;
            }
        }
        let all = client.write(&self.counts, 0)?;
        all.iter_mut().zip(counts).for_each(|(all, own)| *all += own);
        client.write_back(&self.counts, 0)
    }

    fn transpose(&self, client: &mut Client, own: Range<u32>) -> Result<(), DsmError> {
        client.prefetch(&self.transpose, own.clone(), Access::Write)?;
        for page in own {
            let first = u64::from(page) * self.columns;
            let transposed = {
                let rows = client.read_many(&self.matrix, &Vec::from_iter(0..self.rows))?;
                let word = |number| {
                    let (row, column) = self.source(number);
                    rows[row as usize][column as usize]
                };
                (first..first + self.columns).map(word).collect::<Vec<u64>>()
            };
            client.write(&self.transpose, page)?.copy_from_slice(&transposed);
        }
        Ok(())
    }

    /// Compares a part of the transpose, and the counts, with the results of a serial program.
    fn check(&self, client: &mut Client, part: Range<u32>) -> Result<Checked, DsmError> {
        let mut checked = Checked::default();
        client.prefetch(&self.transpose, part.clone(), Access::Read)?;
        for page in part {
            let first = u64::from(page) * self.columns;
            let expected = (first..).map(|number| {
                let (row, column) = self.source(number);
                entry(self.seed, row * self.columns + column)
            });
            checked.compare(client.read(&self.transpose, page)?, expected);
        }
        let mut counts = vec![0_u64; self.bins() as usize];
        for number in 0..u64::from(self.rows) * self.columns {
            counts[(entry(self.seed, number) % self.bins()) as usize] += 1;
        }
        checked.compare(&client.read(&self.counts, 0)?[..counts.len()], counts.into_iter());
        Ok(checked)
    }
}

impl Checked {
    fn compare(&mut self, found: &[u64], expected: impl Iterator<Item = u64>) {
        self.words += found.len() as u64;
        self.wrong +=
            found.iter().zip(expected).filter(|(found, expected)| *found != expected).count() as u64;
    }
}
