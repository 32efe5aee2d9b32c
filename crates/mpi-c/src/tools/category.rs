//! Categories (MPI 5.0, §15.3.9).

use core::ffi::c_int;

use canele_mpi::tools::category::{Category, categories};
use canele_mpi::tools::{Reason, ToolError, ToolResult, at, index_of};

use super::{call, write_text};
use crate::error::CallResult;
use crate::pointer::{Out, Text, TextOut};

/// The update number of categories. It stays 0, since categories never change.
const UPDATE: c_int = 0;

fn find(cat_index: c_int) -> ToolResult<&'static Category> {
    at(categories(), cat_index, "cat_index")
}

/// Stores as many of a category's members as fit.
fn list(cat_index: c_int, len: c_int, indices: Out<c_int>, of: fn(&Category) -> &Vec<c_int>) -> CallResult {
    call(|| {
        let members = of(find(cat_index)?);
        let Ok(room) = usize::try_from(len) else {
            return Err(ToolError::new(Reason::Invalid, format!("len is {len}: it must not be negative")));
        };
        Ok(indices.set_all(members.iter().copied().take(room), "indices")?)
    })
}

/// `MPI_T_category_get_num`.
pub fn category_get_num(num_cat: Out<c_int>) -> CallResult {
    call(|| Ok(num_cat.set(categories().len() as c_int, "num_cat")?))
}

/// `MPI_T_category_get_info`.
pub fn category_get_info(
    cat_index: c_int,
    name: TextOut,
    name_len: Out<c_int>,
    desc: TextOut,
    desc_len: Out<c_int>,
    num_cvars: Out<c_int>,
    num_pvars: Out<c_int>,
    num_categories: Out<c_int>,
) -> CallResult {
    call(|| {
        let found = find(cat_index)?;
        write_text(name, name_len, &found.name)?;
        write_text(desc, desc_len, &found.description)?;
        num_cvars.put(found.controls.len() as c_int);
        num_pvars.put(found.performances.len() as c_int);
        num_categories.put(found.categories.len() as c_int);
        Ok(())
    })
}

/// `MPI_T_category_get_num_events`.
pub fn category_get_num_events(cat_index: c_int, num_events: Out<c_int>) -> CallResult {
    call(|| Ok(num_events.set(find(cat_index)?.events.len() as c_int, "num_events")?))
}

/// `MPI_T_category_get_index`.
pub fn category_get_index(name: Text, cat_index: Out<c_int>) -> CallResult {
    call(|| {
        let index = index_of(categories(), &name.read("name")?, |found| &found.name)?;
        Ok(cat_index.set(index, "cat_index")?)
    })
}

/// `MPI_T_category_get_cvars`.
pub fn category_get_cvars(cat_index: c_int, len: c_int, indices: Out<c_int>) -> CallResult {
    list(cat_index, len, indices, |found| &found.controls)
}

/// `MPI_T_category_get_pvars`.
pub fn category_get_pvars(cat_index: c_int, len: c_int, indices: Out<c_int>) -> CallResult {
    list(cat_index, len, indices, |found| &found.performances)
}

/// `MPI_T_category_get_events`.
pub fn category_get_events(cat_index: c_int, len: c_int, indices: Out<c_int>) -> CallResult {
    list(cat_index, len, indices, |found| &found.events)
}

/// `MPI_T_category_get_categories`.
pub fn category_get_categories(cat_index: c_int, len: c_int, indices: Out<c_int>) -> CallResult {
    list(cat_index, len, indices, |found| &found.categories)
}

/// `MPI_T_category_changed`.
pub fn category_changed(update_number: Out<c_int>) -> CallResult {
    call(|| Ok(update_number.set(UPDATE, "update_number")?))
}
