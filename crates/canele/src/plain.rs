//! What can travel as bytes.

/// Plain data: types without padding, pointers or invalid values, which can travel as bytes.
///
/// Numbers and arrays of them are plain. A structure of plain fields becomes so by a derive:
///
/// ```
/// use canele::bytemuck::{Pod, Zeroable};
///
/// #[derive(Clone, Copy, Pod, Zeroable)]
/// #[bytemuck(crate = "canele::bytemuck")]
/// #[repr(C)]
/// struct Particle {
///     position: [f64; 3],
///     charge: f64,
/// }
///
/// fn travels<T: canele::Plain>() {}
/// travels::<Particle>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel as bytes",
    label = "not plain data",
    note = "a structure of plain fields without padding can: `#[derive(Clone, Copy, canele::bytemuck::Pod, canele::bytemuck::Zeroable)]`, `#[bytemuck(crate = \"canele::bytemuck\")]` and `#[repr(C)]`"
)]
pub trait Plain: bytemuck::Pod {}

#[diagnostic::do_not_recommend]
impl<T: bytemuck::Pod> Plain for T {}
