//! Registers of AVX2 and AVX-512.
//!
//! Only `InstructionSet::run` uses the types [`Avx2`] and [`Avx512`], through which all others are reached, and only after
//! the instructions were detected: each `SAFETY` comment below relies on this.
#![expect(unsafe_code, reason = "instructions that not every processor has")]

use crate::{F32Vector, F64Vector, Half, Simd, Vector};
use std::arch::x86_64::{
    __m256, __m256d, __m512, __m512d, _CMP_GT_OQ, _mm_cvtph_ps, _mm_loadl_epi64, _mm_loadu_si128,
    _mm256_add_pd, _mm256_add_ps, _mm256_blendv_ps, _mm256_cmp_ps, _mm256_cvtph_ps,
    _mm256_cvtps_pd, _mm256_fmadd_ps, _mm256_loadu_pd, _mm256_loadu_ps, _mm256_mul_pd,
    _mm256_mul_ps, _mm256_set1_pd, _mm256_set1_ps, _mm256_sqrt_ps, _mm256_storeu_pd,
    _mm256_storeu_ps, _mm256_sub_ps, _mm512_add_pd, _mm512_add_ps, _mm512_cmp_ps_mask,
    _mm512_cvtps_pd, _mm512_fmadd_ps, _mm512_loadu_pd, _mm512_loadu_ps, _mm512_mask_blend_ps,
    _mm512_mask_storeu_pd, _mm512_maskz_loadu_pd, _mm512_mul_pd, _mm512_mul_ps, _mm512_set1_pd,
    _mm512_set1_ps, _mm512_sqrt_ps, _mm512_storeu_pd, _mm512_storeu_ps, _mm512_sub_ps,
};

/// 256-bit vectors.
pub(crate) struct Avx2;

impl Simd for Avx2 {
    type F64x8 = [F64x4; 2];
    type F32x8 = F32x8;
    type F32x16 = [F32x8; 2];
    const MANY_REGISTERS: bool = false;
}

/// 512-bit vectors.
pub(crate) struct Avx512;

impl Simd for Avx512 {
    type F64x8 = F64x8;
    type F32x8 = F32x8;
    type F32x16 = F32x16;
    const MANY_REGISTERS: bool = true;
}

/// A vector in one register.
macro_rules! register {
    ($name:ident, $register:ty, $value:ty, $count:literal, $splat:ident, $load:ident, $store:ident) => {
        #[derive(Clone, Copy)]
        pub(crate) struct $name($register);

        impl Vector<$value, $count> for $name {
            #[inline(always)]
            fn splat(value: $value) -> $name {
                // SAFETY: the processor has the instruction, see above.
                $name(unsafe { $splat(value) })
            }

            #[inline(always)]
            fn load(from: &[$value; $count]) -> $name {
                // SAFETY: as many values can be read there; no alignment is required.
                $name(unsafe { $load(from.as_ptr()) })
            }

            #[inline(always)]
            fn store(self, to: &mut [$value; $count]) {
                // SAFETY: as many values can be written there; no alignment is required.
                unsafe { $store(to.as_mut_ptr(), self.0) }
            }
        }
    };
}

register!(F64x4, __m256d, f64, 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd);
register!(F64x8, __m512d, f64, 8, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd);
register!(F32x8, __m256, f32, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps);
register!(F32x16, __m512, f32, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps);

macro_rules! sum_and_product {
    ($name:ident, $plus:ident, $times:ident) => {
        #[inline(always)]
        fn plus(self, other: $name) -> $name {
            // SAFETY: the processor has the instruction, see above.
            $name(unsafe { $plus(self.0, other.0) })
        }

        #[inline(always)]
        fn times(self, other: $name) -> $name {
            // SAFETY: the processor has the instruction, see above.
            $name(unsafe { $times(self.0, other.0) })
        }
    };
}

/// Operations of f32 whose result has one right rounding.
macro_rules! rounded_operations {
    ($name:ident, $plus:ident, $minus:ident, $times:ident, $square_root:ident) => {
        #[inline(always)]
        fn plus(self, other: $name) -> $name {
            // SAFETY: the processor has the instruction, see above.
            $name(unsafe { $plus(self.0, other.0) })
        }

        #[inline(always)]
        fn minus(self, other: $name) -> $name {
            // SAFETY: the processor has the instruction, see above.
            $name(unsafe { $minus(self.0, other.0) })
        }

        #[inline(always)]
        fn times(self, other: $name) -> $name {
            // SAFETY: the processor has the instruction, see above.
            $name(unsafe { $times(self.0, other.0) })
        }

        #[inline(always)]
        fn square_root(self) -> $name {
            // SAFETY: the processor has the instruction, see above.
            $name(unsafe { $square_root(self.0) })
        }
    };
}

impl F64Vector<4> for F64x4 {
    sum_and_product!(F64x4, _mm256_add_pd, _mm256_mul_pd);

    #[inline(always)]
    fn load_halves(from: &[Half; 4]) -> F64x4 {
        // SAFETY: 64 bits can be read there, and no alignment is required; the processor has the instructions.
        F64x4(unsafe { _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(from.as_ptr().cast()))) })
    }
}

impl F64Vector<8> for F64x8 {
    sum_and_product!(F64x8, _mm512_add_pd, _mm512_mul_pd);

    #[inline(always)]
    fn load_halves(from: &[Half; 8]) -> F64x8 {
        // SAFETY: 128 bits can be read there, and no alignment is required; the processor has the instructions.
        F64x8(unsafe { _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128(from.as_ptr().cast()))) })
    }

    #[inline(always)]
    fn load_part(from: &[f64]) -> F64x8 {
        // SAFETY: only lanes that the slice has are read.
        F64x8(unsafe { _mm512_maskz_loadu_pd(first(from.len()), from.as_ptr()) })
    }

    #[inline(always)]
    fn store_part(self, to: &mut [f64]) {
        // SAFETY: only lanes that the slice has are written.
        unsafe { _mm512_mask_storeu_pd(to.as_mut_ptr(), first(to.len()), self.0) }
    }
}

/// A mask of the first `count` lanes.
#[inline(always)]
fn first(count: usize) -> u8 {
    !(u8::MAX.checked_shl(u32::try_from(count).unwrap_or(u32::MAX)).unwrap_or(0))
}

impl F32Vector<8> for F32x8 {
    rounded_operations!(F32x8, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_sqrt_ps);

    #[inline(always)]
    fn multiply_add(self, factor: F32x8, sum: F32x8) -> F32x8 {
        // SAFETY: the processor has the instruction, see above.
        F32x8(unsafe { _mm256_fmadd_ps(self.0, factor.0, sum.0) })
    }

    #[inline(always)]
    fn select_greater(self, other: F32x8, yes: F32x8, no: F32x8) -> F32x8 {
        // SAFETY: the processor has the instructions, see above.
        unsafe {
            let is_greater = _mm256_cmp_ps::<_CMP_GT_OQ>(self.0, other.0);
            F32x8(_mm256_blendv_ps(no.0, yes.0, is_greater))
        }
    }
}

impl F32Vector<16> for F32x16 {
    rounded_operations!(F32x16, _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps, _mm512_sqrt_ps);

    #[inline(always)]
    fn multiply_add(self, factor: F32x16, sum: F32x16) -> F32x16 {
        // SAFETY: the processor has the instruction, see above.
        F32x16(unsafe { _mm512_fmadd_ps(self.0, factor.0, sum.0) })
    }

    #[inline(always)]
    fn select_greater(self, other: F32x16, yes: F32x16, no: F32x16) -> F32x16 {
        // SAFETY: the processor has the instructions, see above.
        unsafe {
            let is_greater = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(self.0, other.0);
            F32x16(_mm512_mask_blend_ps(is_greater, no.0, yes.0))
        }
    }
}
