//! Ports and service names (MPI 5.0, §11.9).

use core::ffi::c_int;
use std::time::Duration;

use canele_mpi::{Result, fail};

use crate::comm::create::give;
use crate::constants::MPI_MAX_PORT_NAME;
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Info, ObjectHandle};
use crate::infos;
use crate::library;
use crate::pointer::{Out, Text, TextOut};

/// `MPI_Open_port`.
pub fn open_port(info: MPI_Info, port_name: TextOut) -> CallResult {
    infos::check(info)?;
    port_name.write(library::world()?.open_port()?, MPI_MAX_PORT_NAME as usize, "port_name")?;
    Ok(())
}

/// `MPI_Close_port`.
pub fn close_port(port_name: Text) -> CallResult {
    Ok(library::world()?.close_port(&port_name.read("port_name")?)?)
}

/// `MPI_Publish_name`.
pub fn publish_name(service_name: Text, info: MPI_Info, port_name: Text) -> CallResult {
    infos::check(info)?;
    let (service, port) = (service_name.read("service_name")?, port_name.read("port_name")?);
    Ok(library::world()?.publish_name(&service, &port)?)
}

/// `MPI_Unpublish_name`.
pub fn unpublish_name(service_name: Text, info: MPI_Info, port_name: Text) -> CallResult {
    infos::check(info)?;
    port_name.read("port_name")?;
    Ok(library::world()?.unpublish_name(&service_name.read("service_name")?)?)
}

/// `MPI_Lookup_name`.
pub fn lookup_name(service_name: Text, info: MPI_Info, port_name: TextOut) -> CallResult {
    infos::check(info)?;
    let port = library::world()?.lookup_name(&service_name.read("service_name")?)?;
    port_name.write(port, MPI_MAX_PORT_NAME as usize, "port_name")?;
    Ok(())
}

/// `MPI_Comm_accept`.
pub fn comm_accept(
    port_name: Text,
    info: MPI_Info,
    root: c_int,
    comm: MPI_Comm,
    newcomm: Out<MPI_Comm>,
) -> CallResult {
    infos::check(info)?;
    let (found, root) = (comm.share()?, super::spawn::root_of(root)?);
    give(newcomm, Some(library::world()?.accept(&found, root, || name(port_name))?))
}

/// `MPI_Comm_connect`.
pub fn comm_connect(
    port_name: Text,
    info: MPI_Info,
    root: c_int,
    comm: MPI_Comm,
    newcomm: Out<MPI_Comm>,
) -> CallResult {
    infos::check(info)?;
    let (found, root) = (comm.share()?, super::spawn::root_of(root)?);
    let port = || Ok((name(port_name)?, limit(info)?));
    give(newcomm, Some(library::world()?.connect(&found, root, port)?))
}

/// Returns the time limit of a connection: the info key `timeout`, in seconds.
fn limit(info: MPI_Info) -> Result<Option<Duration>> {
    let Some(text) = infos::said(info)?.map(|info| info.get("timeout")).transpose()?.flatten() else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    match text.trim().parse() {
        Ok(seconds) => Ok(Some(Duration::from_secs(seconds))),
        Err(_) => fail!(InfoValue, "timeout is {text:?}: it is a number of seconds"),
    }
}

fn name(port_name: Text) -> Result<String> {
    port_name.read("port_name")
}
