//! Measures packing and unpacking of strided blocks, beside a plain copy of as many bytes.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use canele_mem::buffer::{RawMut, Readable};
use canele_mem::layout::Layout;
use canele_mem::window::Window;

const BYTES: usize = 1 << 20;

/// Returns the rate of one run in GB/s, the best of many.
fn rate(mut run: impl FnMut()) -> f64 {
    let best = (0..200).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    });
    BYTES as f64 / best.fold(f64::INFINITY, f64::min) / 1e9
}

fn main() {
    let (mut memory, mut packed) = (vec![1u8; 4 * BYTES], vec![2u8; BYTES]);
    // SAFETY: the memory outlives the value and is touched only through it while it is used.
    let mut raw = unsafe { RawMut::new(memory.as_mut_ptr(), 0, 4 * BYTES as isize) };
    let plain = rate(|| packed.copy_from_slice(black_box(raw.bytes(0, BYTES))));
    println!("plain copy      {plain:6.1} GB/s");
    for block in [4, 8, 16, 20, 64, 256] {
        let count = BYTES / block;
        let vector = Layout::block(block).repeated(count, 2 * block as isize).unwrap();
        let used = count * block;
        let pack = rate(|| vector.pack(black_box(&raw), 1, 0, &mut packed[..used]));
        let unpack = rate(|| vector.unpack(black_box(&mut raw), 1, 0, &packed[..used]));
        let vector = Arc::new(vector);
        // SAFETY: as above; only this loop touches the memory.
        let lent = |memory: &mut Vec<u8>| unsafe { RawMut::new(memory.as_mut_ptr(), 0, 4 * BYTES as isize) };
        let out = vector.lend(lent(&mut memory).into_raw(), 1);
        let fill = rate(|| out.copy_to(0, Window::on(&mut packed[..used])));
        let mut room = vector.lend_mut(lent(&mut memory), 1);
        let drain = rate(|| room.copy_from(0, Window::on(&mut packed[..used])));
        println!(
            "blocks of {block:4}  {pack:6.1} GB/s packed {unpack:6.1} unpacked, {fill:6.1} into a window {drain:6.1} out of one"
        );
    }
    let pair = [Layout::block(4), Layout::block(8).shifted(8).unwrap()];
    let pair = Layout::sequence(pair).unwrap().with_extent(16);
    let (count, used) = (BYTES / 12, BYTES / 12 * 12);
    let pack = rate(|| pair.pack(black_box(&raw), count, 0, &mut packed[..used]));
    println!("int and double  {pack:6.1} GB/s packed");
}
