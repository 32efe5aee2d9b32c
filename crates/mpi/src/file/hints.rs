//! Hints of files (MPI 5.0, §14.2.8): the program's advice and the values in use.

use std::path::Path;

use crate::info::Info;

/// The condition under which an optimisation is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Use {
    /// The optimisation is used where it saves time.
    Automatic,
    /// The optimisation is always used.
    Enable,
    /// The optimisation is never used.
    Disable,
}

/// The hints that the library uses.
#[derive(Clone, Debug)]
pub(super) struct Hints {
    /// Number of ranks that access the file in a collective call; 0 means one per host.
    pub cb_nodes: usize,
    /// Size of an aggregator's buffer in bytes.
    pub cb_buffer_size: usize,
    /// Use of collective buffering for reads and writes.
    pub cb_read: Use,
    pub cb_write: Use,
    /// Use of data sieving for independent reads and writes.
    pub ds_read: Use,
    pub ds_write: Use,
    /// Number of bytes that one step of sieving spans.
    pub ind_rd_buffer_size: usize,
    pub ind_wr_buffer_size: usize,
    /// Permissions of a created file.
    pub file_perm: u32,
    /// Hints that the library only stores and reports.
    told: Vec<(&'static str, Box<[u8]>)>,
}

/// Keys that the library stores and reports, without any effect.
const TOLD: [&str; 11] = [
    "access_style",
    "cb_block_size",
    "chunked",
    "chunked_item",
    "chunked_size",
    "io_node_list",
    "nb_proc",
    "num_io_nodes",
    "striping_factor",
    "striping_unit",
    "romio_no_indep_rw",
];

const LARGEST_BUFFER: usize = 1 << 30;
const SMALLEST_BUFFER: usize = 4096;

impl Default for Hints {
    fn default() -> Self {
        Self {
            cb_nodes: 0,
            cb_buffer_size: 2 << 20,
            cb_read: Use::Automatic,
            cb_write: Use::Automatic,
            ds_read: Use::Automatic,
            ds_write: Use::Automatic,
            ind_rd_buffer_size: 512 << 10,
            ind_wr_buffer_size: 512 << 10,
            file_perm: 0o666,
            told: Vec::new(),
        }
    }
}

fn used(value: &str) -> Option<Use> {
    match value {
        "automatic" => Some(Use::Automatic),
        "enable" | "true" => Some(Use::Enable),
        "disable" | "false" => Some(Use::Disable),
        _ => None,
    }
}

fn name(of: Use) -> &'static str {
    match of {
        Use::Automatic => "automatic",
        Use::Enable => "enable",
        Use::Disable => "disable",
    }
}

impl Hints {
    /// Applies the hints of an info; invalid values are ignored.
    pub fn update(&mut self, info: &Info) {
        let text = |key: &str| {
            let value = info.get(key).ok().flatten()?;
            String::from_utf8(value.into_vec()).ok().map(|text| text.trim().to_owned())
        };
        let number = |key: &str| text(key)?.parse::<usize>().ok();
        let buffer = |key: &str| number(key).map(|n| n.clamp(SMALLEST_BUFFER, LARGEST_BUFFER));
        let way = |key: &str| used(&text(key)?);
        let replace = |to: &mut usize, with: Option<usize>| *to = with.unwrap_or(*to);
        replace(&mut self.cb_nodes, number("cb_nodes").filter(|n| *n > 0));
        replace(&mut self.cb_buffer_size, buffer("cb_buffer_size"));
        replace(&mut self.ind_rd_buffer_size, buffer("ind_rd_buffer_size"));
        replace(&mut self.ind_wr_buffer_size, buffer("ind_wr_buffer_size"));
        if let Some(both) = way("collective_buffering") {
            (self.cb_read, self.cb_write) = (both, both);
        }
        for (key, to) in [
            ("romio_cb_read", &mut self.cb_read),
            ("romio_cb_write", &mut self.cb_write),
            ("romio_ds_read", &mut self.ds_read),
            ("romio_ds_write", &mut self.ds_write),
        ] {
            *to = way(key).unwrap_or(*to);
        }
        if let Some(perm) = text("file_perm").and_then(|text| u32::from_str_radix(&text, 8).ok()) {
            self.file_perm = perm & 0o777;
        }
        for key in TOLD {
            if let Ok(Some(value)) = info.get(key) {
                self.told.retain(|(told, _)| *told != key);
                self.told.push((key, value));
            }
        }
    }

    /// Returns the values on which all members must agree.
    pub fn shared(&self) -> [i64; 5] {
        let [read, write, sieve] = [self.cb_read, self.cb_write, self.ds_write].map(|of| of as i64);
        [self.cb_nodes as i64, self.cb_buffer_size as i64, read, write, sieve]
    }

    /// Sets the values on which all members agree.
    pub fn share(&mut self, numbers: &[i64]) {
        let way = |n: i64| match n {
            1 => Use::Enable,
            2 => Use::Disable,
            _ => Use::Automatic,
        };
        let [nodes, buffer, read, write, sieve] = numbers else { return };
        self.cb_nodes = usize::try_from(*nodes).unwrap_or(0);
        self.cb_buffer_size = usize::try_from(*buffer).unwrap_or(0).clamp(SMALLEST_BUFFER, LARGEST_BUFFER);
        (self.cb_read, self.cb_write, self.ds_write) = (way(*read), way(*write), way(*sieve));
    }

    /// Returns the values in use as an info. `nodes` is the number of ranks that access the file in a
    /// collective call.
    pub fn info(&self, path: &Path, nodes: usize) -> Info {
        let info = Info::new();
        let number = |n: usize| n.to_string();
        let collective = match (self.cb_read, self.cb_write) {
            (Use::Disable, Use::Disable) => "false",
            _ => "true",
        };
        let pairs = [
            ("filename", path.display().to_string()),
            ("file_perm", format!("{:o}", self.file_perm)),
            ("collective_buffering", collective.to_owned()),
            ("cb_nodes", number(nodes)),
            ("cb_buffer_size", number(self.cb_buffer_size)),
            ("romio_cb_read", name(self.cb_read).to_owned()),
            ("romio_cb_write", name(self.cb_write).to_owned()),
            ("romio_ds_read", name(self.ds_read).to_owned()),
            ("romio_ds_write", name(self.ds_write).to_owned()),
            ("ind_rd_buffer_size", number(self.ind_rd_buffer_size)),
            ("ind_wr_buffer_size", number(self.ind_wr_buffer_size)),
        ];
        for (key, value) in pairs {
            // A name too long for a value is omitted.
            let _ = info.set(key, value);
        }
        for (key, value) in &self.told {
            let _ = info.set(key, value);
        }
        info
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_heeded_told_and_ignored_where_they_have_no_meaning() {
        let info = Info::new();
        for (key, value) in [
            ("cb_nodes", "3"),
            ("cb_buffer_size", "1"),
            ("romio_cb_write", "enable"),
            ("romio_ds_read", "perhaps"),
            ("ind_rd_buffer_size", "many"),
            ("striping_factor", "4"),
            ("file_perm", "600"),
            ("unknown", "1"),
        ] {
            info.set(key, value).unwrap();
        }
        let mut hints = Hints::default();
        hints.update(&info);
        let told = hints.info(Path::new("/a/b"), 3);
        let value = |key| told.get(key).unwrap().map(|value| String::from_utf8(value.into_vec()).unwrap());
        let expected = [
            ("cb_nodes", Some("3")),
            ("cb_buffer_size", Some("4096")),
            ("romio_cb_write", Some("enable")),
            ("romio_ds_read", Some("automatic")),
            ("ind_rd_buffer_size", Some("524288")),
            ("striping_factor", Some("4")),
            ("file_perm", Some("600")),
            ("filename", Some("/a/b")),
            ("unknown", None),
        ];
        for (key, expected) in expected {
            assert_eq!(value(key).as_deref(), expected, "{key}");
        }
        let mut other = Hints::default();
        other.share(&hints.shared());
        assert_eq!(other.shared(), hints.shared());
    }
}
