//! Every instruction set does the same with f64, and selects f32 alike.

use super::*;

#[test]
fn there_is_always_an_instruction_set() {
    assert_eq!(InstructionSet::available().next(), Some(InstructionSet::Portable));
    assert_eq!(InstructionSet::available().next_back(), Some(InstructionSet::best()));
}

/// The bits of every operation that must not depend on the instruction set, on the first `len` of eight numbers.
struct AllOperations {
    len: usize,
}

impl Kernel for AllOperations {
    type Output = Vec<u64>;

    #[inline(always)]
    fn run<S: Simd>(self) -> Vec<u64> {
        let numbers: [f64; 8] = std::array::from_fn(|k| (k as f64 * 0.731 + 0.3).sin());
        let (part, whole) = (S::F64x8::load_part(&numbers[..self.len]), S::F64x8::load(&numbers));
        let halves = numbers.map(|number| Half::towards_zero((number * 1e-4) as f32));
        let half_part = S::F64x8::load_part_of_halves(&halves[..self.len]);
        let halves = S::F64x8::load_halves(&halves).array();
        let mut stored = [f64::NAN; 8];
        part.plus_product(whole, S::F64x8::splat(0.1)).store_part(&mut stored[..self.len]);
        let narrow = numbers.map(|number| number as f32);
        let (x, zero) = (S::F32x8::load(&narrow), S::F32x8::splat(0.0));
        let (mut short, mut roots, mut long) = ([0.0; 8], [0.0; 8], [0.0; 16]);
        x.select_greater(zero, x, S::F32x8::splat(f32::NAN)).store(&mut short);
        let square = x.times(x).plus(S::F32x8::splat(0.1)).minus(x.times(zero));
        square.square_root().store(&mut roots);
        let mut wide_roots = [0.0; 16];
        let doubled: [f32; 16] = std::array::from_fn(|k| narrow[k % 8] + k as f32);
        let y = S::F32x16::load(&doubled);
        y.times(y).plus(y).minus(S::F32x16::splat(-0.3)).square_root().store(&mut wide_roots);
        S::F32x16::splat(f32::NAN)
            .select_greater(S::F32x16::splat(0.0), S::F32x16::splat(1.0), S::F32x16::splat(2.0))
            .store(&mut long);
        let wide = stored.into_iter().chain(part.times(whole).plus(whole).array());
        let wide = wide.chain(halves).chain(half_part.array());
        let narrow = short
            .into_iter()
            .chain(roots)
            .chain(wide_roots)
            .chain(long)
            .map(|number| u64::from(number.to_bits()));
        wide.map(f64::to_bits).chain(narrow).collect()
    }
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    for len in 0..=8 {
        let expected = InstructionSet::Portable.run(AllOperations { len });
        assert_eq!(
            expected[..8].iter().filter(|&&bits| f64::from_bits(bits).is_nan()).count(),
            8 - len
        );
        for set in InstructionSet::available() {
            assert_eq!(set.run(AllOperations { len }), expected, "{set:?}, {len} numbers");
        }
    }
}
