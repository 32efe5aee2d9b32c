//! Ranks of two jobs, each of which numbers the other's ranks in its own way.

use canele_rail::{Class, Header, Member, Network, OtherRanks, Rail, Recoverable};
use canele_sys::ids::Rank;

use super::{RAIL, SMALL, Unix, until};

/// Returns rank 1 of job 5, which job 6 numbers 9, and rank 1 of job 6, which job 5 numbers 5.
fn ranks_of_two_jobs(keys: [[u8; 32]; 2]) -> [Unix; 2] {
    let first = OtherRanks { job: 5, theirs: 6, key: keys[0], first: 0, ranks: 2, here: Rank(4) };
    let second = OtherRanks { job: 6, theirs: 5, key: keys[1], first: 0, ranks: 4, here: Rank(8) };
    let mut rails = [(first, 4), (second, 8)].map(|(others, ranks)| {
        let member = Member { me: Rank(1), ranks, job: others.job, key: [others.job as u8; 32] };
        let mut rail = Unix::listen(RAIL, member, &["canele-jobs-".into()], SMALL).expect("descriptors");
        rail.add_others(others);
        rail
    });
    let [a, b] = &mut rails;
    assert!(a.introduce(Rank(5), &b.own_address()) && b.introduce(Rank(9), &a.own_address()));
    a.connect(Rank(5));
    b.connect(Rank(9));
    rails
}

#[test]
fn ranks_of_two_jobs_that_connect_to_each_other_have_one_link() {
    let [mut a, mut b] = ranks_of_two_jobs([[9; 32]; 2]);
    let mut opened = [None, None];
    until(|| {
        // Both decide before either has seen the other's decision.
        a.accept();
        b.accept();
        a.progress_attempts();
        b.progress_attempts();
        a.progress_accepted();
        b.progress_accepted();
        for (rail, opened) in [&mut a, &mut b].into_iter().zip(&mut opened) {
            *opened = opened.or_else(|| rail.take_opened());
        }
        opened.iter().all(Option::is_some)
    });
    let links = opened.map(|link| link.expect("it was looked for"));
    assert_eq!(links.map(|link| link.peer()), [Rank(5), Rank(9)]);
    assert_eq!(a.generation(links[0]), b.generation(links[1]));
    a.claim(links[0], 0, Class::Message).expect("an empty link has room");
    a.commit(links[0], Header { tag: 3, ..Header::default() });
    until(|| b.poll(links[1]).expect("an honest peer").is_some_and(|packet| packet.header.tag == 3));
    assert!(a.take_lost().is_none() && b.take_lost().is_none());
}

#[test]
fn ranks_of_jobs_that_share_no_key_do_not_meet() {
    let [mut a, mut b] = ranks_of_two_jobs([[9; 32], [8; 32]]);
    let mut failed = 0;
    until(|| {
        for rail in [&mut a, &mut b] {
            rail.progress_connections(0);
            failed += usize::from(rail.take_unreachable().is_some());
        }
        failed == 2
    });
    assert!(a.incoming().is_empty() && b.incoming().is_empty());
}
