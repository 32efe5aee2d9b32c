//! The messages, packed of segments (NewMadeleine's interface; see [`canele::Packer`]).
//!
//! | message | segments |
//! |---|---|
//! | request | my id (`u32`), page number (`u32`), deferred? (`u8`), access type (`u8`); behind a write-back the page |
//! | answer | page number (`u32`), found? (`u8`); if found the page, if held the holder's rank (`u32`) |
//! | done | page number (`u32`): a write-back arrived; a barrier opened |
//!
//! Only the page itself depends on earlier segments, so all others may travel together. Bit 0 of *deferred?*
//! allows the server to defer the answer. Bit 1 tells that another request of the client follows at once. The
//! paper's access types are 1 and 2.

use canele::{Error, Flow, Packer, Plain, Rank, Scope, Source, Tag, Unpacker};

use crate::error::DsmError;

pub(crate) const REQUEST: Tag = Tag(1);
pub(crate) const ANSWER: Tag = Tag(2);
pub(crate) const DONE: Tag = Tag(3);
/// The server of the barrier.
pub(crate) const BARRIER_SERVER: Rank = Rank(0);
/// Most requests of a client without an answer, and most answers of a server before it waits for their pages
/// to leave.
pub(crate) const MOST_OUTSTANDING: usize = 256;

const DEFERRABLE: u8 = 1;
const MORE_FOLLOW: u8 = 2;

const NOT_FOUND: u8 = 0;
const FOUND: u8 = 1;
const HELD: u8 = 2;

/// The operation that a client requests; the number is the access type of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Read = 1,
    Write = 2,
    /// The page follows.
    WriteBack = 3,
    /// Write access ends, and the page is unchanged.
    GiveUp = 4,
    Barrier = 5,
    Goodbye = 6,
}

impl Operation {
    const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::WriteBack, Self::GiveUp, Self::Barrier, Self::Goodbye];

    pub fn is_fetch(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub client: u32,
    pub page: u32,
    pub deferrable: bool,
    pub more_follow: bool,
    pub operation: Operation,
}

/// The finding of an answer about its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finding<P> {
    NotFound,
    Found(P),
    /// This rank holds the page for writing.
    Held(u32),
}

/// Runs `f` in a scope of the flow. A protocol error withdraws pending operations, like an error of
/// communication.
pub(crate) fn in_scope<'env, R>(
    flow: &Flow,
    f: impl for<'scope> FnOnce(&Scope<'scope, 'env>) -> Result<R, DsmError>,
) -> Result<R, DsmError> {
    let mut wrong = None;
    let result = flow.scope(|scope| {
        f(scope).map_err(|error| match error {
            DsmError::Communication(error) => error,
            error => {
                wrong = Some(error);
                Error::Lengths { what: "errors told", given: 0, needed: 1 }
            }
        })
    });
    match wrong {
        Some(error) => Err(error),
        None => Ok(result?),
    }
}

/// Packs a request; a page may follow before `end`.
pub(crate) fn pack_request<'a, 'scope, 'env>(
    scope: &'a Scope<'scope, 'env>,
    to: Rank,
    request: &Request,
) -> Result<Packer<'a, 'scope, 'env>, Error> {
    let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
    let deferred = flag(request.deferrable, DEFERRABLE) | flag(request.more_follow, MORE_FOLLOW);
    let mut packer = scope.pack(to, REQUEST);
    packer.safer(&[request.client])?;
    packer.safer(&[request.page])?;
    packer.safer(&[deferred])?;
    packer.safer(&[request.operation as u8])?;
    Ok(packer)
}

/// Unpacks the next request, without the page that may follow. A wait for any rank fails if one dies.
pub(crate) fn unpack_request(scope: &Scope<'_, '_>, from: Source) -> Result<Request, DsmError> {
    let mut client = [0_u32];
    let status = scope.flow().recv(from, REQUEST, &mut client)?;
    let (from, client) = (status.source, client[0]);
    check_bytes(from, "the client's id", status.bytes, size_of_val(&client))?;
    let mut unpacker = scope.unpack(from, REQUEST);
    let page = segment(&mut unpacker, from, "the page number of a request")?;
    let deferred: u8 = segment(&mut unpacker, from, "`deferred?`")?;
    let access: u8 = segment(&mut unpacker, from, "the access type")?;
    let operation = Operation::ALL.into_iter().find(|operation| *operation as u8 == access);
    let operation = operation.ok_or_else(|| protocol_error(from, format!("an access type of {access}")))?;
    if client != from.0 {
        return Err(protocol_error(from, format!("a request in the name of rank {client}")));
    }
    let (deferrable, more_follow) = (deferred & DEFERRABLE != 0, deferred & MORE_FOLLOW != 0);
    Ok(Request { client, page, deferrable, more_follow, operation })
}

/// Packs and sends an answer; the page is read until the scope ends.
pub(crate) fn send_answer<'env>(
    scope: &Scope<'_, 'env>,
    to: Rank,
    page: u32,
    finding: Finding<&'env [u64]>,
) -> Result<(), Error> {
    let mut packer = scope.pack(to, ANSWER);
    packer.safer(&[page])?;
    match finding {
        Finding::NotFound => packer.safer(&[NOT_FOUND])?,
        Finding::Found(words) => {
            packer.safer(&[FOUND])?;
            packer.cheaper(words)?;
        }
        Finding::Held(by) => {
            packer.safer(&[HELD])?;
            packer.safer(&[by])?;
        }
    }
    packer.end()
}

/// Unpacks the next answer of a server: the page number and the finding. `place` returns the memory for a
/// requested page, none for another. The page is complete when the scope ends. Returns once the page was
/// announced.
pub(crate) fn unpack_answer<'env>(
    scope: &Scope<'_, 'env>,
    from: Rank,
    mut place: impl FnMut(u32) -> Option<&'env mut [u64]>,
) -> Result<(u32, Finding<()>), DsmError> {
    let mut unpacker = scope.unpack(from, ANSWER);
    let page = segment(&mut unpacker, from, "the page number of an answer")?;
    let words =
        place(page).ok_or_else(|| protocol_error(from, format!("an answer about page {page}, unasked")))?;
    let finding = match segment(&mut unpacker, from, "`found?`")? {
        NOT_FOUND => Finding::NotFound,
        FOUND => {
            check_announced(scope.flow(), from, ANSWER, page, size_of_val(words))?;
            unpacker.cheaper(words)?;
            Finding::Found(())
        }
        HELD => Finding::Held(segment(&mut unpacker, from, "the holder's rank")?),
        other => return Err(protocol_error(from, format!("`found?` is {other} for page {page}"))),
    };
    Ok((page, finding))
}

/// Waits until the next message of `from`, a page, is announced, and checks its length.
pub(crate) fn check_announced(
    flow: &Flow,
    from: Rank,
    tag: Tag,
    page: u32,
    bytes: usize,
) -> Result<(), DsmError> {
    let announced = flow.probe(from, tag)?.bytes;
    check_bytes(from, &format!("page {page}"), announced, bytes)
}

fn segment<T: Plain>(unpacker: &mut Unpacker<'_, '_, '_>, from: Rank, what: &str) -> Result<T, DsmError> {
    let mut item = [T::zeroed()];
    let bytes = unpacker.express(&mut item)?.bytes;
    check_bytes(from, what, bytes, size_of::<T>())?;
    Ok(item[0])
}

fn check_bytes(from: Rank, what: &str, bytes: usize, expected: usize) -> Result<(), DsmError> {
    if bytes == expected {
        return Ok(());
    }
    Err(protocol_error(from, format!("{bytes} bytes as {what}, of {expected} bytes")))
}

pub(crate) fn protocol_error(from: Rank, what: String) -> DsmError {
    DsmError::Protocol { from, what }
}
