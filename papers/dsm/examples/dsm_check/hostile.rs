//! Ranks that violate the protocol. Rank 0 is the server, rank 1 the client; the rank that keeps to the
//! protocol prints its error.

use canele::{ANY_SOURCE, Flow, Job, Rank, Tag};
use canele_dsm::{AddressSpace, DsmError, Settings};

use super::Checked;

const REQUEST: Tag = Tag(1);
const ANSWER: Tag = Tag(2);
const DONE: Tag = Tag(3);
const PAGE_BYTES: usize = 80;
const READ: u8 = 1;
const WRITE: u8 = 2;
const WRITE_BACK: u8 = 3;

fn told<T>(result: Result<T, DsmError>) -> Checked {
    match result {
        Ok(_) => Err("what the protocol does not allow was taken".into()),
        Err(error) => {
            println!("told: {error}");
            Ok(())
        }
    }
}

fn space(job: &Job, servers: u32) -> Result<(AddressSpace, Flow), DsmError> {
    let flow = job.world().duplicate()?;
    let settings = Settings { pages: 4, page_bytes: PAGE_BYTES, servers, ..Settings::default() };
    Ok((AddressSpace::new(flow.clone(), settings)?, flow))
}

/// Sends a request, valid or not.
fn request(flow: &Flow, client: u32, page: u32, access: u8) -> Result<(), canele::Error> {
    flow.scope(|scope| {
        let mut packer = scope.pack(Rank(0), REQUEST);
        packer.safer(&[client])?;
        packer.safer(&[page])?;
        packer.safer(&[0_u8])?;
        packer.safer(&[access])?;
        packer.end()
    })
}

/// Receives a page number and its finding.
fn answer(flow: &Flow) -> Result<(u32, u8), canele::Error> {
    let (mut number, mut found) = ([0], [9]);
    flow.recv(Rank(0), ANSWER, &mut number)?;
    flow.recv(Rank(0), ANSWER, &mut found)?;
    Ok((number[0], found[0]))
}

/// Runs a client that violates the protocol.
pub fn client(job: &Job, kind: &str) -> Checked {
    let (space, flow) = space(job, 1)?;
    if job.rank() == Rank(0) {
        return told(space.server().serve());
    }
    let (own, page) = (job.rank().0, [1_u64; PAGE_BYTES / 8]);
    match kind {
        "name" => request(&flow, 0, 1, READ)?,
        "access" => request(&flow, own, 1, 77)?,
        "long" => flow.send(Rank(0), REQUEST, &[own, 1])?,
        "short" => flow.send(Rank(0), REQUEST, &[1_u8])?,
        "not-held" => request(&flow, own, 1, WRITE_BACK)?,
        "beyond" => {
            // A page that does not exist is not found; only writing it back is an error.
            for access in [READ, WRITE] {
                request(&flow, own, u32::MAX, access)?;
                assert_eq!(answer(&flow)?, (u32::MAX, 0));
            }
            request(&flow, own, u32::MAX, WRITE_BACK)?;
        }
        "page" | "twice" => {
            request(&flow, own, 1, WRITE)?;
            assert_eq!(answer(&flow)?, (1, 1));
            flow.recv(Rank(0), ANSWER, &mut [0_u8; PAGE_BYTES])?;
            if kind == "twice" {
                request(&flow, own, 1, WRITE)?;
            } else {
                request(&flow, own, 1, WRITE_BACK)?;
                flow.send(Rank(0), REQUEST, &page[1..])?;
            }
        }
        _ => return Err("name, access, long, short, not-held, beyond, page or twice".into()),
    }
    Ok(())
}

/// Runs a server that violates the protocol in its answer to a client that reads page 1, and then serves
/// nothing more.
pub fn server(job: &Job, kind: &str) -> Checked {
    let (space, flow) = space(job, job.size() - 1)?;
    if space.is_server() {
        let client = Rank(job.size() - 1);
        return Ok(answer_wrongly(&flow, client, kind)?);
    }
    let mut client = space.client();
    let mapping = client.map::<u64>(0..4)?;
    told(client.read(&mapping, 1))?;
    for server in 0..job.size() - 1 {
        flow.send(Rank(server), DONE, &[0_u8])?;
    }
    Ok(())
}

fn answer_wrongly(flow: &Flow, client: Rank, kind: &str) -> Result<(), canele::Error> {
    // The servers that are not asked first are asked only if the page is not found.
    if kind == "nowhere" || flow.rank() == Rank(1) || flow.size() == 2 {
        let asked = flow.probe(ANY_SOURCE, REQUEST)?.source;
        let (mut id, mut page, mut deferred, mut access) = ([0_u32], [0_u32], [0_u8], [0_u8]);
        flow.recv(asked, REQUEST, &mut id)?;
        flow.recv(asked, REQUEST, &mut page)?;
        flow.recv(asked, REQUEST, &mut deferred)?;
        flow.recv(asked, REQUEST, &mut access)?;
        assert_eq!((asked, id, page, deferred, access), (client, [client.0], [1], [0], [READ]));
        match kind {
            "number" => flow.send(client, ANSWER, &[2_u32])?,
            "found" => {
                flow.send(client, ANSWER, &page)?;
                flow.send(client, ANSWER, &[7_u8])?;
            }
            "page" => {
                flow.send(client, ANSWER, &page)?;
                flow.send(client, ANSWER, &[1_u8])?;
                flow.send(client, ANSWER, &[1_u64; 3])?;
            }
            _ => {
                flow.send(client, ANSWER, &page)?;
                flow.send(client, ANSWER, &[0_u8])?;
            }
        }
    }
    flow.recv(client, DONE, &mut [0_u8]).map(drop)
}
