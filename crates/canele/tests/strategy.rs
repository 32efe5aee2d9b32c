//! A strategy that the program implements, under the launcher.

mod launch;

#[test]
fn a_program_uses_a_policy_of_its_own() {
    let out = launch::succeed(&["-n", "2"], "own_strategy", &[]);
    assert_eq!(out, "50 large and 50 urgent messages came as they were sent\n");
}
