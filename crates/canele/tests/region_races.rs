//! Threads that write and read a region at the same time: a read may give a mixture, but never a byte that no
//! thread wrote.

use canele::Job;
use std::thread;

const TURNS: usize = 20_000;
/// Lengths that take different paths: a word, two overlapping ones, a cell's bytes, a long copy.
const LENGTHS: [usize; 6] = [1, 8, 13, 48, 200, 4096];

#[test]
fn each_byte_that_is_read_was_written_by_some_thread() {
    let job = Job::start().unwrap();
    let region = job.endpoint().region(8192).unwrap();
    for length in LENGTHS {
        for offset in [0, 3] {
            region.write(offset, &vec![1u8; length]).unwrap();
            thread::scope(|scope| {
                let write = |value: u8| {
                    let bytes = vec![value; length];
                    (0..TURNS).for_each(|_| region.write(offset, &bytes).unwrap());
                };
                scope.spawn(move || write(1));
                scope.spawn(move || write(2));
                for _ in 0..TURNS {
                    let mut seen = vec![0u8; length];
                    region.read(offset, &mut seen).unwrap();
                    assert!(seen.iter().all(|byte| [1, 2].contains(byte)), "{seen:?}");
                }
            });
        }
    }
}
