//! The program alone and as a job, with good and bad input.

#[path = "../../../crates/canele/tests/launch/mod.rs"]
mod launch;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_gauss");

fn file(name: &str, content: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gauss");
    std::fs::create_dir_all(&folder).unwrap();
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.display().to_string()
}

fn job(ranks: usize, arguments: &[&str]) -> Output {
    launch::program(&["-n", &ranks.to_string()], Path::new(PROGRAM), arguments)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the solution and digits that a run prints, without times.
fn result(ended: &Output) -> Vec<String> {
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    let of_result = |line: &&str| line.starts_with("x[") || line.starts_with("digits");
    text(&ended.stdout).lines().filter(of_result).map(str::to_owned).collect()
}

#[test]
fn both_forms_print_the_same_solution() {
    for arguments in [
        &["--size", "40"][..],
        &["--size", "25", "--pivoting", "none", "--seed", "7"],
        &["--size", "10", "--pivoting", "complete"],
        &["--matrix", "hilbert", "--size", "7", "--show", "7"],
    ] {
        let alone = Command::new(PROGRAM).args(arguments).output().unwrap();
        let expected = result(&alone);
        assert!(expected[0].starts_with("x[0] = "), "{expected:?}");
        assert_eq!(result(&job(3, arguments)), expected, "{arguments:?}");
        assert_eq!(result(&job(3, &[arguments, &["--sequential"]].concat())), expected, "{arguments:?}");
    }
}

#[test]
fn the_search_for_pivots_is_what_communicates() {
    let exchanges = |pivoting: &str| {
        let ended = job(3, &["--size", "30", "--pivoting", pivoting, "--quiet"]);
        let out = text(&ended.stdout);
        let line = out.lines().find(|line| line.starts_with("exchanges")).unwrap_or_else(|| panic!("{out}"));
        let count = line.split_whitespace().nth(1).unwrap();
        count.replace(',', "").parse::<usize>().unwrap()
    };
    // A test of each pivot; for each candidate an absolute value, and a test against the largest.
    assert_eq!(exchanges("none"), 30);
    assert_eq!(exchanges("partial"), 30 * 31);
    assert_eq!(exchanges("complete"), 2 * (30 * 31 * 61 / 6));
}

#[test]
fn a_log_names_the_places() {
    let log = file("log.txt", "");
    for ranks in [1, 3] {
        let ended = job(ranks, &["--matrix", "hilbert", "--size", "14", "--log", &log, "--quiet"]);
        // The last pivot is a computed zero; the log is still written.
        assert_eq!(ended.status.code(), Some(2), "{}", text(&ended.stderr));
        let written = std::fs::read_to_string(&log).unwrap();
        assert!(written.contains("unstable test\tpapers/gauss/src/eliminate.rs:"), "{written}");
        let nearly =
            file("nearly.mtx", "%%MatrixMarket matrix array real general\n2 2\n3\n1\n1\n0.33333333333\n");
        result(&job(ranks, &["--matrix", &nearly, "--log", &log, "--quiet"]));
        let written = std::fs::read_to_string(&log).unwrap();
        // Operations of the parallel form do not know the other samples.
        assert_eq!(written.contains("cancellation\tpapers/gauss/src/eliminate.rs:"), ranks == 1, "{written}");
    }
}

#[test]
fn what_was_measured_is_one_json_object() {
    for (ranks, form, exchanges) in [(1, "sequential", 0), (3, "parallel", 20 * 21)] {
        let ended = job(ranks, &["--size", "20", "--json", "--quiet", "--show", "2"]);
        let found: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!((&found["program"], &found["ranks"]), (&"gauss".into(), &ranks.into()));
        assert_eq!((&found["form"], &found["pivoting"]), (&form.into(), &"partial".into()));
        assert_eq!(found["exchanges"], exchanges, "{found}");
        assert_eq!(found["solution"].as_array().unwrap().len(), 2);
        let share = found["communication"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&share) && (share > 0.0) == (ranks > 1), "{found}");
    }
}

/// Checks that a job ends with status 2 and gives the reason once.
fn refused(ranks: usize, arguments: &[&str], why: &str) {
    let ended = job(ranks, arguments);
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert_eq!(said.matches(why).count(), 1, "{said}");
    assert_eq!(text(&ended.stdout), "");
}

#[test]
fn bad_input_is_explained_once() {
    refused(2, &[], "the job has 2 ranks: start 3");
    let singular = file("singular.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n2\n4\n");
    let zero = file("zero.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1\n2 1 1\n");
    let broken = file("broken.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\nnan\n2\n4\n");
    for ranks in [1, 3] {
        refused(
            ranks,
            &["--matrix", &singular, "--quiet"],
            "no pivot in step 2 of 2 has a significant digit",
        );
        refused(ranks, &["--matrix", &zero, "--pivoting", "none", "--quiet"], "try --pivoting partial");
        refused(ranks, &["--matrix", &broken], "broken.mtx, line 4: `nan` is not a finite number");
        refused(ranks, &["--matrix", "no/such.mtx"], "cannot read no/such.mtx");
        assert!(result(&job(ranks, &["--matrix", &zero, "--quiet"])).len() == 3);
    }
    refused(3, &["--pivots", "x"], "unexpected argument '--pivots'");
}
