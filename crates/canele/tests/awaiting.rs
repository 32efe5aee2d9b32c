//! Requests that are awaited.

mod launch;

#[test]
fn tasks_of_an_executor_wait_for_messages_beside_timers() {
    for wait in ["adaptive", "sleep", "poll"] {
        let out = launch::succeed(&["-n", "3", "--wait", wait], "tokio", &[]);
        assert_eq!(out, "2 ranks answered, the timer went on 20 times\n", "--wait {wait}");
    }
}
