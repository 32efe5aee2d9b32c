//! Functions that wait for, test or start several requests.

use std::time::Instant;

use canele_engine::Pending;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::request::{Kind, Request};
use crate::wait::{deadline, fail_if_in_vain, portion};

type Requests<'py> = Vec<PyRef<'py, Request>>;

/// Waits for all requests and returns their results, in the order of the list. Raises the first failure, after all requests have ended.
///
/// `timeout` is in seconds, for all requests together.
#[pyfunction]
#[pyo3(signature = (requests, timeout=None))]
pub fn wait_all(py: Python<'_>, requests: Requests<'_>, timeout: Option<f64>) -> PyResult<Vec<Py<PyAny>>> {
    let deadline = deadline(timeout)?;
    for request in &requests {
        request.block(py, deadline)?;
    }
    requests.iter().map(|request| request.result(py)).collect()
}

/// Waits until one of the requests has ended. Returns the place in the list of the first request that has ended.
///
/// Raises ValueError if the list is empty.
#[pyfunction]
#[pyo3(signature = (requests, timeout=None))]
pub fn wait_any(py: Python<'_>, requests: Requests<'_>, timeout: Option<f64>) -> PyResult<usize> {
    first_of(py, &requests, deadline(timeout)?)
}

fn first_of(py: Python<'_>, requests: &[PyRef<'_, Request>], deadline: Option<Instant>) -> PyResult<usize> {
    let Some(first) = requests.first() else {
        return Err(PyValueError::new_err("there is no request to wait for: the list is empty"));
    };
    let engine = first.context.engine.clone();
    loop {
        let pending: Vec<_> = requests.iter().map(|request| request.pending()).collect();
        if let Some(place) = pending.iter().position(Option::is_none) {
            return Ok(place);
        }
        let list: Vec<Pending> = pending.into_iter().flatten().collect();
        if let Some((place, ended)) = portion(py, deadline, |end| engine.wait_any(&list, Some(end)))? {
            requests[place].settle(py, ended);
            return Ok(place);
        }
        let all_from_any = requests.iter().all(|request| request.kind == Kind::ReceiveFromAny);
        fail_if_in_vain(py, &first.context, all_from_any)?;
    }
}

/// Waits until at least one of the requests has ended. Returns the places in the list of all requests that have ended.
#[pyfunction]
#[pyo3(signature = (requests, timeout=None))]
pub fn wait_some(py: Python<'_>, requests: Requests<'_>, timeout: Option<f64>) -> PyResult<Vec<usize>> {
    first_of(py, &requests, deadline(timeout)?)?;
    let mut ended = Vec::new();
    for (place, request) in requests.iter().enumerate() {
        if request.test(py)? {
            ended.push(place);
        }
    }
    Ok(ended)
}

/// Returns the place in the list of the first request that has ended, or None. Never waits.
#[pyfunction]
pub fn test_any(py: Python<'_>, requests: Requests<'_>) -> PyResult<Option<usize>> {
    for (place, request) in requests.iter().enumerate() {
        if request.test(py)? {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// Returns True if all requests have ended. Never waits.
#[pyfunction]
pub fn test_all(py: Python<'_>, requests: Requests<'_>) -> PyResult<bool> {
    // Each request is tested, so that all make progress.
    requests.iter().try_fold(true, |all, request| Ok(request.test(py)? && all))
}

/// Starts persistent requests in the order of the list.
#[pyfunction]
pub fn start_all(py: Python<'_>, requests: Requests<'_>) -> PyResult<()> {
    requests.iter().try_for_each(|request| request.start(py))
}
