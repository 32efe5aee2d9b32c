//! Checks shared memory in a job: `canele run -n N dsm_check WHAT`. Ends with an error if the memory is
//! wrong; prints the provoked errors.

mod death;
mod hostile;
mod misuse;
mod random;

use canele::Job;

type Checked = Result<(), Box<dyn std::error::Error>>;

fn main() -> Checked {
    let job = Job::start()?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["random", seed, count] => random::check(&job, seed.parse()?, count.parse()?)?,
        ["misuse"] => misuse::check(&job)?,
        ["held"] => misuse::held(&job)?,
        ["differ"] => misuse::differ(&job)?,
        ["client", kind] => hostile::client(&job, kind)?,
        ["server", kind] => hostile::server(&job, kind)?,
        ["death", who] => return death::check(job, who),
        _ => {
            return Err(
                "random SEED COUNT, misuse, held, differ, client KIND, server KIND or death WHO".into()
            );
        }
    }
    Ok(job.finish()?)
}
