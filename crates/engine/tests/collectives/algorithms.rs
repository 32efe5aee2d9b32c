//! Named algorithms, with real engines whose ranks have a processor each.

use canele_engine::collective::{Operation, Root};
use canele_engine::{Engine, FlowId};
use canele_sys::tunables::Tunables;

use crate::{shape, sum};

/// Words of the vectors: fewer than ranks, and more than one message carries.
const LENGTHS: [usize; 4] = [1, 5, 3000, 100_000];

/// Runs a job on hosts with so many ranks each, by one algorithm.
fn job(hosts: &[u32], algorithm: &'static str, work: impl Fn(&Engine) + Send + Sync) {
    let tunables = Tunables { collective: algorithm, ..Tunables::default() };
    let ranks = canele_testing::start_on_hosts(hosts, &tunables).unwrap();
    std::thread::scope(|scope| {
        for rank in &ranks {
            scope.spawn(|| work(rank));
        }
    });
}

/// Checks blocking reductions and broadcasts, with every rank as the root.
fn check(engine: &Engine) {
    let (me, ranks) = (u64::from(engine.rank().0), u64::from(engine.size()));
    let mut output = vec![0u64; LENGTHS[3]];
    for words in LENGTHS {
        let mine: Vec<u64> = (0..words as u64).map(|at| at * ranks + me).collect();
        let expected: Vec<u64> =
            (0..words as u64).map(|at| at * ranks * ranks + ranks * (ranks - 1) / 2).collect();
        let call = |operation, input: &[u64], output: &mut [u64]| {
            let (input, output) = (bytemuck::cast_slice(input), bytemuck::cast_slice_mut(output));
            engine.collective(FlowId(3), shape(operation, words), Some(&sum()), input, output).unwrap();
        };
        let output = &mut output[..words];
        call(Operation::Allreduce, &mine, output);
        assert_eq!(output, expected);
        for root in 0..ranks {
            let at = Root::At(root as u32);
            output.fill(0);
            call(Operation::Reduce(at), &mine, output);
            assert!(me != root || *output == expected, "{words} words to {root}");
            if me == root {
                output.copy_from_slice(&mine);
            }
            call(Operation::Broadcast(at), &[], output);
            assert!((0..words as u64).all(|n| output[n as usize] == n * ranks + root), "{words} from {root}");
        }
    }
}

#[test]
fn slices_come_together_on_one_host_and_on_several() {
    for hosts in [&[3][..], &[4], &[5], &[1, 1, 1], &[2, 1, 2]] {
        job(hosts, "slices", check);
    }
}

#[test]
fn ranks_of_several_hosts_publish_nothing_for_each_other() {
    // With a rank on each host there is one level, as on one host.
    for hosts in [&[1, 1][..], &[1, 1, 1], &[2, 1]] {
        job(hosts, "shared-buffer", check);
    }
}
