//! Every rank greets the next one, then all add up their numbers. Run: `canele run -n 4 hello`.

use canele::{Error, Job, Op, Rank, Tag};

fn main() -> Result<(), Error> {
    let job = Job::start()?;
    let world = job.world();
    let (me, size) = (job.rank().0, job.size());
    let (next, previous) = (Rank((me + 1) % size), Rank((me + size - 1) % size));

    let (mine, mut theirs) = ([me], [0]);
    world.scope(|scope| {
        scope.irecv(previous, Tag(1), &mut theirs)?;
        scope.isend(next, Tag(1), &mine)?;
        Ok(()) // Both have ended when the scope ends.
    })?;

    let mut sum = [0];
    world.allreduce(&mine, &mut sum, Op::Sum)?;
    println!("rank {me} of {size}: greeted by rank {}, and all numbers add up to {}", theirs[0], sum[0]);
    job.finish()
}
