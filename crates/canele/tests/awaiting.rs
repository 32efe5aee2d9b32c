//! Requests that are awaited.

mod launch;

#[test]
fn tasks_of_an_executor_wait_for_messages_beside_timers() {
    for wait in ["adaptive", "sleep", "poll"] {
        for lanes in ["1", "2", "3"] {
            let out = launch::succeed(
                &["-n", "3", "--wait", wait, "--env", &format!("CANELE_LANES={lanes}")],
                "tokio",
                &[],
            );
            let answered = "2 ranks answered, the timer went on 20 times\n";
            assert_eq!(out, answered.repeat(2), "--wait {wait}, {lanes} lanes");
        }
    }
}
