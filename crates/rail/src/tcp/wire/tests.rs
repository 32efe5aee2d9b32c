use proptest::prelude::*;

use super::*;

const MAX_BULK: usize = 4096;

fn frame(header: Header, bulk: u32, number: u32, ack: u32) -> Vec<u8> {
    let mut head = [0; HEAD];
    write_packet(&mut head, header, bulk, number, ack);
    let mut bytes = head.to_vec();
    bytes.resize(HEAD + beside(header.inline_len as usize, bulk as usize) + bulk as usize, 0xaa);
    bytes
}

#[test]
fn golden_bytes() {
    let header =
        Header { kind: 7, inline_len: 2, flow: 0x0102_0304, tag: 0x1112_1314, sequence: 0x2122_2324 };
    let bytes = frame(header, 3, 0x3132_3334, 0x4142_4344);
    let mut golden = vec![
        3, 0, 0, 0, 7, 2, 1, 3, 4, 3, 2, 1, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21, 0x34, 0x33, 0x32,
        0x31, 0x44, 0x43, 0x42, 0x41,
    ];
    golden.extend([0xaa; 40 + 3]);
    assert_eq!(bytes, golden);
    let view = View::new(&bytes, MAX_BULK).unwrap().unwrap();
    assert_eq!((view.header(), view.bulk_len()), (header, 3));
    assert_eq!((view.before_bulk(), view.frame_len()), (68, 71));
    assert_eq!((view.number(), view.ack(), view.is_ack()), (0x3132_3334, 0x4142_4344, false));
}

#[test]
fn golden_bytes_of_an_acknowledgement() {
    let bytes = ack_frame(0x4142_4344);
    let mut golden = [0; HEAD];
    golden[6..8].copy_from_slice(&[2, 3]);
    golden[24..].copy_from_slice(&[0x44, 0x43, 0x42, 0x41]);
    assert_eq!(bytes, golden);
    let view = View::new(&bytes, MAX_BULK).unwrap().unwrap();
    assert!(view.is_ack() && !view.is_last());
    assert_eq!((view.ack(), view.frame_len()), (0x4142_4344, HEAD));
    golden[6] = 4;
    let bytes = last_frame(0x4142_4344);
    assert_eq!(bytes, golden);
    let view = View::new(&bytes, MAX_BULK).unwrap().unwrap();
    assert!(view.is_ack() && view.is_last());
}

#[test]
fn impossible_frames_are_corrupt() {
    let good = frame(Header { inline_len: 40, ..Header::default() }, 10, 0, 0);
    let with = |place: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[place] = byte;
        View::new(&bytes, MAX_BULK).err().map(|e| e.to_string())
    };
    assert_eq!(with(0, 9), None);
    assert!(with(INLINE, 41).unwrap().contains("41 bytes beside"));
    assert!(with(3, 1).unwrap().contains("16777226 of bulk"), "too long, and refused before it has come");
    assert!(with(SORT, 0).unwrap().contains("sort 0"));
    assert!(with(SORT, 2).is_some(), "an acknowledgement carries nothing");
    assert!(with(SORT, 3).is_none() && with(SORT, 5).is_some());
    assert!(with(SORT, 4).is_some(), "nor does a last frame");
    assert!(with(LAYOUT, 1).unwrap().contains("version 1"));
    let alone = |inline_len| frame(Header { inline_len, ..Header::default() }, 0, 0, 0);
    assert!(View::new(&alone(48), MAX_BULK).is_ok() && View::new(&alone(49), MAX_BULK).is_err());
    let bulk = |len| frame(Header::default(), len, 0, 0);
    assert!(View::new(&bulk(4096), MAX_BULK).is_ok() && View::new(&bulk(4097), MAX_BULK).is_err());
}

proptest! {
    #[test]
    fn a_frame_is_known_from_its_head_on(
        kind: u8, flow: u32, tag: u32, sequence: u32, number: u32, ack: u32,
        bulk in 0u32..200, inline_len in 0u8..=40,
    ) {
        let header = Header { kind, inline_len, flow, tag, sequence };
        let bytes = frame(header, bulk, number, ack);
        for len in 0..HEAD {
            prop_assert!(View::new(&bytes[..len], MAX_BULK).unwrap().is_none());
        }
        let view = View::new(&bytes[..HEAD], MAX_BULK).unwrap().unwrap();
        prop_assert_eq!((view.header(), view.number(), view.ack()), (header, number, ack));
        prop_assert_eq!(view.frame_len(), bytes.len());
    }

    #[test]
    fn any_bytes_are_a_bounded_frame_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        if let Ok(Some(view)) = View::new(&bytes, MAX_BULK) {
            prop_assert!(view.frame_len() <= HEAD + MAX_INLINE + MAX_BULK && view.bulk_len() <= MAX_BULK);
            prop_assert!(view.header().inline_len as usize <= MAX_INLINE);
        }
    }
}
