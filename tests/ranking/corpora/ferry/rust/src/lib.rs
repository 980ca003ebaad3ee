//! The binary format of ferry: frames, varints and a connection that keeps itself alive.

pub mod connection;
pub mod error;
pub mod frame;
pub mod varint;

pub use connection::Connection;
pub use error::FrameError;
pub use frame::Frame;
