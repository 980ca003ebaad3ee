//! Frames: a length, a kind and a payload.

use crate::error::FrameError;
use crate::varint;

/// The largest payload of a frame: 16 MiB.
pub const LARGEST: u64 = 16 << 20;

#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub kind: u8,
    pub payload: Vec<u8>,
}

impl Frame {
    /// An empty frame, which keeps a connection alive.
    pub fn keep_alive() -> Self {
        Frame { kind: 0, payload: Vec::new() }
    }

    pub fn is_keep_alive(&self) -> bool {
        self.kind == 0 && self.payload.is_empty()
    }

    pub fn encode(&self, output: &mut Vec<u8>) {
        varint::write(self.payload.len() as u64, output);
        output.push(self.kind);
        output.extend_from_slice(&self.payload);
    }
}

/// Takes bytes as they arrive, in pieces of any size, and returns complete frames.
#[derive(Default)]
pub struct Decoder {
    waiting: Vec<u8>,
}

impl Decoder {
    pub fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// Return the next frame, `None` until all of its bytes have arrived.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let Some((length, head)) = varint::read(&self.waiting)? else {
            return Ok(None);
        };
        if length > LARGEST {
            return Err(FrameError::TooLarge(length));
        }
        let end = head + 1 + length as usize;
        if self.waiting.len() < end {
            return Ok(None);
        }
        let frame = Frame { kind: self.waiting[head], payload: self.waiting[head + 1..end].to_vec() };
        self.waiting.drain(..end);
        Ok(Some(frame))
    }
}
