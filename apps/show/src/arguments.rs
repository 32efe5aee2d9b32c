//! What a program says when its arguments cannot be read.
//!
//! Every rank of a job gets the same arguments and finds the same mistake; only rank 0 should complain.

/// Says on standard error what is wrong with the arguments, or on standard output the text of
/// `--help` or `--version`; returns the exit status: 2 for wrong arguments, else 0.
pub fn complain(program: &str, error: &clap::Error) -> u8 {
    if !error.use_stderr() {
        // A closed standard output leaves nobody to tell.
        let _ = error.print();
        return 0;
    }
    let text = error.render().to_string();
    eprint!("{program}: {}", text.strip_prefix("error: ").unwrap_or(&text));
    2
}
