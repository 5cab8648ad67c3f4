//! The stream of random words generated from one key.

use aes::Aes256;
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use ctr::Ctr64LE;
use zeroize::Zeroize;

use super::entropy::{Cipher, StreamKey};

/// A random word as the cipher wrote it: eight bytes, read as little-endian on every machine.
///
/// The kernel reads words in place with [`u64::from_le_bytes`], which costs nothing on a
/// little-endian machine, so neither an `unsafe` cast nor a copy is needed.
pub(super) type Word = [u8; 8];

/// The keystream of a [`StreamKey`], from its beginning.
///
/// # Guarantee
/// The words are the cipher's output under a zero nonce, which is sound because a key serves one
/// stream only. No word repeats: AES counts 2⁶⁴ blocks of 16 bytes, more than any machine can generate;
/// ChaCha20 counts 2³² blocks of 64 bytes, enough for 2³⁴ coordinates of 16 bytes each, more than fit
/// in memory, and beyond that the cipher panics instead of repeating.
/// The cipher state is erased on drop.
#[expect(clippy::large_enum_variant, reason = "one exists at a time, on the stack")]
pub(super) enum Keystream {
    Aes256Ctr(Ctr64LE<Aes256>),
    ChaCha20(ChaCha20),
}

impl Keystream {
    /// Starts the stream, consuming the key so that no second stream can be made of it.
    #[expect(clippy::needless_pass_by_value, reason = "a key serves one stream only")]
    pub(super) fn new(key: StreamKey) -> Keystream {
        let bytes = key.bytes().into();
        match key.cipher() {
            Cipher::Aes256Ctr => Keystream::Aes256Ctr(KeyIvInit::new(bytes, &[0; 16].into())),
            Cipher::ChaCha20 => Keystream::ChaCha20(KeyIvInit::new(bytes, &[0; 12].into())),
        }
    }

    /// Fills `words` with the next words of the stream.
    pub(super) fn fill(&mut self, words: &mut [Word]) {
        let bytes = words.as_flattened_mut();
        match self {
            Keystream::Aes256Ctr(cipher) => cipher.write_keystream(bytes),
            Keystream::ChaCha20(cipher) => cipher.write_keystream(bytes),
        }
    }

    /// Draws one further word, for the slow path.
    pub(super) fn next_word(&mut self) -> u64 {
        let mut word = [[0_u8; 8]];
        self.fill(&mut word);
        let value = u64::from_le_bytes(word[0]);
        word.zeroize();
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(cipher: Cipher, counts: &[usize]) -> Vec<Word> {
        let mut stream = Keystream::new(StreamKey::new(cipher, [7; 32]));
        let mut all = Vec::new();
        for &count in counts {
            let mut some = vec![[0; 8]; count];
            stream.fill(&mut some);
            all.extend(some);
        }
        all
    }

    #[test]
    fn words_do_not_depend_on_how_many_are_asked_for_at_once() {
        for cipher in [Cipher::Aes256Ctr, Cipher::ChaCha20] {
            assert_eq!(words(cipher, &[100]), words(cipher, &[1, 2, 30, 67]));
        }
    }

    #[test]
    fn aes_stream_is_the_published_cipher() {
        // AES-256 of the zero block under the key 00, 01, … 1f, by OpenSSL.
        let mut key = [0; 32];
        for (byte, value) in key.iter_mut().zip(0..) {
            *byte = value;
        }
        let mut stream = Keystream::new(StreamKey::new(Cipher::Aes256Ctr, key));
        assert_eq!(stream.next_word().swap_bytes(), 0xf290_00b6_2a49_9fd0);
        assert_eq!(stream.next_word().swap_bytes(), 0xa9f3_9a6a_dd2e_7780);
    }

    #[test]
    fn chacha_stream_is_the_published_cipher() {
        // RFC 8439, appendix A.1, test vector 1: zero key, zero nonce, block 0.
        let mut stream = Keystream::new(StreamKey::new(Cipher::ChaCha20, [0; 32]));
        let mut words = [[0; 8]; 2];
        stream.fill(&mut words);
        let expected = [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90];
        assert_eq!(words[0], expected);
    }
}
