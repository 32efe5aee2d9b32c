//! Reads rows from a PPM picture (binary, 8 bits a sample) while it is written.

use std::io::{self, BufRead, ErrorKind, Read};
use std::ops::Range;

/// Most bytes of a header, which with its comments is far shorter.
const LONGEST_HEADER: u64 = 4096;

/// Reads `rows` of a picture of `width` x `height` pixels: red, green, blue of each pixel, row after row. It
/// does not wait for later rows.
///
/// # Errors
/// The stream ends too early, or is no such picture.
pub fn read_rows(
    input: &mut impl BufRead,
    width: usize,
    height: usize,
    rows: Range<usize>,
) -> io::Result<Vec<u8>> {
    let found = read_header(input)?;
    if found != [width, height, 255] {
        let text = format!("a picture of {width} x {height} x 255 was expected, not {found:?}");
        return Err(io::Error::new(ErrorKind::InvalidData, text));
    }
    let row = 3 * width;
    let skipped = (rows.start * row) as u64;
    if io::copy(&mut input.by_ref().take(skipped), &mut io::sink())? < skipped {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let mut samples = vec![0; rows.len() * row];
    input.read_exact(&mut samples)?;
    Ok(samples)
}

/// Reads width, height and largest sample. One blank or line end follows the last number; the samples start
/// after it.
fn read_header(input: &mut impl BufRead) -> io::Result<[usize; 3]> {
    let mut header = input.by_ref().take(LONGEST_HEADER);
    let mut word = || -> io::Result<String> {
        let mut word = String::new();
        loop {
            let mut byte = [0];
            header.read_exact(&mut byte)?;
            match byte[0] {
                b'#' if word.is_empty() => drop(header.skip_until(b'\n')?),
                byte if !byte.is_ascii_whitespace() => word.push(byte.into()),
                _ if !word.is_empty() => return Ok(word),
                _ => {}
            }
        }
    };
    let wrong = |text: &str| {
        io::Error::new(ErrorKind::InvalidData, format!("{text:?} in the header of a PPM picture"))
    };
    let kind = word()?;
    if kind != "P6" {
        return Err(wrong(&kind));
    }
    let mut number = || word().and_then(|word| word.parse().map_err(|_| wrong(&word)));
    Ok([number()?, number()?, number()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    const PICTURE: &[u8] = b"P6\n# Software: a test\n# 7 7\n2 3\n255\nabcdefABCDEF#12 45";

    fn read(mut bytes: &[u8], rows: Range<usize>) -> io::Result<Vec<u8>> {
        read_rows(&mut bytes, 2, 3, rows)
    }

    #[test]
    fn rows_are_cut_out() {
        assert_eq!(read(PICTURE, 0..3).unwrap(), b"abcdefABCDEF#12 45");
        assert_eq!(read(PICTURE, 1..2).unwrap(), b"ABCDEF");
        assert_eq!(read(PICTURE, 2..3).unwrap(), b"#12 45", "samples are no comment");
    }

    #[test]
    fn rows_are_not_waited_for_longer_than_needed() {
        let whole = PICTURE.len();
        assert_eq!(read(&PICTURE[..whole - 6], 1..2).unwrap(), b"ABCDEF");
        for length in 0..whole - 6 {
            assert_eq!(read(&PICTURE[..length], 1..2).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn other_streams_are_refused() {
        for text in ["P5\n2 3\n255\n", "P6 3 2 255 ", "P6 2 3 65535 ", "P6 2 x 255 ", "GIF89a 2 3 "] {
            assert_eq!(read(text.as_bytes(), 0..1).unwrap_err().kind(), ErrorKind::InvalidData, "{text}");
        }
        let endless = vec![b' '; 10_000];
        assert!(read(&endless, 0..1).is_err());
    }
}
