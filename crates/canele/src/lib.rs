//! canele
