//! What can go wrong with frames.

use std::fmt;

#[derive(Debug)]
pub enum FrameError {
    Overlong,
    TooLarge(u64),
    Silent,
    Closed,
    Io(std::io::Error),
}

impl fmt::Display for FrameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Overlong => write!(formatter, "a varint has more than ten bytes"),
            FrameError::TooLarge(length) => write!(formatter, "a frame of {length} bytes is larger than 16 MiB"),
            FrameError::Silent => write!(formatter, "the peer has been silent for too long"),
            FrameError::Closed => write!(formatter, "the peer closed the connection"),
            FrameError::Io(error) => write!(formatter, "{error}"),
        }
    }
}

impl From<std::io::Error> for FrameError {
    fn from(error: std::io::Error) -> Self {
        FrameError::Io(error)
    }
}
