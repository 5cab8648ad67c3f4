//! Vectors of eight and of sixteen f32: in registers where the processor has them, in arrays elsewhere.
//!
//! Left to the compiler, loops over arrays reached about a third of the speed: it spilled running sums to
//! memory and read weights again for each use.

/// Values in a short vector.
pub(super) const LANES: usize = 8;

/// Values in a long vector: the output channels of a convolution that are computed together.
pub(super) const BLOCK: usize = 2 * LANES;

/// A vector of N f32.
pub(super) trait Vector<const N: usize>: Copy {
    /// N times the same.
    fn splat(value: f32) -> Self;
    fn load(from: &[f32; N]) -> Self;
    fn store(self, to: &mut [f32; N]);
    /// self · factor + sum.
    fn multiply_add(self, factor: Self, sum: Self) -> Self;
    /// The larger one of both and its tag, value by value; self and its tag where `other` is not larger.
    fn larger(self, other: Self, tags: (Self, Self)) -> (Self, Self);
}

/// The vectors of an instruction set: a short one, and the long one that goes with it.
pub(super) trait Lanes: Vector<LANES> {
    type Block: Vector<BLOCK>;
    /// Whether 25 long vectors can be held in registers, or only six.
    const MANY_REGISTERS: bool;
}

/// A long vector in two short ones.
impl<V: Vector<LANES>> Vector<BLOCK> for [V; 2] {
    #[inline(always)]
    fn splat(value: f32) -> [V; 2] {
        [V::splat(value); 2]
    }

    #[inline(always)]
    fn load(from: &[f32; BLOCK]) -> [V; 2] {
        let halves = from.as_chunks::<LANES>().0;
        [V::load(&halves[0]), V::load(&halves[1])]
    }

    #[inline(always)]
    fn store(self, to: &mut [f32; BLOCK]) {
        let halves = to.as_chunks_mut::<LANES>().0;
        self[0].store(&mut halves[0]);
        self[1].store(&mut halves[1]);
    }

    #[inline(always)]
    fn multiply_add(self, factor: [V; 2], sum: [V; 2]) -> [V; 2] {
        [self[0].multiply_add(factor[0], sum[0]), self[1].multiply_add(factor[1], sum[1])]
    }

    #[inline(always)]
    fn larger(self, other: [V; 2], (own, others): ([V; 2], [V; 2])) -> ([V; 2], [V; 2]) {
        let (first, first_tag) = self[0].larger(other[0], (own[0], others[0]));
        let (second, second_tag) = self[1].larger(other[1], (own[1], others[1]));
        ([first, second], [first_tag, second_tag])
    }
}

/// Any processor. Products and sums are rounded apart unless the processor is known to fuse them; where it
/// does not, fusing would be a slow library call.
#[derive(Clone, Copy)]
pub(super) struct Portable([f32; LANES]);

impl Lanes for Portable {
    type Block = [Portable; 2];
    const MANY_REGISTERS: bool = false;
}

impl Vector<LANES> for Portable {
    #[inline(always)]
    fn splat(value: f32) -> Portable {
        Portable([value; LANES])
    }

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Portable {
        Portable(*from)
    }

    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        *to = self.0;
    }

    #[inline(always)]
    fn multiply_add(self, factor: Portable, mut sum: Portable) -> Portable {
        for lane in 0..LANES {
            sum.0[lane] = if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
                self.0[lane].mul_add(factor.0[lane], sum.0[lane])
            } else {
                self.0[lane] * factor.0[lane] + sum.0[lane]
            };
        }
        sum
    }

    #[inline(always)]
    fn larger(
        mut self,
        other: Portable,
        (mut own, others): (Portable, Portable),
    ) -> (Portable, Portable) {
        for lane in 0..LANES {
            let takes_other = other.0[lane] > self.0[lane];
            self.0[lane] = if takes_other { other.0[lane] } else { self.0[lane] };
            own.0[lane] = if takes_other { others.0[lane] } else { own.0[lane] };
        }
        (self, own)
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "instructions that not every processor has")]
mod x86 {
    use super::{BLOCK, LANES, Lanes, Vector};
    use std::arch::x86_64::{
        __m256, __m512, _CMP_GT_OQ, _mm256_blendv_ps, _mm256_cmp_ps, _mm256_fmadd_ps,
        _mm256_loadu_ps, _mm256_set1_ps, _mm256_storeu_ps, _mm512_cmp_ps_mask, _mm512_fmadd_ps,
        _mm512_loadu_ps, _mm512_mask_blend_ps, _mm512_set1_ps, _mm512_storeu_ps,
    };

    /// A type for the registers of a processor that has them.
    ///
    /// Only code reached through the `InstructionSet` of the same name names these types, and that is entered
    /// after the processor was found to have it: this is what each `SAFETY` below relies on.
    macro_rules! register {
        ($name:ident, $register:ty, $values:ident, $splat:ident, $load:ident, $store:ident, $multiply_add:ident, $larger:ident) => {
            #[derive(Clone, Copy)]
            pub(in crate::neural::fast) struct $name($register);

            impl Vector<$values> for $name {
                #[inline(always)]
                fn splat(value: f32) -> $name {
                    // SAFETY: the processor has the instruction, see above.
                    $name(unsafe { $splat(value) })
                }

                #[inline(always)]
                fn load(from: &[f32; $values]) -> $name {
                    // SAFETY: as many values can be read there; alignment is not asked for.
                    $name(unsafe { $load(from.as_ptr()) })
                }

                #[inline(always)]
                fn store(self, to: &mut [f32; $values]) {
                    // SAFETY: as many values can be written there; alignment is not asked for.
                    unsafe { $store(to.as_mut_ptr(), self.0) }
                }

                #[inline(always)]
                fn multiply_add(self, factor: $name, sum: $name) -> $name {
                    // SAFETY: the processor has the instruction, see above.
                    $name(unsafe { $multiply_add(self.0, factor.0, sum.0) })
                }

                #[inline(always)]
                fn larger(self, other: $name, (own, others): ($name, $name)) -> ($name, $name) {
                    // SAFETY: the processor has the instructions, see above.
                    let (value, tag) = unsafe { $larger(self.0, other.0, own.0, others.0) };
                    ($name(value), $name(tag))
                }
            }
        };
    }

    register!(
        Avx2,
        __m256,
        LANES,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_fmadd_ps,
        larger_256
    );
    register!(
        Avx512,
        __m256,
        LANES,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_fmadd_ps,
        larger_256
    );
    register!(
        Long,
        __m512,
        BLOCK,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_fmadd_ps,
        larger_512
    );

    #[inline]
    #[target_feature(enable = "avx")]
    fn larger_256(one: __m256, other: __m256, tag: __m256, other_tag: __m256) -> (__m256, __m256) {
        let takes_other = _mm256_cmp_ps::<_CMP_GT_OQ>(other, one);
        let value = _mm256_blendv_ps(one, other, takes_other);
        (value, _mm256_blendv_ps(tag, other_tag, takes_other))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn larger_512(one: __m512, other: __m512, tag: __m512, other_tag: __m512) -> (__m512, __m512) {
        let takes_other = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(other, one);
        let value = _mm512_mask_blend_ps(takes_other, one, other);
        (value, _mm512_mask_blend_ps(takes_other, tag, other_tag))
    }

    impl Lanes for Avx2 {
        type Block = [Avx2; 2];
        const MANY_REGISTERS: bool = false;
    }

    impl Lanes for Avx512 {
        type Block = Long;
        const MANY_REGISTERS: bool = true;
    }
}
