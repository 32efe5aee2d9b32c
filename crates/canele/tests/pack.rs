//! Packed messages between processes, under the launcher, with every strategy.

mod launch;

#[test]
fn packed_messages_arrive_whole() {
    for strategy in ["aggregate", "fifo", "priority", "split"] {
        let strategy = format!("CANELE_STRATEGY={strategy}");
        launch::succeed(&["-n", "2", "--env", &strategy], "pack_check", &[]);
    }
}
