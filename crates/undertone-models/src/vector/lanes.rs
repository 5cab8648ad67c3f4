//! Eight f64, in registers where the processor has them, in an array elsewhere.
//!
//! Left to the compiler, loops over arrays took three times as long: it did not see vectors in them.

/// How many interleaved sums there are.
pub(crate) const LANES: usize = 8;

/// How far ahead memory is asked for: some hundred nanoseconds of reading.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 4096;

/// Eight numbers. All implementations give the same bits: products are never fused with sums.
pub(crate) trait Lanes: Copy {
    /// Eight times the same.
    fn splat(value: f64) -> Self;
    fn load(from: &[f64; LANES]) -> Self;
    fn store(self, to: &mut [f64; LANES]);
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// self + left · right, rounded twice.
    fn plus_product(self, left: Self, right: Self) -> Self;

    /// Asks for the memory that [`AHEAD`] bytes further is, where a processor can be asked: it will be read soon. Changes nothing
    /// else, and may point anywhere.
    #[inline(always)]
    fn fetch_ahead(_from: &[f64; LANES]) {}

    /// Fewer than eight numbers, and zeros.
    #[inline(always)]
    fn load_part(from: &[f64]) -> Self {
        let mut whole = [0.0; LANES];
        for (slot, value) in whole.iter_mut().zip(from) {
            *slot = *value;
        }
        Self::load(&whole)
    }

    /// As many as fit.
    #[inline(always)]
    fn store_part(self, to: &mut [f64]) {
        for (slot, value) in to.iter_mut().zip(self.array()) {
            *slot = value;
        }
    }

    #[inline(always)]
    fn array(self) -> [f64; LANES] {
        let mut array = [0.0; LANES];
        self.store(&mut array);
        array
    }

    /// Adds up the lanes, always in the same order.
    #[inline(always)]
    fn sum(self) -> f64 {
        sum_lanes(self.array())
    }
}

/// Adds up eight lanes, always in the same order.
#[inline(always)]
pub(crate) fn sum_lanes(sums: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Any processor.
impl Lanes for [f64; LANES] {
    #[inline(always)]
    fn splat(value: f64) -> Self {
        [value; LANES]
    }

    #[inline(always)]
    fn load(from: &[f64; LANES]) -> Self {
        *from
    }

    #[inline(always)]
    fn store(self, to: &mut [f64; LANES]) {
        *to = self;
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] + other[lane])
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] * other[lane])
    }

    #[inline(always)]
    fn plus_product(self, left: Self, right: Self) -> Self {
        std::array::from_fn(|lane| self[lane] + left[lane] * right[lane])
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

/// Registers of processors that have them.
///
/// Only `run` names these types, after the processor was found to have the instructions: this is what each
/// `SAFETY` below relies on.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "instructions that not every processor has")]
mod x86 {
    use super::{AHEAD, LANES, Lanes};
    use std::arch::x86_64::{
        __m256d, __m512d, _MM_HINT_T0, _mm_prefetch, _mm256_add_pd, _mm256_loadu_pd, _mm256_mul_pd,
        _mm256_set1_pd, _mm256_storeu_pd, _mm512_add_pd, _mm512_loadu_pd, _mm512_mask_storeu_pd,
        _mm512_maskz_loadu_pd, _mm512_mul_pd, _mm512_set1_pd, _mm512_storeu_pd,
    };

    #[inline(always)]
    fn fetch_ahead(from: &[f64; LANES]) {
        // SAFETY: nothing is read: an address that does not exist is passed over.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.as_ptr().wrapping_byte_add(AHEAD).cast()) }
    }

    #[derive(Clone, Copy)]
    pub(in crate::vector) struct Avx2(__m256d, __m256d);

    impl Lanes for Avx2 {
        #[inline(always)]
        fn fetch_ahead(from: &[f64; LANES]) {
            fetch_ahead(from);
        }

        #[inline(always)]
        fn splat(value: f64) -> Avx2 {
            // SAFETY: the processor has the instruction, see above.
            let half = unsafe { _mm256_set1_pd(value) };
            Avx2(half, half)
        }

        #[inline(always)]
        fn load(from: &[f64; LANES]) -> Avx2 {
            // SAFETY: four values can be read at both places; alignment is not asked for.
            unsafe { Avx2(_mm256_loadu_pd(from.as_ptr()), _mm256_loadu_pd(from[4..].as_ptr())) }
        }

        #[inline(always)]
        fn store(self, to: &mut [f64; LANES]) {
            // SAFETY: four values can be written at both places; alignment is not asked for.
            unsafe {
                _mm256_storeu_pd(to.as_mut_ptr(), self.0);
                _mm256_storeu_pd(to[4..].as_mut_ptr(), self.1);
            }
        }

        #[inline(always)]
        fn plus(self, other: Avx2) -> Avx2 {
            // SAFETY: the processor has the instruction, see above.
            unsafe { Avx2(_mm256_add_pd(self.0, other.0), _mm256_add_pd(self.1, other.1)) }
        }

        #[inline(always)]
        fn times(self, other: Avx2) -> Avx2 {
            // SAFETY: the processor has the instruction, see above.
            unsafe { Avx2(_mm256_mul_pd(self.0, other.0), _mm256_mul_pd(self.1, other.1)) }
        }

        #[inline(always)]
        fn plus_product(self, left: Avx2, right: Avx2) -> Avx2 {
            // SAFETY: the processor has the instructions, see above.
            unsafe {
                Avx2(
                    _mm256_add_pd(self.0, _mm256_mul_pd(left.0, right.0)),
                    _mm256_add_pd(self.1, _mm256_mul_pd(left.1, right.1)),
                )
            }
        }
    }

    #[derive(Clone, Copy)]
    pub(in crate::vector) struct Avx512(__m512d);

    /// The first so many lanes.
    fn first(count: usize) -> u8 {
        !(u8::MAX.checked_shl(u32::try_from(count).unwrap_or(u32::MAX)).unwrap_or(0))
    }

    impl Lanes for Avx512 {
        #[inline(always)]
        fn fetch_ahead(from: &[f64; LANES]) {
            fetch_ahead(from);
        }

        #[inline(always)]
        fn splat(value: f64) -> Avx512 {
            // SAFETY: the processor has the instruction, see above.
            Avx512(unsafe { _mm512_set1_pd(value) })
        }

        #[inline(always)]
        fn load(from: &[f64; LANES]) -> Avx512 {
            // SAFETY: eight values can be read there; alignment is not asked for.
            Avx512(unsafe { _mm512_loadu_pd(from.as_ptr()) })
        }

        #[inline(always)]
        fn store(self, to: &mut [f64; LANES]) {
            // SAFETY: eight values can be written there; alignment is not asked for.
            unsafe { _mm512_storeu_pd(to.as_mut_ptr(), self.0) }
        }

        #[inline(always)]
        fn plus(self, other: Avx512) -> Avx512 {
            // SAFETY: the processor has the instruction, see above.
            Avx512(unsafe { _mm512_add_pd(self.0, other.0) })
        }

        #[inline(always)]
        fn times(self, other: Avx512) -> Avx512 {
            // SAFETY: the processor has the instruction, see above.
            Avx512(unsafe { _mm512_mul_pd(self.0, other.0) })
        }

        #[inline(always)]
        fn plus_product(self, left: Avx512, right: Avx512) -> Avx512 {
            // SAFETY: the processor has the instructions, see above.
            Avx512(unsafe { _mm512_add_pd(self.0, _mm512_mul_pd(left.0, right.0)) })
        }

        #[inline(always)]
        fn load_part(from: &[f64]) -> Avx512 {
            // SAFETY: only lanes that the slice has are read.
            Avx512(unsafe { _mm512_maskz_loadu_pd(first(from.len()), from.as_ptr()) })
        }

        #[inline(always)]
        fn store_part(self, to: &mut [f64]) {
            // SAFETY: only lanes that the slice has are written.
            unsafe { _mm512_mask_storeu_pd(to.as_mut_ptr(), first(to.len()), self.0) }
        }
    }
}
