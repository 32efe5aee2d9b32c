//! Progress on standard error: a bar on a terminal, a line every tenth of the way elsewhere.

use std::fmt::Display;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Steps of the bar, which limit its resolution.
const STEPS: u64 = 1000;
/// Hundredths of the work for each line, if standard error is no terminal.
const PERCENT_PER_LINE: u64 = 10;

/// The progress of a run. Dropping it removes the bar.
pub struct Progress {
    program: &'static str,
    shown: Shown,
}

enum Shown {
    Nothing,
    Bar(ProgressBar),
    Lines { next_percent: u64 },
}

impl Progress {
    /// Makes a progress display that is shown if `wanted` (rank 0, not quiet).
    pub fn new(program: &'static str, wanted: bool) -> Self {
        let shown = match (wanted, std::io::stderr().is_terminal()) {
            (false, _) => Shown::Nothing,
            (true, true) => Shown::Bar(bar(program)),
            (true, false) => Shown::Lines { next_percent: PERCENT_PER_LINE },
        };
        Self { program, shown }
    }

    /// Returns true if progress is shown; otherwise work for its display may be left out.
    pub fn is_shown(&self) -> bool {
        !matches!(self.shown, Shown::Nothing)
    }

    /// Shows that the part `done` (0 to 1) of the work is finished; `text` describes it in words.
    pub fn at(&mut self, done: f64, text: impl Display) {
        let done = done.clamp(0.0, 1.0);
        match &mut self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => {
                bar.set_position((done * STEPS as f64) as u64);
                bar.set_message(text.to_string());
            }
            Shown::Lines { next_percent } => {
                let percent = (done * 100.0) as u64;
                if percent >= *next_percent {
                    eprintln!("{}: {percent:3} %  {text}", self.program);
                    *next_percent = (percent / PERCENT_PER_LINE + 1) * PERCENT_PER_LINE;
                }
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

fn bar(program: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{prefix} [{elapsed}] {bar:40.208} {percent:>3} %  {wide_msg}");
    // The template is a constant; if it were wrong, the plain bar would still show progress.
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╾─"));
    bar.set_prefix(program);
    bar
}
