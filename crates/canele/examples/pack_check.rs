//! Checks packed messages between ranks 0 and 1: `canele run -n 2 pack_check`. Ends with an error if a
//! message is lost or changed.

use std::cell::Cell;

use canele::{Flow, Job, Rank, Tag};

type Checked = Result<(), Box<dyn std::error::Error>>;

const ROUNDS: u32 = 50;

fn main() -> Checked {
    let job = Job::start()?;
    let other = Rank(1 - job.rank().0);
    for pages in [1, 3, 7] {
        pages_on_request(&job.world(), other, pages)?;
    }
    late_segments(&job.world(), other)?;
    Ok(job.finish()?)
}

/// Returns the content of page `page` in round `round`.
fn page(page: u32, round: u32) -> Vec<u8> {
    (0..65_000u32 + page).map(|n| (n * 7 + page * 31 + round) as u8).collect()
}

/// Runs a page server: requests have several segments, only the last segment of an answer has the page, and
/// several are under way at once.
fn pages_on_request(flow: &Flow, other: Rank, pages: u32) -> Checked {
    for round in 0..ROUNDS {
        if flow.rank() == Rank(0) {
            let mut got: Vec<Vec<u8>> = (0..pages).map(|n| vec![0; page(n, round).len()]).collect();
            let numbers: Vec<[u32; 1]> = (0..pages).map(|n| [n]).collect();
            flow.scope(|scope| {
                for (tag, number) in (0..).zip(&numbers) {
                    let mut request = scope.pack(other, Tag(tag));
                    request.safer(&[round])?;
                    request.cheaper(number)?;
                    request.safer(&[0u8; 0])?;
                    request.end()?;
                }
                for (tag, got) in (0..).zip(&mut got) {
                    let mut answer = scope.unpack(other, Tag(tag));
                    let mut head = [0u32; 2];
                    answer.express(&mut head)?;
                    assert_eq!(head, [tag, got.len() as u32]);
                    answer.cheaper(got)?;
                }
                Ok(())
            })?;
            assert!((0..).zip(&got).all(|(n, got)| *got == page(n, round)), "a page is not as it was sent");
        } else {
            let all: Vec<Vec<u8>> = (0..pages).map(|n| page(n, round)).collect();
            flow.scope(|scope| {
                for tag in 0..pages {
                    let mut request = scope.unpack(other, Tag(tag));
                    let (mut asked, mut number) = ([0u32], [0u32]);
                    request.express(&mut asked)?;
                    request.express(&mut number)?;
                    request.express(&mut [0u8; 0])?;
                    assert_eq!((asked[0], number[0]), (round, tag));
                    let found = &all[number[0] as usize];
                    let mut answer = scope.pack(other, Tag(tag));
                    answer.safer(&[tag, found.len() as u32])?;
                    answer.cheaper(found)?;
                    answer.end()?;
                }
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// Packs segments that are filled afterwards, and others behind them.
fn late_segments(flow: &Flow, other: Rank) -> Checked {
    let late: Vec<Cell<u64>> = vec![Cell::new(0); 20_000];
    let behind = [5u16; 9];
    if flow.rank() == Rank(0) {
        flow.scope(|scope| {
            let mut message = scope.pack(other, Tag(9));
            message.safer(&[1u8])?;
            message.later(&late);
            let mut copied = vec![3u8];
            message.safer(&copied)?;
            copied.fill(4);
            message.cheaper(&behind)?;
            late.iter().zip(10..).for_each(|(cell, n)| cell.set(n));
            message.end()
        })?;
    } else {
        let (mut first, mut got, mut copied, mut last) = ([0u8], vec![0u64; 20_000], [0u8], [0u16; 9]);
        flow.scope(|scope| {
            let mut message = scope.unpack(other, Tag(9));
            message.express(&mut first)?;
            message.cheaper(&mut got)?;
            message.express(&mut copied)?;
            message.cheaper(&mut last)
        })?;
        assert!(first == [1] && copied == [3] && last == [5; 9] && got.iter().copied().eq(10..20_010));
    }
    Ok(())
}
