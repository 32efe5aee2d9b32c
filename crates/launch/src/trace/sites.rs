//! The texts of call sites: function, file and line. They are known if this host has the same files of code
//! as the rank.

use std::collections::HashMap;

use canele_trace::SiteFrame;

use crate::host_ranks::CodePlace;
use crate::why::{CallSite, Code, place};

/// Finds the texts of call sites. It reads each file of code once for all ranks.
#[derive(Default)]
pub struct SiteNames {
    code: Code,
}

/// A call site in words.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SiteText {
    /// The call of the library: `Flow::recv`.
    pub call: Option<String>,
    /// The place in the program: `exchange (ring.c:12)`.
    pub place: String,
}

impl SiteNames {
    /// The texts of the sites of a rank, by their numbers. Sites of which nothing is known are left out.
    pub fn texts(&mut self, sites: HashMap<u16, Vec<SiteFrame>>) -> HashMap<u16, SiteText> {
        sites.into_iter().filter_map(|(number, frames)| Some((number, self.text(frames)?))).collect()
    }

    fn text(&mut self, frames: Vec<SiteFrame>) -> Option<SiteText> {
        let code_place =
            |SiteFrame { module, module_bytes, address }| CodePlace { module, module_bytes, address };
        let places: Vec<CodePlace> = frames.into_iter().map(code_place).collect();
        text_of(self.code.call_site(&places))
    }
}

fn text_of(site: CallSite) -> Option<SiteText> {
    place(&site).map(|place| SiteText { call: site.call, place })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_has_function_file_and_line_as_far_as_they_are_known() {
        let site = CallSite {
            call: Some("MPI_Send".into()),
            function: Some("exchange".into()),
            file: Some("/home/a/ring.c".into()),
            line: Some(12),
        };
        let place_of = |site| text_of(site).map(|text| text.place);
        assert_eq!(place_of(site.clone()).as_deref(), Some("exchange (ring.c:12)"));
        assert_eq!(place_of(CallSite { line: None, ..site.clone() }).as_deref(), Some("exchange (ring.c)"));
        assert_eq!(place_of(CallSite { file: None, ..site.clone() }).as_deref(), Some("exchange"));
        assert_eq!(place_of(CallSite { function: None, ..site }).as_deref(), Some("ring.c:12"));
        assert_eq!(text_of(CallSite::default()), None);
    }

    #[test]
    fn files_that_this_host_does_not_have_give_no_text() {
        let frame = SiteFrame { module: "/no/such/file".into(), module_bytes: 5, address: 7 };
        assert!(SiteNames::default().texts([(1, vec![frame])].into()).is_empty());
    }
}
