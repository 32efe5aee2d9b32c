use super::super::recorded::{Access, RankTrace, Slice, SliceKind, TracedMessage};
use super::*;

fn slice(kind: SliceKind, name: &str, start: f64, end: f64) -> Slice {
    Slice {
        kind,
        name: name.into(),
        thread: 1,
        start,
        end,
        peer: None,
        flow: None,
        site: Some("main (a.c:7)".into()),
    }
}

fn trace() -> Trace {
    let slices = vec![
        slice(SliceKind::Call, "MPI_Recv </script>", 1.5, 9.0),
        slice(SliceKind::Wait, "wait", 2.0, 8.25),
        slice(SliceKind::Collective, "barrier", 5000.0, 123_456_789.125),
    ];
    let accesses = vec![Access { at: 3.0, thread: 1, name: "put".into(), peer: 0, bytes: 8 }];
    let rank = RankTrace { slices, accesses, host: "h".into(), ..RankTrace::default() };
    let message = |from, to, sent_at, received_at| TracedMessage {
        from,
        to,
        sent_at,
        received_at,
        bytes: 1 << 40,
        ..TracedMessage::default()
    };
    Trace {
        command: "/*EVENTS*/ x".into(),
        ranks: [(3, rank), (4, RankTrace::default())].into(),
        messages: [(1, message(3, 4, 7.0, 6.5)), (2, message(4, 3, 2.0, 200.0))].into(),
        ..Trace::default()
    }
}

/// Returns the numbers of events as decode.js reads them.
fn numbers(base64: &str) -> Vec<u64> {
    let digit = |digit: u8| match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("{} is no digit", digit as char),
    };
    let bits = base64.trim_end_matches('=').bytes().map(|byte| u32::from(digit(byte)));
    let (mut word, mut count, mut bytes) = (0u32, 0, Vec::new());
    for bits in bits {
        (word, count) = (word << 6 | bits, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((word >> count) as u8);
        }
    }
    let (mut numbers, mut number, mut shift) = (Vec::new(), 0u64, 0);
    for byte in bytes {
        number |= u64::from(byte & 127) << shift;
        shift += 7;
        if byte < 128 {
            numbers.push(std::mem::take(&mut number));
            shift = 0;
        }
    }
    numbers
}

fn between<'p>(page: &'p str, before: &str, after: &str) -> &'p str {
    page.split_once(before).unwrap().1.split_once(after).unwrap().0
}

#[test]
fn the_events_of_a_page_are_those_of_the_trace() {
    let trace = trace();
    let page = page(&trace, &Summary::of(&trace));
    let events = numbers(between(&page, "id=\"events\">", "</script>"));
    let slices = [
        [1_500, 7_500, 0, 1],
        [500, 6_250, 2 + 4, 1],
        [1_000, 0, 3 + 4 * 3, 0],
        [4_997_000, 123_451_789_125, 1 + 4 * 2, 1],
    ];
    let messages = [[2_000, 396_000, 4, 3, 1 << 40], [5_000, 999, 3, 4, 1 << 40]];
    let expected = [&[1, 3, 1, 4], slices.as_flattened(), &[2], messages.as_flattened()].concat();
    assert_eq!(events, expected);
    let summary: serde_json::Value =
        serde_json::from_str(between(&page, "id=\"summary\">", "</script>")).unwrap();
    let names: Vec<_> =
        summary["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert_eq!(names, ["MPI_Recv </script>", "wait", "barrier", "put"]);
    assert_eq!(summary["sites"][0], "main (a.c:7)");
    assert_eq!(summary["command"], "/*EVENTS*/ x");
}

#[test]
fn times_beyond_all_numbers_give_no_panic() {
    let mut trace = trace();
    for (number, (sent_at, received_at)) in [(3, (0.0, 1e17)), (4, (1e17, 0.0))] {
        let ends = trace.messages[&1];
        trace.messages.insert(number, TracedMessage { sent_at, received_at, ..ends });
    }
    page(&trace, &Summary::of(&trace));
}

#[test]
fn a_page_loads_nothing_and_no_name_ends_its_scripts() {
    let trace = trace();
    let page = page(&trace, &Summary::of(&trace));
    for outside in ["http:", "https:", "src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let count = |text: &str| page.matches(text).count();
    assert_eq!((count("<script"), count("</script>")), (3, 3));
    for open in ["html", "head", "body", "style", "div", "section", "table", "ul", "p", "h2"] {
        let (opened, closed) =
            (count(&format!("<{open}>")) + count(&format!("<{open} ")), count(&format!("</{open}>")));
        assert_eq!(opened, closed, "{open}");
    }
    assert_eq!(count("/*SCRIPT*/") + count("/*SUMMARY*/") + count("/*DECODE*/") + count("/*STYLE*/"), 0);
}

#[test]
fn base64_is_padded() {
    let text = ["", "f", "fo", "foo", "foob"].map(|text| encode::base64(text.as_bytes()));
    assert_eq!(text, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
}
