//! Random programs, checked against a model of the memory that every client computes alone.
//!
//! A program has phases with barriers in between. In a phase each page is written by one client, or
//! incremented by several with write access, or read by all. So every read has the value of the model.

use canele::Job;
use canele_dsm::{Access, AddressSpace, Client, DsmError, Mapping, Placement, Settings};

use super::Checked;

/// Random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn choice<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// The use of a page in a phase, equal on all clients.
enum Use {
    /// The client writes these words.
    Written {
        by: u32,
        words: Vec<(usize, u64)>,
    },
    /// Each of these clients adds this number to this word.
    Added {
        by: Vec<u32>,
        word: usize,
        number: u64,
    },
    Read,
}

pub fn check(job: &Job, seed: u64, count: u64) -> Checked {
    for seed in seed..seed + count {
        let mut random = Random(seed);
        let settings = Settings {
            pages: 1 + random.below(30) as u32,
            page_bytes: random.choice(&[8, 64, 4096, 65_000, 65_536, 66_560]),
            servers: 1 + random.below(u64::from(job.size()).saturating_sub(1).max(1)) as u32,
            placement: random.choice(&[Placement::RoundRobin, Placement::Blocks]),
            guess: random.choice(&[Placement::RoundRobin, Placement::Blocks]),
        };
        let space = AddressSpace::new(job.world().duplicate()?, settings)?;
        space
            .run(|client| run(client, &mut random))
            .map_err(|error| format!("seed {seed}, {settings:?}: {error}"))?;
    }
    Ok(())
}

fn run(client: &mut Client, random: &mut Random) -> Checked {
    let settings = *client.space().settings();
    let own = client.space().rank().0;
    let mapping = client.map::<u64>(0..settings.pages)?;
    let mut model = vec![vec![0_u64; settings.words()]; settings.pages as usize];
    // Makes choices that the clients need not agree on.
    let mut chance = Random(u64::from(own) + 1);
    for _phase in 0..6 {
        let uses: Vec<Use> = (0..settings.pages).map(|_| draw(client, random, settings.words())).collect();
        if chance.below(2) == 0 {
            let some = (0..settings.pages).filter(|_| chance.below(2) == 0).collect::<Vec<u32>>();
            client.prefetch(&mapping, some, Access::Read)?;
        }
        for (page, usage) in (0..).zip(&uses) {
            act(client, &mapping, page, usage, &model[page as usize], &mut chance)?;
        }
        for (page, usage) in model.iter_mut().zip(&uses) {
            apply(page, usage);
        }
        client.barrier()?;
    }
    for (page, expected) in (0..).zip(&model) {
        compare(page, client.read(&mapping, page)?, expected)?;
    }
    Ok(())
}

fn draw(client: &Client, random: &mut Random, words: usize) -> Use {
    let clients: Vec<u32> = client.space().clients().collect();
    let word = |random: &mut Random| random.below(words as u64) as usize;
    match random.below(3) {
        0 => {
            let words = (0..1 + random.below(9)).map(|_| (word(random), random.next())).collect();
            Use::Written { by: random.choice(&clients), words }
        }
        1 => {
            let by = clients.into_iter().filter(|_| random.below(3) > 0).collect();
            Use::Added { by, word: word(random), number: random.next() }
        }
        _ => Use::Read,
    }
}

fn apply(page: &mut [u64], usage: &Use) {
    match usage {
        Use::Written { words, .. } => words.iter().for_each(|(word, value)| page[*word] = *value),
        Use::Added { by, word, number } => {
            by.iter().for_each(|_| page[*word] = page[*word].wrapping_add(*number));
        }
        Use::Read => {}
    }
}

/// Does this client's part in the use of a page. Pages are used in ascending order, so that it may hold
/// earlier ones.
fn act(
    client: &mut Client,
    mapping: &Mapping<u64>,
    page: u32,
    usage: &Use,
    model: &[u64],
    chance: &mut Random,
) -> Checked {
    let own = client.space().rank().0;
    match usage {
        Use::Written { by, words } if *by == own => {
            compare(page, client.write(mapping, page)?, model)?;
            for (word, value) in words {
                client.write(mapping, page)?[*word] = *value;
                if chance.below(4) == 0 {
                    client.acquire();
                }
            }
            if chance.below(3) == 0 {
                client.write_back(mapping, page)?;
            }
        }
        Use::Added { by, word, number } if by.contains(&own) => {
            let words = client.write(mapping, page)?;
            words[*word] = words[*word].wrapping_add(*number);
            match chance.below(3) {
                0 => client.release()?,
                1 => client.write_back(mapping, page)?,
                _ => {}
            }
        }
        Use::Read if chance.below(4) > 0 => compare(page, client.read(mapping, page)?, model)?,
        _ => {}
    }
    Ok(())
}

fn compare(page: u32, found: &[u64], expected: &[u64]) -> Checked {
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        None => Ok(()),
        Some(word) => {
            Err(Box::new(DsmError::Changed { page, word, found: found[word], expected: expected[word] }))
        }
    }
}
