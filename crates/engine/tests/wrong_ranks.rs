//! A rank that the job does not have is an error of the call, on every route of a message.

use canele_engine::{Error, FlowId, Mode, Rank, Tag};
use canele_sys::tunables::Tunables;
use canele_testing::LocalRank;

fn is_refused<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::NoSuchRank { .. }))
}

#[test]
fn messages_to_ranks_that_do_not_exist_are_refused() {
    let engines = canele_testing::start(2, &Tunables::default()).expect("a job of two ranks");
    let [a, _b]: &[LocalRank; 2] = engines.as_slice().try_into().expect("two");
    for to in [2, 63, 64, 4096, u32::MAX].map(Rank) {
        for bytes in [0, 8, 1000, 1 << 20] {
            let bytes = vec![0; bytes];
            for mode in [Mode::Standard, Mode::Synchronous] {
                assert!(is_refused(a.send(to, FlowId(0), Tag(0), mode, &bytes, None)), "{to} {mode:?}");
            }
            assert!(is_refused(a.send_with(to, FlowId(0), Tag(0), bytes.len(), |_| ())), "{to}");
        }
    }
}
