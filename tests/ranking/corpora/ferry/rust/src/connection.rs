//! A connection that sends frames, and disconnects a peer that has been silent for too long.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use crate::error::FrameError;
use crate::frame::{Decoder, Frame};

/// A peer that has been silent for so long is disconnected.
pub const SILENCE: Duration = Duration::from_secs(30);

pub struct Connection<S: Read + Write> {
    stream: S,
    decoder: Decoder,
    heard: Instant,
}

impl<S: Read + Write> Connection<S> {
    pub fn new(stream: S) -> Self {
        Connection { stream, decoder: Decoder::default(), heard: Instant::now() }
    }

    pub fn send(&mut self, frame: &Frame) -> Result<(), FrameError> {
        let mut output = Vec::new();
        frame.encode(&mut output);
        self.stream.write_all(&output)?;
        Ok(())
    }

    /// Wait for the next frame that is not a keep-alive.
    pub fn receive(&mut self) -> Result<Frame, FrameError> {
        let mut buffer = [0u8; 4096];
        loop {
            while let Some(frame) = self.decoder.next_frame()? {
                self.heard = Instant::now();
                if !frame.is_keep_alive() {
                    return Ok(frame);
                }
            }
            if self.heard.elapsed() > SILENCE {
                return Err(FrameError::Silent);
            }
            let count = self.stream.read(&mut buffer)?;
            if count == 0 {
                return Err(FrameError::Closed);
            }
            self.decoder.push(&buffer[..count]);
        }
    }

    /// Send an empty frame, so that the other side does not disconnect.
    pub fn ping(&mut self) -> Result<(), FrameError> {
        self.send(&Frame::keep_alive())
    }
}
