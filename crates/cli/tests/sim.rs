//! `canele sim campaign` runs seeds of real programs on every preset, from the command line.

use std::process::Command;

fn canele(line: &str) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_canele"))
        .args(line.split_whitespace())
        .output()
        .expect("the command can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn seeds_are_well_on_every_preset_and_on_two_rails() {
    for net in [
        "hsl",
        "myrinet-bip",
        "sci-deck",
        "ethernet",
        "ethernet --net ethernet --faults losses",
        "ethernet --faults packets",
    ] {
        let (status, out, err) = canele(&format!("sim campaign --seeds 0..12 --net {net}"));
        assert_eq!(status, Some(0), "{net}: {err}");
        assert!(out.starts_with("12 seeds:"), "{out}");
    }
}

#[test]
fn wrong_usage_says_what_there_is() {
    let (status, _, err) = canele("sim campaign --seeds 0..12 --net token-ring");
    assert_eq!(status, Some(2));
    assert!(err.contains("canele: ") && err.contains("myrinet-bip"), "{err}");
    let (status, _, err) = canele("sim campaign --seeds 0..12 --faults deaths,packets");
    assert_eq!(status, Some(2));
    assert!(err.contains("one of the two"), "{err}");
}
