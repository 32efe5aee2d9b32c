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
