//! Sizes of messages in words.

/// Returns a size as the command line accepts it.
pub fn size(bytes: usize) -> String {
    match bytes {
        0 => "0".into(),
        _ if bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}K", bytes >> 10),
        _ => bytes.to_string(),
    }
}

/// Returns the label of a size on an axis.
pub fn label_of_size(bytes: f64) -> String {
    if bytes < 1.0 { "0".into() } else { size(bytes as usize) }
}
