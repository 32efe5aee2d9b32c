//! Tests that the table is consistent with itself, and that errors have name, value and range.

use super::*;
use std::os::unix::ffi::OsStrExt;

fn with(variable: &str, value: &str) -> Result<Tunables, TunableError> {
    Tunables::from_pairs([(variable, value)])
}

fn refused(variable: &str, value: &str) -> String {
    with(variable, value).expect_err("must be refused").to_string()
}

#[test]
fn every_default_is_allowed_and_written_as_it_is_read() {
    let defaults = Tunables::default();
    let pairs = Tunables::table().map(|row| (row.variable(), row.default));
    assert_eq!(Tunables::from_pairs(pairs), Ok(defaults.clone()));
    for row in Tunables::table() {
        assert_eq!(defaults.value(row.name), Some(row.default.clone()), "{}", row.name);
        assert!(!row.doc.is_empty() && !row.doc.ends_with('.'), "{}", row.name);
    }
    assert_eq!(defaults.value("nothing"), None);
}

#[test]
fn what_ranks_must_have_alike_is_in_the_table() {
    let shared = with("CANELE_UNEXPECTED_BYTES", "5000").unwrap().shared();
    assert_eq!(shared.len(), SHARED.len());
    assert!(shared.contains(&("CANELE_UNEXPECTED_BYTES".into(), "5000".into())));
    assert!(shared.contains(&("CANELE_RING_CELLS".into(), "256".into())));
}

#[test]
fn what_the_launcher_or_a_running_rank_looks_at_is_in_the_table() {
    let rows: Vec<_> = Tunables::table().collect();
    let named = |settable| rows.iter().filter(|row| row.settable() == settable).count();
    assert_eq!(named(Settable::Never), OF_LAUNCHER.len());
    assert_eq!(named(Settable::Always), CHANGEABLE.len());
    // A rank cannot change by itself a setting that all must have alike.
    assert!(rows.iter().filter(|row| row.is_shared()).all(|row| row.settable() == Settable::BeforeStart));
    assert_eq!(rows.iter().filter(|row| row.is_shared()).count(), SHARED.len());
}

#[test]
fn names_differ_from_each_other_and_from_the_launchers_and_the_compilers() {
    let mut names: Vec<_> = Tunables::table().map(|row| row.variable()).collect();
    names.extend(LAUNCHER_VARIABLES.map(str::to_owned));
    names.extend(COMPILER_VARIABLES.map(str::to_owned));
    let others = LAUNCHER_VARIABLES.into_iter().chain(COMPILER_VARIABLES).map(|name| (name, "clang"));
    assert_eq!(Tunables::from_pairs(others), Ok(Tunables::default()));
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn values_are_taken() {
    let pairs = [
        ("CANELE_WAIT", "sleep"),
        ("CANELE_EAGER_BYTES", "4K"),
        ("CANELE_YIELDS", "0"),
        ("CANELE_PROGRESS_THREAD", "1"),
        ("CANELE_RANK", "not our business"),
        ("PATH", "/bin"),
        ("CANELERRATE", "another program's"),
    ];
    let expected = Tunables {
        wait: Wait::Sleep,
        eager_bytes: 4096,
        yields: 0,
        progress_thread: true,
        ..Tunables::default()
    };
    assert_eq!(Tunables::from_pairs(pairs), Ok(expected));
}

#[test]
fn ranges_include_their_ends() {
    for (value, allowed) in [("63", false), ("64", true), ("65536", true), ("131072", false), ("100", false)]
    {
        assert_eq!(with("CANELE_RING_CELLS", value).is_ok(), allowed, "{value}");
    }
    for (value, allowed) in [("0", true), ("1M", true), ("1048577", false)] {
        assert_eq!(with("CANELE_EAGER_BYTES", value).is_ok(), allowed, "{value}");
    }
}

#[test]
fn mistakes_in_values_are_told() {
    assert_eq!(
        refused("CANELE_EAGER_BYTES", "2M"),
        "CANELE_EAGER_BYTES=2M is not allowed: it must be 0 to 1048576 bytes"
    );
    assert_eq!(
        refused("CANELE_RING_CELLS", "100"),
        "CANELE_RING_CELLS=100 is not allowed: it must be a power of two from 64 to 65536 cells"
    );
    assert_eq!(
        refused("CANELE_WAIT", "Poll"),
        "CANELE_WAIT=Poll is not allowed: it must be adaptive or poll or sleep"
    );
    assert_eq!(
        refused("CANELE_PROGRESS_THREAD", ""),
        "CANELE_PROGRESS_THREAD= is not allowed: it must be 0 or 1"
    );
}

#[test]
fn mistakes_in_names_are_told() {
    assert_eq!(
        refused("CANELE_EAGER_BYTE", "1"),
        "the environment variable CANELE_EAGER_BYTE is unknown; did you mean CANELE_EAGER_BYTES?"
    );
    assert_eq!(
        refused("CANELE_RANKS", "1"),
        "the environment variable CANELE_RANKS is unknown; did you mean CANELE_RANK?"
    );
    assert_eq!(
        refused("CANELE_FLAVOUR_OF_RUM", "1"),
        "the environment variable CANELE_FLAVOUR_OF_RUM is unknown; `canele info --tunables` lists those that are known"
    );
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let value = OsStr::from_bytes(b"po\xffll");
    assert!(Tunables::from_pairs([(OsStr::new("CANELE_WAIT"), value)]).is_err());
}
