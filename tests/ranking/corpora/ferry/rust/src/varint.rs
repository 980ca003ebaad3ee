//! Numbers in seven bits a byte, the lowest first.

use crate::error::FrameError;

/// A varint has at most ten bytes.
pub const LONGEST: usize = 10;

/// Append a number.
pub fn write(mut value: u64, output: &mut Vec<u8>) {
    while value >= 0x80 {
        output.push(value as u8 | 0x80);
        value >>= 7;
    }
    output.push(value as u8);
}

/// Return a number and how many bytes it has, `None` if more bytes are needed.
pub fn read(input: &[u8]) -> Result<Option<(u64, usize)>, FrameError> {
    let mut value = 0u64;
    for (place, byte) in input.iter().take(LONGEST).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Ok(Some((value, place + 1)));
        }
    }
    if input.len() >= LONGEST {
        return Err(FrameError::Overlong);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_survives_writing_and_reading() {
        let mut output = Vec::new();
        write(300, &mut output);
        assert_eq!(read(&output).unwrap(), Some((300, 2)));
    }

    #[test]
    fn an_overlong_varint_is_an_error() {
        assert!(read(&[0x80; 10]).is_err());
    }
}
