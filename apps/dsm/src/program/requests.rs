//! The experiment of NewMadeleine's paper (Brunet, RenPar 2006): a client asks a page server for several pages at once.
//!
//! In each round every number of pages is measured under each strategy, so that a machine that drifts drifts for all. Ratios are
//! medians of the rounds' ratios to the first strategy.

use std::time::Duration;

use canele::{Flow, Job, Rank};
use canele_show::{Progress, print_table};
use serde_json::json;

use crate::arguments::Requests;
use crate::cache::Access;
use crate::client::Client;
use crate::error::DsmError;
use crate::fetch::FetchTimes;
use crate::mapping::Mapping;
use crate::program::transpose::entry;
use crate::space::AddressSpace;

/// Bytes that are moved for one figure, roughly.
const BYTES_PER_BATCH: usize = 16 << 20;
const FETCHES_PER_BATCH: std::ops::RangeInclusive<usize> = 4..=50;

/// A number of pages under a strategy.
struct Row {
    pages: u32,
    strategy: String,
    /// Nanoseconds of a fetch, one of each round.
    requests: Vec<f64>,
    whole: Vec<f64>,
}

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
        report(options, &rows);
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

/// This rank's part.
enum Role {
    Server(crate::server::Server),
    Client(Client),
}

impl Role {
    /// Runs `program` on the client while the server serves; what the server returns has no meaning.
    fn take_turn<T: Default>(
        &mut self,
        world: &Flow,
        program: impl FnOnce(&mut Client) -> Result<T, DsmError>,
    ) -> Result<T, DsmError> {
        // Both have chosen the strategy, and nothing is under way.
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

/// Writes all pages, so that the server reads memory that is really there.
fn fill(client: &mut Client) -> Result<(), DsmError> {
    let mapping = all_pages(client)?;
    for page in 0..mapping.pages() {
        client.write(&mapping, page)?.fill(entry(0, page.into()));
    }
    Ok(())
}

/// Fetches the first `pages` pages again and again; returns mean times in nanoseconds: until requests and announcements are exchanged, and
/// until all pages are there.
fn fetch_often(client: &mut Client, pages: u32) -> Result<[f64; 2], DsmError> {
    let mapping = all_pages(client)?;
    let bytes = client.space().settings().page_bytes * pages as usize;
    let fetches = (BYTES_PER_BATCH / bytes).clamp(*FETCHES_PER_BATCH.start(), *FETCHES_PER_BATCH.end());
    let mut sum = [Duration::ZERO; 2];
    // The first one has pages of its memory to find, and is not counted.
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

/// A row's figures: medians in microseconds, and ratios to those of the first strategy for the same number of pages.
struct Figures {
    requests_us: f64,
    whole_us: f64,
    ratios: Option<[f64; 2]>,
}

impl Figures {
    fn of(row: &Row, first: &Row) -> Self {
        let ratios = |own: &[f64], base: &[f64]| median(own.iter().zip(base).map(|(own, base)| own / base));
        let is_first = std::ptr::eq(row, first);
        Self {
            requests_us: median(row.requests.iter().copied()) / 1e3,
            whole_us: median(row.whole.iter().copied()) / 1e3,
            ratios: (!is_first)
                .then(|| [ratios(&row.requests, &first.requests), ratios(&row.whole, &first.whole)]),
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted = Vec::from_iter(values);
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn report(options: &Requests, rows: &[Row]) {
    let groups = rows.chunks(options.strategy.len().max(1));
    let figures: Vec<(&Row, Figures)> =
        groups.flat_map(|group| group.iter().map(|row| (row, Figures::of(row, &group[0])))).collect();
    if options.json {
        let rows: Vec<serde_json::Value> = figures
            .iter()
            .map(|(row, figures)| {
                json!({
                    "pages": row.pages,
                    "strategy": row.strategy,
                    "requests_rendezvous_us": figures.requests_us,
                    "whole_us": figures.whole_us,
                    "ratio_requests_rendezvous": figures.ratios.map(|ratios| ratios[0]),
                    "ratio_whole": figures.ratios.map(|ratios| ratios[1]),
                })
            })
            .collect();
        println!("{:#}", json!({ "page_bytes": options.page_bytes, "rounds": options.rounds, "rows": rows }));
        return;
    }
    println!(
        "{:>5}  {:<10} {:>21} {:>7} {:>12} {:>7}",
        "pages", "strategy", "requests + rendezvous", "ratio", "whole", "ratio"
    );
    for (row, Figures { requests_us, whole_us, ratios }) in &figures {
        let [requests, whole] =
            ratios.map_or([String::new(), String::new()], |ratios| ratios.map(|ratio| format!("{ratio:.2}")));
        println!(
            "{:>5}  {:<10} {:>18.1} µs {:>7} {:>9.1} µs {:>7}",
            row.pages, row.strategy, requests_us, requests, whole_us, whole
        );
    }
    print_table(&[("pages of", format!("{} B; medians of {} rounds", options.page_bytes, options.rounds))]);
}
