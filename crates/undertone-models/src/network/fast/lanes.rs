//! Vectors of eight f32: in one register where the processor has one, in an array elsewhere.
//!
//! Left to the compiler, loops over arrays reached about a third of the speed: it spilled running sums to
//! memory and read weights again for each use.

/// Values in a vector.
pub(super) const LANES: usize = 8;

/// A vector of eight f32.
pub(super) trait Lanes: Copy {
    /// Eight times the same.
    fn splat(value: f32) -> Self;
    fn load(from: &[f32; LANES]) -> Self;
    fn store(self, to: &mut [f32; LANES]);
    /// self · factor + sum.
    fn multiply_add(self, factor: Self, sum: Self) -> Self;
}

/// Any processor. Products and sums are rounded apart unless the processor is known to fuse them; where it
/// does not, fusing would be a slow library call.
#[derive(Clone, Copy)]
pub(super) struct Portable([f32; LANES]);

impl Lanes for Portable {
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
}

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2;

#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "instructions that not every processor has")]
mod avx2 {
    use super::{LANES, Lanes};
    use std::arch::x86_64::{
        __m256, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_storeu_ps,
    };

    /// One register of a processor with AVX2 and FMA.
    ///
    /// Only code reached through `InstructionSet::Avx2` names this type, and that is entered after the
    /// processor was found to have both: this is what each `SAFETY` below relies on.
    #[derive(Clone, Copy)]
    pub(in crate::network::fast) struct Avx2(__m256);

    impl Lanes for Avx2 {
        #[inline(always)]
        fn splat(value: f32) -> Avx2 {
            // SAFETY: the processor has the instruction, see the type.
            Avx2(unsafe { _mm256_set1_ps(value) })
        }

        #[inline(always)]
        fn load(from: &[f32; LANES]) -> Avx2 {
            // SAFETY: eight values can be read there; alignment is not asked for. As for the type.
            Avx2(unsafe { _mm256_loadu_ps(from.as_ptr()) })
        }

        #[inline(always)]
        fn store(self, to: &mut [f32; LANES]) {
            // SAFETY: eight values can be written there; alignment is not asked for. As for the type.
            unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self.0) }
        }

        #[inline(always)]
        fn multiply_add(self, factor: Avx2, sum: Avx2) -> Avx2 {
            // SAFETY: the processor has the instruction, see the type.
            Avx2(unsafe { _mm256_fmadd_ps(self.0, factor.0, sum.0) })
        }
    }
}
