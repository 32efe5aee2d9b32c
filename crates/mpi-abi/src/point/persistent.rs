//! Persistent messages.
