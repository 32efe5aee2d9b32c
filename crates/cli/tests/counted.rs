//! Reports on the counters of a running job's ranks.

mod support;

use serde_json::Value;
use support::ranks::start_job;
use support::{canele, kill, wait_until};

#[test]
fn counters_are_of_now_wherever_a_rank_comes_by_and_said_to_be_old_where_not() {
    // With `poll` a rank writes counters only when asked; with `sleep` rank 1 must also be woken.
    for wait in ["poll", "sleep"] {
        let job = start_job(&["-n", "4", "--wait", wait], &["counted"], &[]);
        let pid = job.run.pid().to_string();
        let ask = |more: &[&str]| canele(&[&["info", "--job", &pid, "--counters"], more].concat());
        let found = |rank: &Value| {
            let count = |name: &str| rank["counters"][name].as_u64();
            (rank["current"].as_bool(), count("short_sent"), count("short_received"))
        };
        let expected = |ranks: &Value| {
            found(&ranks[0]) == (Some(true), Some(5), Some(0))
                && found(&ranks[1]) == (Some(true), Some(0), Some(10))
                && ranks[2]["current"] == false
                && found(&ranks[3]) == (Some(true), Some(2), Some(0))
        };
        let all_known = || {
            let answer = ask(&["--json"]).out;
            serde_json::from_str(&answer).is_ok_and(|report: Value| expected(&report["ranks"]))
        };
        wait_until("the counters of all that come by", all_known);
        wait_until("a table in which only rank 2 is said to be old", || {
            let table = ask(&[]).out;
            let old = |line: &&str| line.contains("as it last gave them");
            let rows: Vec<_> = table.lines().filter(old).collect();
            matches!(rows[..], [row] if row.trim_start().starts_with("2 "))
        });
        kill("TERM", job.run.pid());
        assert_eq!(job.end().code(), Some(143));
    }
}
