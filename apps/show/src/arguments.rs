//! What a program says when its arguments cannot be read.
//!
//! Every rank of a job gets the same arguments, so every rank finds the same mistake: parsing and
//! complaining are apart, so that rank 0 alone complains.

/// Says on standard error what is wrong with the arguments, or on standard output the text of
/// `--help` or `--version`; returns the exit status: 2 for wrong arguments, else 0.
///
/// With `speaks` false nothing is printed; the status is the same.
pub fn complain(program: &str, error: &clap::Error, speaks: bool) -> u8 {
    if !error.use_stderr() {
        if speaks {
            // A closed standard output leaves nobody to tell.
            let _ = error.print();
        }
        return 0;
    }
    if speaks {
        let text = error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        eprint!("{program}: {text}");
    }
    2
}
