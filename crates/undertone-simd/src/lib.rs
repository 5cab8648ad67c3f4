//! Vectors of f64 and f32 in the widest registers of this processor.
//!
//! A [`Kernel`] is written once, generic over [`Simd`], and compiled for each [`InstructionSet`]. [`run`] chooses the best one
//! this processor has. All unsafe code of the workspace is in this crate. `docs/adr/0023-simd.md` says why it is our own.

mod half;
#[cfg(test)]
mod tests;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use half::Half;
pub use vector::{F32Vector, F64Vector, Vector, prefetch_ahead};

use std::sync::OnceLock;
use vector::Portable;

/// The vectors of an instruction set.
pub trait Simd {
    /// Eight f64.
    type F64x8: F64Vector<8>;
    /// Eight f32.
    type F32x8: F32Vector<8>;
    /// Sixteen f32.
    type F32x16: F32Vector<16>;
    /// Whether 25 vectors of sixteen f32 can be held in registers, or only six.
    const MANY_REGISTERS: bool;
}

/// Work that is compiled for every instruction set.
///
/// `run` and everything it calls must be `#[inline(always)]`: a function that is not inlined is compiled for
/// [`InstructionSet::Portable`] only.
pub trait Kernel {
    /// The result.
    type Output;

    /// Does the work.
    fn run<S: Simd>(self) -> Self::Output;
}

/// An instruction set. Each includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionSet {
    /// The instructions the crate is compiled for.
    Portable,
    /// 256-bit vectors, fused products, and numbers of 16 bits.
    Avx2,
    /// 512-bit vectors, and twice as many registers.
    Avx512,
}

impl InstructionSet {
    /// The instruction sets this processor has, best last.
    pub fn available() -> impl DoubleEndedIterator<Item = InstructionSet> {
        let all = [InstructionSet::Portable, InstructionSet::Avx2, InstructionSet::Avx512];
        all.into_iter().filter(|&set| set <= InstructionSet::best())
    }

    /// The best instruction set this processor has.
    #[inline]
    #[must_use]
    pub fn best() -> InstructionSet {
        static BEST: OnceLock<InstructionSet> = OnceLock::new();
        *BEST.get_or_init(detect)
    }

    /// Runs a kernel.
    ///
    /// # Panics
    /// When the processor does not have the instruction set.
    #[inline]
    #[cfg_attr(
        target_arch = "x86_64",
        expect(unsafe_code, reason = "functions compiled for one instruction set")
    )]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        assert!(self <= InstructionSet::best(), "{self:?} is not available on this processor");
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: by the assertion above `detect` found these features.
            InstructionSet::Avx512 => unsafe { run_avx512(kernel) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            InstructionSet::Avx2 => unsafe { run_avx2(kernel) },
            // Never the best set of another processor, so that the assertion above has refused it.
            #[cfg(not(target_arch = "x86_64"))]
            InstructionSet::Avx512 | InstructionSet::Avx2 => run_portable(kernel),
            InstructionSet::Portable => run_portable(kernel),
        }
    }
}

/// Runs a kernel on the best instruction set this processor has.
#[inline]
pub fn run<K: Kernel>(kernel: K) -> K::Output {
    InstructionSet::best().run(kernel)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<x86::Avx512>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<x86::Avx2>()
}

/// Not inlined, so that a large kernel does not change how its caller is compiled.
#[inline(never)]
fn run_portable<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Portable>()
}

/// Detects the features of `run_avx512` and `run_avx2`.
fn detect() -> InstructionSet {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
    {
        let has_avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        return if has_avx512 { InstructionSet::Avx512 } else { InstructionSet::Avx2 };
    }
    InstructionSet::Portable
}
