//! Pictures of 8-bit red, green, blue and alpha, from and to PNG files.
//!
//! Any PNG can be read (grey, palette, 16 bits: all become 8-bit RGBA). The output is checked
//! before the work starts, so that no user waits for a picture that cannot be written.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Cursor, ErrorKind, Read, Write};
use std::path::Path;

use canele_sys::bounded_read::{Bounded, MOST_DATA};

/// Most pixels of a picture: 2²⁸ is 16384 × 16384.
pub const MOST_PIXELS: u64 = 1 << 28;

const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";

/// A picture in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Red, green, blue, alpha; rows from top to bottom.
    pub pixels: Vec<[u8; 4]>,
}

/// The error of a picture that cannot be read or written. Each names the file and a remedy.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum PictureError {
    #[error("cannot read {file}: {cause}")]
    Unreadable { file: String, cause: std::io::Error },
    #[error("{file} is not a PNG picture: give a file saved as PNG")]
    NotPng { file: String },
    #[error("{file} is a damaged PNG picture ({cause}): save it again")]
    Damaged { file: String, cause: String },
    #[error("{file} is an empty picture: it needs at least one pixel")]
    Empty { file: String },
    #[error("{file} has {width} x {height} pixels, more than {MOST_PIXELS}: give a smaller picture")]
    TooLarge { file: String, width: u32, height: u32 },
    #[error("cannot write {file}: {cause}; choose another file with --output")]
    Unwritable { file: String, cause: std::io::Error },
}

impl Picture {
    /// Reads the PNG in `file`.
    pub fn read(file: &Path) -> Result<Self, PictureError> {
        let name = file.display().to_string();
        let failed = |cause| PictureError::Unreadable { file: name.clone(), cause };
        let source = File::open(file).map_err(failed)?;
        let mut bytes = Vec::new();
        // The signature is read first, because a file that is no picture may be endless.
        (&source).take(SIGNATURE.len() as u64).read_to_end(&mut bytes).map_err(failed)?;
        if bytes == SIGNATURE {
            Bounded::new(source, MOST_DATA).read_to_end(&mut bytes).map_err(failed)?;
        }
        Self::decode(&bytes, &name)
    }

    /// Reads a PNG in memory; errors call it `name`.
    pub fn decode(bytes: &[u8], name: &str) -> Result<Self, PictureError> {
        let file = || name.to_string();
        if !bytes.starts_with(&SIGNATURE) {
            return Err(PictureError::NotPng { file: file() });
        }
        // The header is at a fixed place at the start. It is checked here because the decoder reports an
        // empty picture as damaged.
        let side = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes);
        if side(16) == Some(0) || side(20) == Some(0) {
            return Err(PictureError::Empty { file: file() });
        }
        let damaged =
            |cause: png::DecodingError| PictureError::Damaged { file: file(), cause: cause.to_string() };
        let mut decoder = png::Decoder::new(Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().map_err(damaged)?;
        let (width, height) = reader.info().size();
        let too_large = || PictureError::TooLarge { file: file(), width, height };
        if u64::from(width) * u64::from(height) > MOST_PIXELS {
            return Err(too_large());
        }
        let mut samples = vec![0; reader.output_buffer_size().ok_or_else(too_large)?];
        let frame = reader.next_frame(&mut samples).map_err(damaged)?;
        samples.truncate(frame.buffer_size());
        let pixels = to_rgba(&samples, frame.color_type);
        Ok(Self { width: width as usize, height: height as usize, pixels })
    }

    /// Writes the picture, without its alpha, to `file` as PNG.
    pub fn write(&self, file: &Path) -> Result<(), PictureError> {
        let failed = |cause| PictureError::Unwritable { file: file.display().to_string(), cause };
        let bytes = self.encode().map_err(failed)?;
        File::create(file).and_then(|mut out| out.write_all(&bytes)).map_err(failed)
    }

    fn encode(&self) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut encoder =
            png::Encoder::new(BufWriter::new(&mut bytes), self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut samples = Vec::with_capacity(self.pixels.len() * 3);
        for [red, green, blue, _] in &self.pixels {
            samples.extend([red, green, blue]);
        }
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&samples)?;
        writer.finish()?;
        Ok(bytes)
    }
}

/// Checks that `file` can be written, without changing anything.
///
/// An existing file is only opened (it may be a device); a missing one is made and removed.
pub fn check_writable(file: &Path) -> Result<(), PictureError> {
    let failed = |cause| PictureError::Unwritable { file: file.display().to_string(), cause };
    match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(_) => std::fs::remove_file(file).map_err(failed),
        Err(cause) if cause.kind() == ErrorKind::AlreadyExists => {
            OpenOptions::new().write(true).open(file).map(drop).map_err(failed)
        }
        Err(cause) => Err(failed(cause)),
    }
}

fn to_rgba(samples: &[u8], colour: png::ColorType) -> Vec<[u8; 4]> {
    match colour {
        png::ColorType::Grayscale | png::ColorType::Indexed => {
            samples.iter().map(|&g| [g, g, g, 255]).collect()
        }
        png::ColorType::GrayscaleAlpha => samples.chunks_exact(2).map(|s| [s[0], s[0], s[0], s[1]]).collect(),
        png::ColorType::Rgb => samples.chunks_exact(3).map(|s| [s[0], s[1], s[2], 255]).collect(),
        png::ColorType::Rgba => samples.chunks_exact(4).map(|s| [s[0], s[1], s[2], s[3]]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(colour: png::ColorType, samples: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 2, 1);
        encoder.set_color(colour);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header().unwrap().write_image_data(samples).unwrap();
        bytes
    }

    #[test]
    fn every_colour_type_becomes_rgba() {
        let cases = [
            (png::ColorType::Grayscale, &[7, 9][..], [[7, 7, 7, 255], [9, 9, 9, 255]]),
            (png::ColorType::GrayscaleAlpha, &[7, 1, 9, 2], [[7, 7, 7, 1], [9, 9, 9, 2]]),
            (png::ColorType::Rgb, &[1, 2, 3, 4, 5, 6], [[1, 2, 3, 255], [4, 5, 6, 255]]),
            (png::ColorType::Rgba, &[1, 2, 3, 4, 5, 6, 7, 8], [[1, 2, 3, 4], [5, 6, 7, 8]]),
        ];
        for (colour, samples, pixels) in cases {
            let picture = Picture::decode(&encoded(colour, samples), "test").unwrap();
            assert_eq!((picture.width, picture.height), (2, 1));
            assert_eq!(picture.pixels, pixels, "{colour:?}");
        }
    }

    #[test]
    fn what_is_written_can_be_read() {
        let pixels = (0..6).map(|n| [n, 10 * n, 255 - n, 255]).collect();
        let picture = Picture { width: 3, height: 2, pixels };
        assert_eq!(Picture::decode(&picture.encode().unwrap(), "test").unwrap(), picture);
    }

    #[test]
    fn bad_files_are_told_apart() {
        let good = encoded(png::ColorType::Rgb, &[1, 2, 3, 4, 5, 6]);
        let mut empty = good.clone();
        empty[16..20].fill(0);
        let decode = |bytes: &[u8]| Picture::decode(bytes, "test").unwrap_err();
        assert!(matches!(decode(b""), PictureError::NotPng { .. }));
        assert!(matches!(decode(b"GIF89a, not what we want"), PictureError::NotPng { .. }));
        assert!(matches!(decode(&good[..good.len() - 20]), PictureError::Damaged { .. }));
        assert!(matches!(decode(&good[..12]), PictureError::Damaged { .. }));
        assert!(matches!(decode(&empty), PictureError::Empty { .. }));
    }

    #[test]
    fn an_endless_file_that_is_no_picture_is_refused_at_once() {
        assert!(matches!(Picture::read(Path::new("/dev/zero")), Err(PictureError::NotPng { .. })));
    }

    #[test]
    fn every_truncation_is_an_error_and_no_panic() {
        let good = encoded(png::ColorType::Rgba, &[1, 2, 3, 4, 5, 6, 7, 8]);
        let end_chunk = 12;
        for length in 0..good.len() - end_chunk - 4 {
            assert!(Picture::decode(&good[..length], "test").is_err(), "{length} bytes");
        }
    }

    #[test]
    fn checking_the_output_leaves_no_trace() {
        let folder = std::env::temp_dir().join(format!("canele-show-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("new.png");
        check_writable(&file).unwrap();
        assert!(!file.exists());
        std::fs::write(&file, "kept").unwrap();
        check_writable(&file).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"kept");
        assert!(matches!(check_writable(&folder), Err(PictureError::Unwritable { .. })));
        assert!(matches!(
            check_writable(&folder.join("no/such/a.png")),
            Err(PictureError::Unwritable { .. })
        ));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
