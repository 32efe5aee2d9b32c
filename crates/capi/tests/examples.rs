//! The examples in C11 and C++17, on one to four ranks.

mod support;

use support::{compile, compiled, compiled_as, folder, library, name, printed, sources, text};

/// Returns the sorted lines that an example prints on so many ranks, or none if they differ from run to run.
fn expected(example: &str, ranks: u32) -> Option<Vec<String>> {
    let all = 0..ranks;
    Some(match example {
        "hello" => {
            let sum: u32 = all.clone().sum();
            let previous = |rank| (rank + ranks - 1) % ranks;
            let line = |rank| {
                let previous = previous(rank);
                format!("rank {rank} of {ranks}: greeted by rank {previous}, and all numbers add up to {sum}")
            };
            all.map(line).collect()
        }
        "ring" => all.map(|rank| format!("rank {rank}: the token is back")).collect(),
        "put" => vec![format!("the table's sum is {}", 50 * ranks * (ranks + 1))],
        "channel" => {
            let previous = |rank| (rank + ranks - 1) % ranks;
            let line =
                |rank| format!("rank {rank}: 3 numbers of rank {0}, the first is {0}.5", previous(rank));
            all.map(line).collect()
        }
        "mailbox" => {
            let posters = if ranks == 1 { 0..1 } else { 1..ranks };
            posters.map(|rank| format!("rank {rank}: sum {}.50", 3 * rank + 1)).collect()
        }
        "collectives" => all.map(|rank| format!("rank {rank}: all as it should be")).collect(),
        _ => return None,
    })
}

/// The numbers of ranks that an example is run with.
fn ranks(example: &str) -> std::ops::RangeInclusive<u32> {
    if example == "pingpong" { 2..=2 } else { 1..=4 }
}

#[test]
fn every_example_does_what_it_says() {
    let examples = sources("examples");
    assert_eq!(examples.len(), 7, "{examples:?}");
    for source in &examples {
        let (example, program) = (name(source), compiled(source));
        for ranks in ranks(&example) {
            let arguments: &[&str] = if example == "pingpong" { &["8", "100"] } else { &[] };
            let lines = printed(ranks, &program, arguments);
            match expected(&example, ranks) {
                Some(expected) => assert_eq!(lines, expected, "{example} on {ranks} ranks"),
                None => assert_eq!(lines.len(), 1, "{example}: {lines:?}"),
            }
        }
    }
}

#[test]
fn every_example_is_a_program_in_cpp_too() {
    for source in sources("examples") {
        for compiler in ["g++", "clang++"] {
            let program = library().join(format!("{}-{compiler}", name(&source)));
            let Some(output) = compile(&[compiler, "-std=c++17", "-xc++"], &source, &program) else {
                continue;
            };
            assert!(output.status.success(), "{compiler} {}: {}", source.display(), text(&output));
            if compiler == "g++" && name(&source) != "pingpong" {
                printed(2, &program, &[]);
            }
        }
    }
}

#[test]
fn ping_pong_refuses_other_numbers_of_ranks() {
    let program = compiled_as(&folder("examples/pingpong.c"), "pingpong-on-three");
    let output = support::run(&["-n", "3"], &program, &["8", "1"]);
    assert!(!output.status.success() && text(&output).contains("two ranks"), "{}", text(&output));
}
