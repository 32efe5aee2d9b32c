//! Ranks that a test starts in its own program.

mod launch;

use std::panic::catch_unwind;
use std::time::Duration;

use canele::testing::{Ranks, ranks};
use canele::{Op, Rank, Tag};

/// Builds the command in the folder of this program, where it is searched.
fn with_command() {
    if std::env::var_os("CANELE_RANK").is_none() {
        launch::command();
    }
}

/// Returns the text with which the test of the ranks fails.
fn failure(run: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = catch_unwind(run).expect_err("a rank fails");
    panic.downcast_ref::<String>().expect("a text").clone()
}

#[test]
fn ranks_are_a_job_and_a_test_may_start_several() {
    with_command();
    ranks(3, |job| {
        let mut sum = [0];
        job.world().allreduce(&[job.rank().0], &mut sum, Op::Sum)?;
        assert_eq!((job.size(), sum), (3, [3]));
        Ok(())
    });
    Ranks::new(2).variable("WORD", "there").run(|job| {
        let world = job.world();
        match job.rank() {
            Rank(0) => world.send(Rank(1), Tag(1), &[7])?,
            _ => {
                let mut number = [0];
                world.recv(Rank(0), Tag(1), &mut number)?;
                assert_eq!((number, std::env::var("WORD").as_deref()), ([7], Ok("there")));
            }
        }
        Ok(())
    });
}

fn in_a_function_of_its_own() {
    ranks(1, |_| Ok(()));
}

/// Such a test would test nothing.
#[test]
fn a_call_that_no_rank_comes_to_fails() {
    with_command();
    if std::env::var_os("CANELE_RANK").is_some() {
        return;
    }
    let text = failure(in_a_function_of_its_own);
    assert!(text.contains("no rank came"), "{text}");
}

#[test]
fn a_rank_that_panics_is_named_with_its_text() {
    with_command();
    let text = failure(|| {
        ranks(3, |job| {
            assert!(job.rank() != Rank(1), "not this one");
            job.world().barrier()?;
            Ok(())
        });
    });
    assert!(text.contains("[1] not this one"), "{text}");
    assert!(text.contains("rank 1 exited with status 101"), "{text}");
}

#[test]
fn a_rank_that_returns_an_error_is_named_with_it() {
    with_command();
    let text = failure(|| {
        ranks(2, |job| {
            let error = (job.rank() == Rank(0)).then_some("no luck");
            job.world().barrier()?;
            error.map_or(Ok(()), |error| Err(error.into()))
        });
    });
    assert!(text.contains("[0] Error: no luck") && text.contains("rank 0 exited with status 1"), "{text}");
}

#[test]
fn ranks_that_wait_for_ever_are_ended() {
    with_command();
    let text = failure(|| {
        Ranks::new(2).time_limit(Duration::from_secs(2)).run(|job| {
            if job.rank() == Rank(1) {
                job.world().recv(Rank(0), Tag(1), &mut [0])?;
            }
            std::thread::sleep(Duration::from_secs(3600));
            Ok(())
        });
    });
    assert!(text.contains("time limit") && text.contains("exit status: 124"), "{text}");
}
