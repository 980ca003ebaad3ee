"""Reads frames from a socket; the counterpart in Rust is complete, this client only listens."""

LARGEST = 16 << 20


def read_varint(stream):
    """Return a number in seven bits a byte."""
    value = shift = 0
    while True:
        byte = stream.read(1)[0]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
        shift += 7


def read_frame(stream):
    """Return kind and payload of the next frame."""
    length = read_varint(stream)
    if length > LARGEST:
        raise ValueError(f"a frame of {length} bytes is too large")
    kind = stream.read(1)[0]
    return kind, stream.read(length)


def listen(stream, handle):
    """Call `handle` with each frame; empty ones only keep the connection alive."""
    while True:
        kind, payload = read_frame(stream)
        if kind or payload:
            handle(kind, payload)
