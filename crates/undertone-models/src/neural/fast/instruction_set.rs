//! The instruction sets the kernels are compiled for, and the choice between them.

use super::chunk::Chunk;
use super::lanes::Portable;
#[cfg(target_arch = "x86_64")]
use super::lanes::{Avx2, Avx512};
use super::scratch::Scratch;

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InstructionSet {
    /// What the crate is compiled for.
    Baseline,
    /// 256-bit vectors and fused products.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512-bit vectors, and twice as many of them.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl InstructionSet {
    /// Those this processor has, best last.
    pub(super) fn available() -> impl DoubleEndedIterator<Item = InstructionSet> {
        #[cfg(target_arch = "x86_64")]
        let all = [InstructionSet::Baseline, InstructionSet::Avx2, InstructionSet::Avx512];
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
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => {
                InstructionSet::Avx2.is_available()
                    && std::arch::is_x86_feature_detected!("avx512f")
                    && std::arch::is_x86_feature_detected!("avx512bw")
                    && std::arch::is_x86_feature_detected!("avx512dq")
                    && std::arch::is_x86_feature_detected!("avx512vl")
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
            InstructionSet::Baseline => chunk.run::<Portable>(scratch),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the assertion above has found AVX2 and FMA on this processor.
            InstructionSet::Avx2 => unsafe { run_avx2(chunk, scratch) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the same for AVX-512 and its extensions.
            InstructionSet::Avx512 => unsafe { run_avx512(chunk, scratch) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2(chunk: &Chunk<'_>, scratch: &mut Scratch) {
    chunk.run::<Avx2>(scratch);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
fn run_avx512(chunk: &Chunk<'_>, scratch: &mut Scratch) {
    chunk.run::<Avx512>(scratch);
}
