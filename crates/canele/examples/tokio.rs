//! Messages awaited by tasks of tokio: rank 0 answers every other rank, while a timer goes on, in one thread.
//!
//! `canele run -n 3 target/debug/examples/tokio`

use std::time::Duration;

use canele::{Flow, Job, Rank, Tag};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const QUESTION: Tag = Tag(1);
const ANSWER: Tag = Tag(2);
const ROUNDS: u64 = 100;

fn main() -> Outcome {
    let job = Job::start()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    match job.rank() {
        Rank(0) => runtime.block_on(answer_all(job.world(), job.size()))?,
        _ => runtime.block_on(ask(job.world()))?,
    }
    drop(runtime);
    Ok(job.finish()?)
}

/// A task for each rank that asks, and a timer beside them.
async fn answer_all(world: Flow, size: u32) -> Outcome {
    let tasks = tokio::task::LocalSet::new();
    let local = tasks.run_until(async {
        let ticks = tokio::task::spawn_local(async {
            let mut interval = tokio::time::interval(Duration::from_millis(1));
            let mut ticks = 0_u64;
            loop {
                interval.tick().await;
                ticks += 1;
                if ticks == 20 {
                    return ticks;
                }
            }
        });
        let answering: Vec<_> =
            (1..size).map(|rank| tokio::task::spawn_local(answer(world.clone(), Rank(rank)))).collect();
        for task in answering {
            task.await.expect("a task ends").map_err(|text| text.to_string())?;
        }
        println!("{} ranks answered, the timer went on {} times", size - 1, ticks.await?);
        Ok(())
    });
    local.await
}

async fn answer(world: Flow, to: Rank) -> Result<(), canele::Error> {
    for _ in 0..ROUNDS {
        let (_, numbers) = world.irecv(to, QUESTION, vec![0_u64])?.await?;
        world.isend(to, ANSWER, vec![numbers[0] * 2])?.await?;
    }
    Ok(())
}

async fn ask(world: Flow) -> Outcome {
    for number in 0..ROUNDS {
        if number % 25 == 0 {
            // The tasks of rank 0 sleep meanwhile.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        world.isend(Rank(0), QUESTION, vec![number])?.await?;
        let (_, answer) = world.irecv(Rank(0), ANSWER, vec![0_u64])?.await?;
        assert_eq!(answer, [number * 2]);
    }
    Ok(())
}
