//! The library in jobs of several ranks (`examples/dsm_check`): random programs compared with a model of one
//! memory, misuse, ranks that send nonsense, ranks that die.

#[path = "../../../crates/canele/tests/launch/mod.rs"]
mod launch;

use std::process::Output;

/// Runs the example, which cargo builds with this test.
fn run(options: &[&str], arguments: &[&str]) -> Output {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples").join("dsm_check");
    launch::program(options, &program, arguments)
}

/// Returns the output of a job, and checks that it succeeded.
fn printed(ranks: &str, arguments: &[&str]) -> String {
    let ended = run(&["-n", ranks], arguments);
    let (out, errors) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{ranks} ranks, {arguments:?}: {}\n{out}{errors}", ended.status);
    out.into_owned()
}

#[test]
fn random_programs_read_what_one_memory_has() {
    for (ranks, seed, count) in
        [("1", "100", "40"), ("2", "200", "40"), ("4", "300", "40"), ("5", "400", "25")]
    {
        printed(ranks, &["random", seed, count]);
    }
}

#[test]
fn random_programs_need_no_particular_strategy() {
    for strategy in ["fifo", "split", "priority"] {
        let strategy = format!("CANELE_STRATEGY={strategy}");
        let ended = run(&["-n", "3", "--env", &strategy], &["random", "500", "15"]);
        assert!(ended.status.success(), "{strategy}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}

#[test]
fn misuse_is_refused_in_words() {
    for ranks in ["1", "2"] {
        let out = printed(ranks, &["misuse"]);
        for why in [
            "the mapping has no page 4: its pages are numbered from 0 to 3",
            "the mapping has no page 9",
            "pages 5 to 7 (exclusive) cannot be mapped: the address space has 6 pages",
            "items of 7 bytes, aligned to 1, do not divide a page of 80 bytes",
            "page 1 is not held for writing: call write before write_back",
        ] {
            assert!(out.contains(why), "{why:?} in {out}");
        }
    }
    let out = printed("3", &["differ"]);
    assert_eq!(out.matches("different settings (number of pages; here ").count(), 3, "{out}");
}

#[test]
fn a_circle_of_waiting_clients_is_refused() {
    let out = printed("3", &["held"]);
    assert!(
        out.contains("page 2 is held for writing by rank 1, and waiting for it while holding page 4"),
        "{out}"
    );
}

#[test]
fn a_server_believes_nothing_of_a_client() {
    for (kind, why) in [
        ("name", "rank 1 sent what the protocol of pages does not allow: a request in the name of rank 0"),
        ("access", "rank 1 sent what the protocol of pages does not allow: an access type of 77"),
        ("long", "a message of 8 bytes from rank 1"),
        ("short", "1 bytes as the client's id, of 4 bytes"),
        ("not-held", "page 1 back, which it does not hold"),
        ("beyond", "page 4294967295 back, which it does not hold"),
        ("page", "72 bytes as page 1, of 80 bytes"),
        ("twice", "two requests to write page 1"),
    ] {
        let out = printed("2", &["client", kind]);
        assert!(out.contains(why), "{kind}: {why:?} in {out}");
    }
}

#[test]
fn a_client_believes_nothing_of_a_server() {
    for (ranks, kind, why) in [
        (
            "2",
            "number",
            "rank 0 sent what the protocol of pages does not allow: an answer about page 2, unasked",
        ),
        ("2", "found", "`found?` is 7 for page 1"),
        ("2", "page", "24 bytes as page 1, of 80 bytes"),
        ("2", "nowhere", "no server has page 1: all 1 were asked (rank 0 to 0)"),
        ("4", "nowhere", "no server has page 1: all 3 were asked (rank 0 to 2)"),
    ] {
        let out = printed(ranks, &["server", kind]);
        assert!(out.contains(why), "{kind}: {why:?} in {out}");
    }
}

#[test]
fn the_others_end_when_a_rank_dies() {
    for (who, dead, others) in
        [("client", "rank 2", ["rank 0", "rank 1"]), ("server", "rank 0", ["rank 1", "rank 2"])]
    {
        let ended = run(&["-n", "3", "--on-failure", "continue"], &["death", who]);
        let (out, errors) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
        assert_ne!(ended.status.code(), Some(124), "{who}: it hangs\n{out}{errors}");
        for other in others {
            assert!(out.contains(&format!("told: {other}: communication failed: ")), "{who}: {out}{errors}");
        }
        assert!(out.contains(&format!("{dead} is gone")), "{who}: {out}{errors}");
    }
}
