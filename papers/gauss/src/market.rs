//! Matrix Market files: square real matrices, `coordinate` or `array`, `general` or `symmetric`.
//!
//! The format is that of <https://math.nist.gov/MatrixMarket/formats.html>. An error names the line, from 1.

use std::path::Path;

use canele_show::bounded_read::{self, MOST_DATA};

use crate::error::GaussError;
use crate::matrix::{LARGEST, Matrix};

/// An error in a line: its number and the reason.
type Complaint = (usize, String);

/// Reads a file.
///
/// # Errors
/// The file cannot be read, or is no square matrix of real numbers.
pub fn read(file: &Path) -> Result<Matrix<f64>, GaussError> {
    let name = file.display().to_string();
    let text = bounded_read::read_text(file, MOST_DATA)
        .map_err(|error| GaussError::Read { file: name.clone(), error })?;
    parse(&text).map_err(|(line, why)| GaussError::Market { file: name, line, why })
}

/// The content of the first line.
struct Header {
    is_coordinate: bool,
    is_symmetric: bool,
}

/// Reads the text of a file.
///
/// # Errors
/// Returns the line, from 1, and the reason.
pub fn parse(text: &str) -> Result<Matrix<f64>, Complaint> {
    let last = text.lines().count().max(1);
    let header = parse_header(text.lines().next().unwrap_or(""))?;
    let mut lines = text.lines().enumerate().skip(1).map(|(place, line)| (place + 1, line.trim()));
    let mut lines = lines.by_ref().filter(|(_, line)| !line.is_empty() && !line.starts_with('%'));
    let sizes = lines.next().ok_or((last, "the file ends before the line of sizes".to_owned()))?;
    let (size, entries) = parse_sizes(sizes, &header)?;
    let mut matrix = Matrix { size, entries: vec![0.0; size * size] };
    let mut found = 0;
    let mut is_set = vec![false; if header.is_coordinate { size * size } else { 0 }];
    let mut places = (0..size).flat_map(|column| {
        let first = if header.is_symmetric { column } else { 0 };
        (first..size).map(move |row| (row, column))
    });
    for (line, words) in lines {
        found += 1;
        if found > entries {
            return Err((line, format!("more entries than the {entries} that are announced")));
        }
        let (row, column, value) = if header.is_coordinate {
            let (row, column, value) = parse_entry((line, words), size)?;
            if std::mem::replace(&mut is_set[row * size + column], true) {
                return Err((line, format!("entry {} {} stands in the file twice", row + 1, column + 1)));
            }
            (row, column, value)
        } else {
            let place = places.next().unwrap_or((0, 0));
            (place.0, place.1, parse_value((line, words))?)
        };
        if header.is_symmetric && row < column {
            return Err((line, "an entry above the diagonal of a symmetric matrix".to_owned()));
        }
        matrix.entries[row * size + column] = value;
        if header.is_symmetric {
            matrix.entries[column * size + row] = value;
        }
    }
    if found < entries {
        return Err((last, format!("the file ends after {found} entries, and {entries} are announced")));
    }
    Ok(matrix)
}

fn parse_header(line: &str) -> Result<Header, Complaint> {
    let words: Vec<_> = line.split_whitespace().map(str::to_lowercase).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let ["%%matrixmarket", "matrix", format, field, symmetry] = words[..] else {
        return Err((
            1,
            "no Matrix Market file: it must begin with `%%MatrixMarket matrix coordinate real general` or the like"
                .to_owned(),
        ));
    };
    let refuse =
        |what: &str, word: &str, known: &str| Err((1, format!("{what} {word} is not read, only {known}")));
    if !["coordinate", "array"].contains(&format) {
        return refuse("the format", format, "coordinate and array");
    }
    if !["real", "integer"].contains(&field) {
        return refuse("the field", field, "real and integer");
    }
    if !["general", "symmetric"].contains(&symmetry) {
        return refuse("the symmetry", symmetry, "general and symmetric");
    }
    Ok(Header { is_coordinate: format == "coordinate", is_symmetric: symmetry == "symmetric" })
}

/// Returns the number of rows, and that of entries.
fn parse_sizes((line, text): (usize, &str), header: &Header) -> Result<(usize, usize), Complaint> {
    let numbers: Result<Vec<usize>, _> = text.split_whitespace().map(str::parse).collect();
    let (rows, columns, entries) = match (numbers.as_deref(), header.is_coordinate) {
        (Ok(&[rows, columns, entries]), true) => (rows, columns, Some(entries)),
        (Ok(&[rows, columns]), false) => (rows, columns, None),
        (_, true) => return Err((line, "expected the numbers of rows, columns and entries".to_owned())),
        (_, false) => return Err((line, "expected the numbers of rows and columns".to_owned())),
    };
    if rows != columns {
        return Err((line, format!("the matrix is not square: {rows} rows, {columns} columns")));
    }
    if rows == 0 || rows > LARGEST {
        return Err((line, format!("{rows} rows: between 1 and {LARGEST} are possible")));
    }
    let all = if header.is_symmetric { rows * (rows + 1) / 2 } else { rows * rows };
    Ok((rows, entries.unwrap_or(all)))
}

/// Returns row and column, from 0, and the value of an entry.
fn parse_entry((line, text): (usize, &str), size: usize) -> Result<(usize, usize, f64), Complaint> {
    let words: Vec<_> = text.split_whitespace().collect();
    let [row, column, value] = words[..] else {
        return Err((line, format!("expected row, column and value, found `{text}`")));
    };
    let place = |word: &str| match word.parse::<usize>() {
        Ok(number) if (1..=size).contains(&number) => Ok(number - 1),
        _ => Err((line, format!("`{word}` is no row or column: they go from 1 to {size}"))),
    };
    Ok((place(row)?, place(column)?, parse_value((line, value))?))
}

fn parse_value((line, text): (usize, &str)) -> Result<f64, Complaint> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err((line, format!("`{text}` is not a finite number"))),
        Err(_) => Err((line, format!("`{text}` is not a number"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_are_read() {
        let coordinate =
            "%%MatrixMarket matrix coordinate real general\n% a comment\n2 2 3\n1 1 1.5\n\n2 1 -2\n2 2 1e3\n";
        assert_eq!(parse(coordinate).unwrap().entries, [1.5, 0.0, -2.0, 1e3]);
        let array = "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n";
        assert_eq!(parse(array).unwrap().entries, [1.0, 3.0, 2.0, 4.0]);
        let symmetric = "%%matrixmarket MATRIX array integer symmetric\n2 2\n1\n2\n4\n";
        assert_eq!(parse(symmetric).unwrap().entries, [1.0, 2.0, 2.0, 4.0]);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let coordinate = |rest: &str| format!("%%MatrixMarket matrix coordinate real general\n{rest}");
        let array = |rest: &str| format!("%%MatrixMarket matrix array real general\n{rest}");
        for (text, line, why) in [
            (String::new(), 1, "no Matrix Market file"),
            ("hello\n".to_owned(), 1, "no Matrix Market file"),
            ("%%MatrixMarket matrix coordinate complex general\n".to_owned(), 1, "the field complex"),
            ("%%MatrixMarket matrix array real hermitian\n".to_owned(), 1, "the symmetry hermitian"),
            (coordinate("% only a comment\n"), 2, "ends before the line of sizes"),
            (coordinate("3 2 1\n1 1 1\n"), 2, "not square: 3 rows, 2 columns"),
            (coordinate("2 2\n"), 2, "expected the numbers of rows, columns and entries"),
            (coordinate("0 0 0\n"), 2, "between 1 and 20000"),
            (coordinate("2 2 2\n1 1 1\n"), 3, "ends after 1 entries, and 2 are announced"),
            (coordinate("2 2 1\n1 1 1\n2 2 1\n"), 4, "more entries than the 1"),
            (coordinate("2 2 2\n1 1 1\n1 1 2\n"), 4, "1 1 stands in the file twice"),
            (coordinate("2 2 1\n3 1 1\n"), 3, "`3` is no row or column"),
            (coordinate("2 2 1\n1 1\n"), 3, "expected row, column and value"),
            (array("2 2\n1\n2\nnan\n4\n"), 5, "`nan` is not a finite number"),
            (array("2 2\n1\n2\nx\n4\n"), 5, "`x` is not a number"),
            (array("1 1\n1\n2\n"), 4, "more entries"),
        ] {
            let (at, complaint) = parse(&text).unwrap_err();
            assert!(at == line && complaint.contains(why), "{text}: line {at}: {complaint}");
        }
    }
}
