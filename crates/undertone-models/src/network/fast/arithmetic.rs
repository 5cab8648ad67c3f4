//! The instruction sets the kernels are compiled for.

use super::chunk::Chunk;
use super::scratch::Scratch;

/// Values in a vector the kernels work on; the compiler splits it where registers are shorter.
pub(super) const LANES: usize = 8;

/// How a product is added: in one rounding or in two.
pub(super) trait Arithmetic {
    /// a·b + c.
    fn multiply_add(a: f32, b: f32, c: f32) -> f32;
}

/// For processors that multiply and add in one instruction.
pub(super) struct Fused;

impl Arithmetic for Fused {
    #[inline(always)]
    fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// For all others, where a fused operation would be a slow library call.
pub(super) struct Separate;

impl Arithmetic for Separate {
    #[inline(always)]
    fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
        a * b + c
    }
}

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InstructionSet {
    /// What the crate is compiled for.
    Baseline,
    /// 256-bit vectors and fused products.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl InstructionSet {
    /// Those this processor has, best last.
    pub(super) fn available() -> impl DoubleEndedIterator<Item = InstructionSet> {
        #[cfg(target_arch = "x86_64")]
        let all = [InstructionSet::Baseline, InstructionSet::Avx2];
        #[cfg(not(target_arch = "x86_64"))]
        let all = [InstructionSet::Baseline];
        all.into_iter().filter(|set| set.is_available())
    }

    /// The best one this processor has.
    pub(super) fn best() -> InstructionSet {
        InstructionSet::available().next_back().unwrap_or(InstructionSet::Baseline)
    }

    fn is_available(self) -> bool {
        match self {
            InstructionSet::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => {
                std::arch::is_x86_feature_detected!("avx2")
                    && std::arch::is_x86_feature_detected!("fma")
            }
        }
    }

    /// Runs one chunk of records.
    ///
    /// # Panics
    /// When the processor does not have the instruction set.
    #[cfg_attr(
        target_arch = "x86_64",
        expect(unsafe_code, reason = "functions compiled for one instruction set")
    )]
    pub(super) fn run(self, chunk: &Chunk<'_>, scratch: &mut Scratch) {
        assert!(self.is_available(), "{self:?} is not available on this processor");
        match self {
            InstructionSet::Baseline
                if cfg!(any(target_feature = "fma", target_arch = "aarch64")) =>
            {
                chunk.run::<Fused>(scratch);
            }
            InstructionSet::Baseline => chunk.run::<Separate>(scratch),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the assertion above has found AVX2 and FMA on this processor.
            InstructionSet::Avx2 => unsafe { run_avx2(chunk, scratch) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2(chunk: &Chunk<'_>, scratch: &mut Scratch) {
    chunk.run::<Fused>(scratch);
}
