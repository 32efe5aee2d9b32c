//! Both forms in a job of three ranks.

#[path = "../../../crates/canele/tests/launch/mod.rs"]
mod launch;

use std::path::PathBuf;
use std::process::Output;

/// Returns the path of the example, which cargo builds with this test.
fn both() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("examples").join("both")
}

fn job(ranks: &str) -> Output {
    launch::program(&["-n", ranks], &both(), &[])
}

#[test]
fn both_forms_have_the_same_samples_digits_and_decisions() {
    let ended = job("3");
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{errors}");
    assert_eq!(String::from_utf8_lossy(&ended.stdout), "both forms agree\n");
}

#[test]
fn another_number_of_ranks_is_refused_with_what_to_do() {
    for ranks in ["1", "2"] {
        let ended = job(ranks);
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success());
        assert!(
            errors.contains(&format!("the job has {ranks}: start it with `canele run -n 3`")),
            "{errors}"
        );
    }
}
