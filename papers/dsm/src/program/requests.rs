//! The experiment of NewMadeleine's paper (Brunet, RenPar 2006): a client asks a page server for several pages at once.
//!
//! Each round measures every number of pages under each strategy, so that a drift of the machine affects all
//! of them. Ratios are medians of the rounds' ratios to the first strategy.

use std::time::Duration;

use canele::{Flow, Job, Rank};
use canele_show::Progress;

use crate::arguments::Requests;
use crate::cache::Access;
use crate::client::Client;
use crate::error::DsmError;
use crate::fetch::FetchTimes;
use crate::mapping::Mapping;
use crate::program::figures::{self, Row};
use crate::program::transpose::entry;
use crate::space::AddressSpace;

/// Approximate number of bytes that are moved for one figure.
const BYTES_PER_BATCH: usize = 16 << 20;
const FETCHES_PER_BATCH: std::ops::RangeInclusive<usize> = 4..=50;

/// Runs the experiment on this rank; rank 0, the server, reports.
pub fn run(options: &Requests, job: &Job) -> Result<(), DsmError> {
    let settings = options.settings();
    if job.size() != 2 {
        return Err(DsmError::NotTwo { ranks: job.size() });
    }
    settings.check(job.size())?;
    let (world, mut rows) = (job.world(), rows(options));
    let space = AddressSpace::new(world.duplicate()?, settings)?;
    let mut rank =
        if space.is_server() { Role::Server(space.server()) } else { Role::Client(space.client()) };
    rank.take_turn(&world, fill)?;
    let mut progress = Progress::new("dsm", space.is_server() && !options.quiet);
    for round in 1..=options.rounds {
        for row in &mut rows {
            job.set_strategy(&row.strategy)?;
            let mut times = rank.take_turn(&world, |client| fetch_often(client, row.pages))?;
            world.broadcast(Rank(settings.servers), &mut times)?;
            row.requests.push(times[0]);
            row.whole.push(times[1]);
        }
        progress.at(f64::from(round) / f64::from(options.rounds), format_args!("round {round}"));
    }
    drop(progress);
    if space.is_server() {
        figures::report(options, &rows);
    }
    Ok(())
}

fn rows(options: &Requests) -> Vec<Row> {
    let row = |pages, strategy: &String| Row {
        pages,
        strategy: strategy.clone(),
        requests: Vec::new(),
        whole: Vec::new(),
    };
    options
        .pages
        .iter()
        .flat_map(|pages| options.strategy.iter().map(move |name| row(*pages, name)))
        .collect()
}

/// The role of this rank.
enum Role {
    Server(crate::server::Server),
    Client(Client),
}

impl Role {
    /// Runs `program` on the client while the server serves; the result on the server has no meaning.
    fn take_turn<T: Default>(
        &mut self,
        world: &Flow,
        program: impl FnOnce(&mut Client) -> Result<T, DsmError>,
    ) -> Result<T, DsmError> {
        // After the barrier both have chosen the strategy, and no message is under way.
        world.barrier()?;
        match self {
            Self::Server(server) => server.serve().map(|_| T::default()),
            Self::Client(client) => {
                let value = program(client)?;
                client.finish()?;
                Ok(value)
            }
        }
    }
}

fn all_pages(client: &Client) -> Result<Mapping<u64>, DsmError> {
    client.map(0..client.space().settings().pages)
}

/// Writes all pages, so that the server reads memory that is really allocated.
fn fill(client: &mut Client) -> Result<(), DsmError> {
    let mapping = all_pages(client)?;
    for page in 0..mapping.pages() {
        client.write(&mapping, page)?.fill(entry(0, page.into()));
    }
    Ok(())
}

/// Fetches the first `pages` pages repeatedly. Returns mean times in nanoseconds: until requests and
/// announcements are exchanged, and until all pages are there.
fn fetch_often(client: &mut Client, pages: u32) -> Result<[f64; 2], DsmError> {
    let mapping = all_pages(client)?;
    let bytes = client.space().settings().page_bytes * pages as usize;
    let fetches = (BYTES_PER_BATCH / bytes).clamp(*FETCHES_PER_BATCH.start(), *FETCHES_PER_BATCH.end());
    let mut sum = [Duration::ZERO; 2];
    // The first fetch allocates the memory of its pages, and is not counted.
    for fetch in 0..=fetches {
        client.acquire();
        let FetchTimes { requests, whole } = client.prefetch(&mapping, 0..pages, Access::Read)?;
        if fetch > 0 {
            sum = [sum[0] + requests, sum[1] + whole];
        }
    }
    check(client, &mapping, pages)?;
    Ok(sum.map(|sum| sum.as_nanos() as f64 / fetches as f64))
}

fn check(client: &Client, mapping: &Mapping<u64>, pages: u32) -> Result<(), DsmError> {
    for page in 0..pages {
        let (words, expected) = (client.cached(mapping, page).unwrap_or_default(), entry(0, page.into()));
        if let Some((word, found)) = words.iter().enumerate().find(|(_, word)| **word != expected) {
            return Err(DsmError::Changed { page, word, found: *found, expected });
        }
    }
    Ok(())
}
