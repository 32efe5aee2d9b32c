use canele_sys::ids::RegionId;

use super::*;

#[test]
fn lists_are_read_and_written_across_their_parts() {
    let (mut a, mut b, mut c) = ([0u8; 3], [0u8; 0], [0u8; 5]);
    scope(|s| {
        let mut buffer = s.lend_list_mut(vec![&mut a, &mut b, &mut c]);
        buffer.copy_from_slice(0, &[1, 2]);
        buffer.copy_from_slice(2, &[3, 4, 5, 6, 7, 8]);
        s.take_back_mut(buffer);
    });
    assert_eq!((a, c), ([1, 2, 3], [4, 5, 6, 7, 8]));
    let mut back = [0; 4];
    scope(|s| {
        let buffer = s.lend_list(&[&a, &b, &c]);
        buffer.copy_to_slice(2, &mut back);
        s.take_back(buffer);
    });
    assert_eq!(back, [3, 4, 5, 6]);
}

#[test]
#[should_panic(expected = "another lender")]
fn a_token_goes_back_only_to_its_lender() {
    let mut one = Owned::new(vec![1u8]);
    let mut two = Owned::new(vec![2u8]);
    let token = one.lend_out();
    let _other = two.lend_out();
    two.take_back_out(token);
}

#[test]
#[should_panic(expected = "still held")]
fn a_token_with_a_share_does_not_go_back() {
    let mut owned = Owned::new(vec![0u8; 4]);
    let mut token = owned.lend_out();
    let _share = token.share(1, 2);
    owned.take_back_out(token);
}

#[test]
fn a_share_is_a_part_across_parts() {
    let mut to = [0; 3];
    scope(|s| {
        let mut token = s.lend_list(&[&[1, 2], &[3, 4]]);
        let share = token.share(1, 3);
        assert!(token.is_shared() && share.len() == 3);
        share.copy_to(Window::on(&mut to));
        drop(share);
        assert!(!token.is_shared());
        s.take_back(token);
    });
    assert_eq!(to, [2, 3, 4]);
}

#[test]
fn an_owned_buffer_comes_back_with_what_was_written() {
    let mut owned = Owned::new(vec![0u32; 2]);
    let mut token = owned.lend_in();
    token.copy_from_slice(4, &7u32.to_ne_bytes());
    owned.take_back_in(token);
    assert_eq!(owned.into_items(), [0, 7]);
}

/// Returns a buffer in a region as long as a vector; the region is never freed.
fn of_region<B>(
    bytes: Vec<u8>,
    make: impl FnOnce(NonNull<u8>, usize, RegionAddress, Arc<dyn Any + Send + Sync>) -> B,
) -> B {
    let bytes = bytes.leak();
    let place = RegionAddress { region: RegionId { index: 0, generation: 0 }, offset: 0 };
    make(NonNull::from_mut(bytes).cast(), bytes.len(), place, Arc::new(()))
}

#[test]
fn buffers_and_shares_of_regions_go_past_the_caches_where_the_window_does() {
    let bytes: Vec<u8> = (0..1000u32).map(|n| (n * 7) as u8).collect();
    // SAFETY: the bytes are never freed, and touched only through the buffer from here on.
    let mut region = of_region(bytes.clone(), |a, b, c, d| unsafe { OutBuffer::of_region(a, b, c, d) });
    let (mut one, mut other) = (vec![0; 900], vec![0; 900]);
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    let before = crate::past_cache::COPIES.get();
    region.copy_to(50, Window::on(&mut one).past_cache());
    region.share(100, 900).copy_to(Window::on(&mut other).past_cache());
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
    assert_eq!(crate::past_cache::COPIES.get() - before, 2);
    assert!(one == bytes[50..950] && other == bytes[100..]);
}

#[test]
fn memory_of_a_device_is_named_and_never_copied() {
    let mut buffer = OutBuffer::of_made_up_device(3, 8);
    assert_eq!((buffer.memory(), buffer.len(), buffer.address()), (MemoryKind::Device(3), 8, None));
    let copies: [&dyn Fn(&mut OutBuffer); 3] = [
        &|buffer| buffer.copy_to_slice(0, &mut [0; 8]),
        &|buffer| buffer.copy_to(0, Window::on(&mut [0; 8])),
        &|buffer| drop(buffer.share(0, 8)),
    ];
    for copy in copies {
        let copied = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| copy(&mut buffer)));
        assert!(copied.is_err());
    }
    assert_eq!(
        scope(|s| {
            let host = s.lend(&[1]);
            let memory = host.memory();
            s.take_back(host);
            memory
        }),
        MemoryKind::Host
    );
}

#[test]
fn a_region_takes_a_window_that_is_read_from_its_end() {
    let mut bytes: Vec<u8> = (0..1000u32).map(|n| (n * 7) as u8).collect();
    let expected = bytes.clone();
    // SAFETY: as above.
    let mut region = of_region(vec![0; 1100], |a, b, c, d| unsafe { InBuffer::of_region(a, b, c, d) });
    region.copy_from(30, Window::on(&mut bytes).backwards());
    let mut back = vec![0; 1000];
    region.0.stretches(30, 1000, |address, at, n| {
        // SAFETY: the region has those bytes, which nothing else touches now.
        unsafe { std::ptr::copy_nonoverlapping(address, back[at..at + n].as_mut_ptr(), n) };
    });
    assert!(back == expected);
}
