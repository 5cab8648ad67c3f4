//! The operations on vectors, implemented for arrays and for pairs of vectors of half the length.

use crate::{Half, Simd};

/// N numbers of type T.
pub trait Vector<T, const N: usize>: Copy {
    /// N times the same number.
    fn splat(value: T) -> Self;
    /// The numbers of an array.
    fn load(from: &[T; N]) -> Self;
    /// Writes the numbers to an array.
    fn store(self, to: &mut [T; N]);
}

/// N f64. All instruction sets give the same bits: products are never fused with sums.
pub trait F64Vector<const N: usize>: Vector<f64, N> {
    /// self + other.
    fn plus(self, other: Self) -> Self;
    /// self · other.
    fn times(self, other: Self) -> Self;

    /// self + left · right, rounded twice.
    #[inline(always)]
    fn plus_product(self, left: Self, right: Self) -> Self {
        self.plus(left.times(right))
    }

    /// The numbers of an array of 16 bits each.
    fn load_halves(from: &[Half; N]) -> Self;

    /// Loads up to N numbers of 16 bits each, and zeros for the rest.
    #[inline(always)]
    fn load_part_of_halves(from: &[Half]) -> Self {
        let mut whole = [Half::ZERO; N];
        for (slot, value) in whole.iter_mut().zip(from) {
            *slot = *value;
        }
        Self::load_halves(&whole)
    }

    /// Loads up to N numbers, and zeros for the rest.
    #[inline(always)]
    fn load_part(from: &[f64]) -> Self {
        let mut whole = [0.0; N];
        for (slot, value) in whole.iter_mut().zip(from) {
            *slot = *value;
        }
        Self::load(&whole)
    }

    /// Writes as many numbers as fit.
    #[inline(always)]
    fn store_part(self, to: &mut [f64]) {
        for (slot, value) in to.iter_mut().zip(self.array()) {
            *slot = value;
        }
    }

    /// The numbers as an array.
    #[inline(always)]
    fn array(self) -> [f64; N] {
        let mut array = [0.0; N];
        self.store(&mut array);
        array
    }
}

/// N f32. All instruction sets give the same bits, except for [`multiply_add`](F32Vector::multiply_add).
pub trait F32Vector<const N: usize>: Vector<f32, N> {
    /// self + other.
    fn plus(self, other: Self) -> Self;
    /// self − other.
    fn minus(self, other: Self) -> Self;
    /// self · other.
    fn times(self, other: Self) -> Self;
    /// √self.
    fn square_root(self) -> Self;
    /// self · factor + sum: rounded once if the processor fuses products and sums, else twice.
    fn multiply_add(self, factor: Self, sum: Self) -> Self;
    /// `yes` where self is greater than `other`, `no` elsewhere.
    fn select_greater(self, other: Self, yes: Self, no: Self) -> Self;
}

/// Vectors on any processor.
pub(crate) struct Portable;

impl Simd for Portable {
    type F64x8 = [f64; 8];
    type F32x8 = [f32; 8];
    type F32x16 = [[f32; 8]; 2];
    const MANY_REGISTERS: bool = false;
}

impl<T: Copy, const N: usize> Vector<T, N> for [T; N] {
    #[inline(always)]
    fn splat(value: T) -> [T; N] {
        [value; N]
    }

    #[inline(always)]
    fn load(from: &[T; N]) -> [T; N] {
        *from
    }

    #[inline(always)]
    fn store(self, to: &mut [T; N]) {
        *to = self;
    }
}

impl<const N: usize> F64Vector<N> for [f64; N] {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] + other[lane])
    }

    #[inline(always)]
    fn times(self, other: Self) -> Self {
        std::array::from_fn(|lane| self[lane] * other[lane])
    }

    #[inline(always)]
    fn load_halves(from: &[Half; N]) -> [f64; N] {
        from.map(Half::to_f64)
    }
}

impl<const N: usize> F32Vector<N> for [f32; N] {
    #[inline(always)]
    fn plus(self, other: [f32; N]) -> [f32; N] {
        std::array::from_fn(|lane| self[lane] + other[lane])
    }

    #[inline(always)]
    fn minus(self, other: [f32; N]) -> [f32; N] {
        std::array::from_fn(|lane| self[lane] - other[lane])
    }

    #[inline(always)]
    fn times(self, other: [f32; N]) -> [f32; N] {
        std::array::from_fn(|lane| self[lane] * other[lane])
    }

    #[inline(always)]
    fn square_root(mut self) -> [f32; N] {
        for lane in &mut self {
            *lane = lane.sqrt();
        }
        self
    }

    /// Fused only if the target has an instruction for it: otherwise it would be a slow library call.
    #[inline(always)]
    fn multiply_add(self, factor: Self, mut sum: Self) -> Self {
        for lane in 0..N {
            sum[lane] = if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
                self[lane].mul_add(factor[lane], sum[lane])
            } else {
                self[lane] * factor[lane] + sum[lane]
            };
        }
        sum
    }

    #[inline(always)]
    fn select_greater(self, other: Self, yes: Self, mut no: Self) -> Self {
        for lane in 0..N {
            no[lane] = if self[lane] > other[lane] { yes[lane] } else { no[lane] };
        }
        no
    }
}

/// Vectors of `$whole` numbers in two of `$half`.
macro_rules! pair {
    ($half:literal, $whole:literal) => {
        impl<T, V: Vector<T, $half>> Vector<T, $whole> for [V; 2] {
            #[inline(always)]
            fn splat(value: T) -> [V; 2] {
                [V::splat(value); 2]
            }

            #[inline(always)]
            fn load(from: &[T; $whole]) -> [V; 2] {
                let halves = from.as_chunks().0;
                [V::load(&halves[0]), V::load(&halves[1])]
            }

            #[inline(always)]
            fn store(self, to: &mut [T; $whole]) {
                let halves = to.as_chunks_mut().0;
                self[0].store(&mut halves[0]);
                self[1].store(&mut halves[1]);
            }
        }
    };
}

pair!(4, 8);
pair!(8, 16);

impl<V: F64Vector<4>> F64Vector<8> for [V; 2] {
    #[inline(always)]
    fn plus(self, other: [V; 2]) -> [V; 2] {
        [self[0].plus(other[0]), self[1].plus(other[1])]
    }

    #[inline(always)]
    fn times(self, other: [V; 2]) -> [V; 2] {
        [self[0].times(other[0]), self[1].times(other[1])]
    }

    #[inline(always)]
    fn load_halves(from: &[Half; 8]) -> [V; 2] {
        let halves = from.as_chunks().0;
        [V::load_halves(&halves[0]), V::load_halves(&halves[1])]
    }
}

impl<V: F32Vector<8>> F32Vector<16> for [V; 2] {
    #[inline(always)]
    fn plus(self, other: [V; 2]) -> [V; 2] {
        [self[0].plus(other[0]), self[1].plus(other[1])]
    }

    #[inline(always)]
    fn minus(self, other: [V; 2]) -> [V; 2] {
        [self[0].minus(other[0]), self[1].minus(other[1])]
    }

    #[inline(always)]
    fn times(self, other: [V; 2]) -> [V; 2] {
        [self[0].times(other[0]), self[1].times(other[1])]
    }

    #[inline(always)]
    fn square_root(self) -> [V; 2] {
        [self[0].square_root(), self[1].square_root()]
    }

    #[inline(always)]
    fn multiply_add(self, factor: [V; 2], sum: [V; 2]) -> [V; 2] {
        [self[0].multiply_add(factor[0], sum[0]), self[1].multiply_add(factor[1], sum[1])]
    }

    #[inline(always)]
    fn select_greater(self, other: [V; 2], yes: [V; 2], no: [V; 2]) -> [V; 2] {
        let first = self[0].select_greater(other[0], yes[0], no[0]);
        [first, self[1].select_greater(other[1], yes[1], no[1])]
    }
}

/// Prefetches the cache line `bytes` after `from`, on processors that have an instruction for it. Has no other effect;
/// the address need not be valid.
#[inline(always)]
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "an instruction of x86-64"))]
pub fn prefetch_ahead<T>(from: &T, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = std::ptr::from_ref(from).wrapping_byte_add(bytes);
        // SAFETY: a prefetch reads nothing, and an invalid address is ignored.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (from, bytes);
}
