use ferry_frames::frame::{Decoder, Frame};

#[test]
fn a_frame_that_arrives_in_pieces_is_returned_once_it_is_complete() {
    let mut bytes = Vec::new();
    Frame { kind: 7, payload: vec![1, 2, 3] }.encode(&mut bytes);
    let mut decoder = Decoder::default();
    decoder.push(&bytes[..2]);
    assert!(decoder.next_frame().unwrap().is_none());
    decoder.push(&bytes[2..]);
    assert_eq!(decoder.next_frame().unwrap().unwrap().payload, vec![1, 2, 3]);
}
