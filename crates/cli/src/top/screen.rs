//! The table on the whole terminal, redrawn repeatedly, and the keys.

use std::time::Instant;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::Paragraph;

use super::TopArguments;
use super::rates::JobRates;
use super::table::{self, RowOrder, TopRow};

const KEYS: &str = "q ends · r w m sort by rank, waiting, moved · arrows scroll";

/// Shows the result of each look until the user presses a key to end.
///
/// # Errors
/// Fails if the terminal cannot be used, or the named jobs have ended.
pub fn show(
    arguments: &TopArguments,
    look: impl FnMut() -> Result<Vec<JobRates>, String>,
) -> Result<(), String> {
    let mut terminal =
        ratatui::try_init().map_err(|error| format!("the terminal cannot be drawn on: {error}"))?;
    let ended = run(&mut terminal, arguments, look);
    ratatui::restore();
    ended
}

/// The shown jobs, and the first visible row.
struct View {
    jobs: Vec<JobRates>,
    order: RowOrder,
    first_row: usize,
}

fn run(
    terminal: &mut DefaultTerminal,
    arguments: &TopArguments,
    mut look: impl FnMut() -> Result<Vec<JobRates>, String>,
) -> Result<(), String> {
    let mut view = View { jobs: look()?, order: arguments.sort, first_row: 0 };
    let mut next = Instant::now() + arguments.every;
    loop {
        let drawn = terminal.draw(|frame| view.draw(frame, arguments));
        drawn.map_err(|error| format!("the terminal cannot be drawn on: {error}"))?;
        let pause = next.saturating_duration_since(Instant::now());
        let unreadable = |error| format!("keys cannot be read: {error}");
        if event::poll(pause).map_err(unreadable)? {
            if !view.handle(&event::read().map_err(unreadable)?) {
                return Ok(());
            }
        } else {
            view.jobs = look()?;
            next = Instant::now() + arguments.every;
        }
    }
}

impl View {
    /// Handles a key; returns false for a key that ends the display.
    fn handle(&mut self, event: &Event) -> bool {
        let Event::Key(key) = event else { return true };
        if key.kind == KeyEventKind::Release {
            return true;
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return false,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
            KeyCode::Char('r') => self.order = RowOrder::Rank,
            KeyCode::Char('w') => self.order = RowOrder::Waiting,
            KeyCode::Char('m') => self.order = RowOrder::Moved,
            KeyCode::Down => self.first_row += 1,
            KeyCode::Up => self.first_row = self.first_row.saturating_sub(1),
            KeyCode::PageDown => self.first_row += 20,
            KeyCode::PageUp => self.first_row = self.first_row.saturating_sub(20),
            KeyCode::Home => self.first_row = 0,
            _ => {}
        }
        true
    }

    fn draw(&mut self, frame: &mut ratatui::Frame<'_>, arguments: &TopArguments) {
        let rows = table::rows(&self.jobs, self.order);
        let area = frame.area();
        let room = usize::from(area.height).saturating_sub(1);
        self.first_row = self.first_row.min(rows.len().saturating_sub(room));
        let head = format!("canele top   every {:.1} s   {KEYS}", arguments.every.as_secs_f64());
        let mut lines = vec![Line::styled(head, Style::new().add_modifier(Modifier::DIM))];
        lines.extend(rows.iter().skip(self.first_row).take(room).map(styled));
        frame.render_widget(Paragraph::new(Text::from(lines)), area);
    }
}

/// Returns a coloured line: ranks that compute are green, those that wait yellow, stopped ones red.
fn styled(row: &TopRow) -> Line<'_> {
    let style = match row.state {
        None => Style::new().add_modifier(Modifier::BOLD),
        Some("computes" | "calls") => Style::new().fg(Color::Green),
        Some("waits" | "sleeps") => Style::new().fg(Color::Yellow),
        Some("stopped" | "ended") => Style::new().fg(Color::Red),
        Some(_) => Style::new(),
    };
    Line::styled(row.text.as_str(), style)
}
