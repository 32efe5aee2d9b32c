//! The statements of procedures for requests with resources: copies of array parts, and arrays that C reads.

use super::procedure::Procedure;
use super::shape::{Direction, Shape, direction, shape};

/// The condition that a request has resources. The library sets the word.
const IF_LIVE: &str = "canele_live /= 0";

impl Procedure<'_> {
    /// Returns true if the procedure returns a request.
    pub(super) fn gives_a_request(&self) -> bool {
        let mut all = self.function.parameters.iter();
        all.any(|p| p.kind.name == "request*" && direction(self.function, p) == Direction::Out)
    }

    /// Returns true if C reads an array of handles until the request ends.
    pub(super) fn lends_handles(&self) -> bool {
        let mut all = self.function.parameters.iter();
        self.gives_a_request() && all.any(|p| matches!(shape(self.function, p), Shape::Handles(_)))
    }

    /// Returns the declarations for the resources of a request.
    pub(super) fn locals_for_resources(&self) -> Vec<String> {
        let mut locals = Vec::new();
        if self.lends_handles() || (self.gives_a_request() && !self.descriptors().is_empty()) {
            locals.push("type(c_ptr) :: resources".to_owned());
        }
        if self.completes_requests() {
            locals.push("type(c_ptr) :: taken".to_owned());
        }
        locals
    }

    /// Returns the lines after the call that attach resources to a request.
    pub(super) fn attach(&self) -> Vec<String> {
        let buffers = self.descriptors();
        if !self.gives_a_request() || (buffers.is_empty() && !self.lends_handles()) {
            return Vec::new();
        }
        let is_persistent = u8::from(self.function.name.trim_end_matches("_c").ends_with("_init"));
        let attach = format!(
            "call canele_fort_attach(resources, code, c_request, {is_persistent}_c_int, canele_live)"
        );
        let mut made: Vec<String> =
            buffers.iter().map(|name| format!("  call canele_fort_end_later(c_{name}, resources)")).collect();
        let conditions: Vec<String> = buffers.iter().map(|name| format!("c_{name}%made /= 0")).collect();
        let condition = format!("if ({}) then", conditions.join(" .or. "));
        if !self.lends_handles() {
            made.insert(0, "  resources = c_null_ptr".to_owned());
            made.push(format!("  {attach}"));
            return [vec![condition], made, vec!["end if".to_owned()]].concat();
        }
        if made.is_empty() {
            return vec![attach];
        }
        [vec![condition], made, vec!["end if".to_owned(), attach]].concat()
    }

    /// Returns the call of C's function, with the lines around it for requests with resources.
    pub(super) fn call_for_requests(&self, call: String) -> Vec<String> {
        let name = self.function.name.as_str();
        let requests = self.requests();
        let live = |line: &str| format!("if ({IF_LIVE}) {line}");
        let branches = |ready: Vec<String>, usual: String| {
            let indented = |line: &String| format!("  {line}");
            let ready = ready.iter().map(indented).collect::<Vec<_>>();
            let ends = ["else".to_owned(), format!("  {usual}"), "end if".to_owned()];
            [vec![format!("if ({IF_LIVE}) then")], ready, ends.to_vec()].concat()
        };
        match name {
            "MPI_Start" | "MPI_Startall" => vec![live(&format!("call canele_fort_start({requests})")), call],
            "MPI_Request_free" => {
                branches(vec!["code = canele_fort_request_free(c_request)".to_owned()], call)
            }
            "MPI_Finalize" => vec![live("call canele_fort_finish()"), call],
            "MPI_Session_finalize" => {
                vec![live("call canele_fort_complete(c_null_ptr, c_null_ptr, 0_c_int)"), call]
            }
            "MPI_Pready" => vec![ready("partition", "partition"), call],
            "MPI_Pready_range" => vec![ready("partition_low", "partition_high"), call],
            "MPI_Pready_list" => vec![
                format!("if ({IF_LIVE}) then"),
                "  do n_ready = 1, int(length, c_int)".to_owned(),
                "    call canele_fort_ready(c_request, int(array_of_partitions(n_ready), c_int), &".to_owned(),
                "      int(array_of_partitions(n_ready), c_int))".to_owned(),
                "  end do".to_owned(),
                "end if".to_owned(),
                call,
            ],
            "MPI_Parrived" => vec![
                call,
                format!("if ({IF_LIVE}) then"),
                "  if (code == 0 .and. c_flag /= 0) call canele_fort_arrived(c_request, int(partition, c_int))"
                    .to_owned(),
                "end if".to_owned(),
            ],
            name if name.starts_with("MPI_Comm_idup") => {
                vec![call, live("call canele_fort_complete(c_null_ptr, c_null_ptr, 0_c_int)")]
            }
            _ if self.completes_requests() => {
                // A query leaves the handle of a request unchanged.
                let asks = u8::from(name.starts_with("MPI_Request_get_status"));
                let (place, _) = requests.split_once(", ").unwrap_or_default();
                branches(
                    vec![
                        format!("taken = canele_fort_take({requests})"),
                        call.clone(),
                        format!("call canele_fort_complete(taken, {place}, {asks}_c_int)"),
                    ],
                    call,
                )
            }
            _ => vec![call],
        }
    }

    /// Returns true if a request may be complete afterwards.
    fn completes_requests(&self) -> bool {
        let starts = ["MPI_Wait", "MPI_Test", "MPI_Request_get_status"];
        self.function.name != "MPI_Test_cancelled"
            && starts.iter().any(|start| self.function.name.starts_with(start))
    }

    /// Returns true if the library gets the place of C's handles of requests.
    pub(super) fn shows_requests(&self) -> bool {
        self.completes_requests() || self.function.name.starts_with("MPI_Start")
    }

    /// Returns the place and the number of C's handles of requests.
    fn requests(&self) -> &'static str {
        let has_many = self.function.parameters.iter().any(|p| p.name == "array_of_requests");
        if has_many { "c_loc(c_array_of_requests), n_array_of_requests" } else { "c_loc(c_request), 1_c_int" }
    }
}

/// Returns a line for partitions that the program has filled.
fn ready(low: &str, high: &str) -> String {
    format!("if ({IF_LIVE}) call canele_fort_ready(c_request, int({low}, c_int), int({high}, c_int))")
}
