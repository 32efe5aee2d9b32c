//! Awaits messages in tasks of tokio. Rank 0 answers every other rank in two threads, each with its own
//! runtime and flow, while timers run. With `CANELE_LANES=2` the threads do not share a lock, as their flows
//! are on two lanes.
//!
//! `CANELE_LANES=2 canele run -n 3 target/debug/examples/tokio`

use std::thread;
use std::time::Duration;

use canele::{Flow, Job, Rank, Tag};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const QUESTION: Tag = Tag(1);
const ANSWER: Tag = Tag(2);
const ROUNDS: u64 = 100;

fn main() -> Outcome {
    let job = Job::start()?;
    let flows = [job.world().duplicate_on_lane(0)?, job.world().duplicate_on_lane(1)?];
    if job.rank() == Rank(0) {
        let answered = thread::scope(|scope| {
            let threads = flows.each_ref().map(|flow| scope.spawn(|| in_a_runtime(answer_all(flow.clone()))));
            threads.map(|thread| thread.join().expect("a thread ends"))
        });
        answered.into_iter().collect::<Result<(), _>>()?;
    } else {
        in_a_runtime(ask_on_all(flows.to_vec()))?;
    }
    drop(flows);
    Ok(job.finish()?)
}

/// Runs a task, and the tasks that it starts in this thread.
fn in_a_runtime(task: impl Future<Output = Result<(), canele::Error>>) -> Result<(), canele::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("the system has a descriptor left").block_on(task)
}

/// Runs a task for each rank that asks, and a timer beside them.
async fn answer_all(flow: Flow) -> Result<(), canele::Error> {
    let size = flow.size();
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
            (1..size).map(|rank| tokio::task::spawn_local(answer(flow.clone(), Rank(rank)))).collect();
        for task in answering {
            task.await.expect("a task ends")?;
        }
        let ticks = ticks.await.expect("a timer ends");
        println!("{} ranks answered, the timer went on {ticks} times", size - 1);
        Ok(())
    });
    local.await
}

async fn answer(flow: Flow, to: Rank) -> Result<(), canele::Error> {
    for _ in 0..ROUNDS {
        let (_, numbers) = flow.irecv(to, QUESTION, vec![0_u64])?.await?;
        flow.isend(to, ANSWER, vec![numbers[0] * 2])?.await?;
    }
    Ok(())
}

/// Runs a task for each flow.
async fn ask_on_all(flows: Vec<Flow>) -> Result<(), canele::Error> {
    let tasks = tokio::task::LocalSet::new();
    let local = tasks.run_until(async {
        let asking: Vec<_> = flows.into_iter().map(|flow| tokio::task::spawn_local(ask(flow))).collect();
        for task in asking {
            task.await.expect("a task ends")?;
        }
        Ok(())
    });
    local.await
}

async fn ask(flow: Flow) -> Result<(), canele::Error> {
    for number in 0..ROUNDS {
        if number % 25 == 0 {
            // The tasks of rank 0 sleep at this time.
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        flow.isend(Rank(0), QUESTION, vec![number])?.await?;
        let (_, answer) = flow.irecv(Rank(0), ANSWER, vec![0_u64])?.await?;
        assert_eq!(answer, [number * 2]);
    }
    Ok(())
}
