//! Channels between processes, under the launcher.

mod launch;

#[test]
fn channels_carry_items_lists_and_regions() {
    launch::succeed(&["-n", "2"], "channel_check", &[]);
    launch::succeed(&["-n", "2", "--env", "CANELE_EAGER_BYTES=64"], "channel_check", &[]);
}
