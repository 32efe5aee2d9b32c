//! Collectives through the public interface: random ones on a simulated network, and non-blocking ones of real engines.

mod form;
mod model;
mod random;
mod reference;
