//! Discrete Fourier transforms of eight signals at once, one in each lane of a vector.
//!
//! Only sums, differences and products that are rounded one by one, so that every instruction set gives the same bits.

use undertone_simd::F32Vector;

/// Eight numbers, one for each signal.
pub(super) type Lanes = [f32; 8];

/// The real and the imaginary parts of complex numbers.
#[derive(Default)]
pub(super) struct Complex {
    pub(super) re: Vec<Lanes>,
    pub(super) im: Vec<Lanes>,
}

impl Complex {
    pub(super) fn zeros(length: usize) -> Complex {
        Complex { re: vec![[0.0; 8]; length], im: vec![[0.0; 8]; length] }
    }
}

/// Memory for the passes of a transform.
pub(super) struct FftScratch {
    first: Complex,
    second: Complex,
}

impl FftScratch {
    /// For transforms of up to `length` numbers.
    pub(super) fn new(length: usize) -> FftScratch {
        FftScratch { first: Complex::zeros(length), second: Complex::zeros(length) }
    }
}

/// The transform of one length, a product of twos, threes and fives.
///
/// # Source
/// Stockham's algorithm: each pass takes one factor out of the length and leaves its results in order.
pub(super) struct Fft {
    length: usize,
    passes: Vec<Pass>,
}

/// One pass: `count` × `stride` butterflies of `radix` numbers.
struct Pass {
    radix: usize,
    count: usize,
    stride: usize,
    /// e^(−2πi·p·j/(count·radix)) for each butterfly p from 1 on, and each of its outputs j from 1 on.
    twiddles: Vec<[f32; 2]>,
}

/// Where the numbers of a pass are read or written: every `stride`-th of two slices.
struct Line<S> {
    re: S,
    im: S,
    stride: usize,
}

/// Whether [`Fft`] supports a length: at least two passes of 2, 3, 4 or 5.
pub(super) fn is_supported(length: usize) -> bool {
    radices(length).is_some_and(|radices| radices.len() >= 2)
}

fn radices(length: usize) -> Option<Vec<usize>> {
    let (mut rest, mut radices) = (length, Vec::new());
    for radix in [5, 4, 3, 2] {
        while rest > 1 && rest.is_multiple_of(radix) {
            radices.push(radix);
            rest /= radix;
        }
    }
    (rest == 1).then_some(radices)
}

impl Fft {
    /// The transform of a length that [`is_supported`].
    pub(super) fn new(length: usize) -> Fft {
        let radices = radices(length).expect("lengths are products of twos, threes and fives");
        assert!(radices.len() >= 2, "a transform has at least two passes");
        let (mut count, mut stride) = (length, 1);
        let mut passes = Vec::new();
        for radix in radices {
            count /= radix;
            let twiddles = (1..count).flat_map(|p| (1..radix).map(move |j| (p * j, count * radix)));
            let twiddles = twiddles.map(|(power, of)| root_of_unity(power, of)).collect();
            passes.push(Pass { radix, count, stride, twiddles });
            stride *= radix;
        }
        Fft { length, passes }
    }

    /// Transforms the numbers 0, `stride`, 2·`stride` … of two slices in place.
    ///
    /// With real and imaginary parts exchanged it is the inverse transform, times the length.
    #[inline(always)]
    pub(super) fn transform<V: F32Vector<8>>(
        &self,
        re: &mut [Lanes],
        im: &mut [Lanes],
        stride: usize,
        scratch: &mut FftScratch,
    ) {
        let FftScratch { first, second } = scratch;
        let (mut from, mut to) = (first, second);
        let last = self.passes.len() - 1;
        for (place, pass) in self.passes.iter().enumerate() {
            if place == 0 {
                let source = Line { re: &*re, im: &*im, stride };
                pass.run::<V>(&source, &mut whole_mut(to, self.length));
            } else if place < last {
                pass.run::<V>(&whole(from, self.length), &mut whole_mut(to, self.length));
            } else {
                let mut target = Line { re: &mut *re, im: &mut *im, stride };
                pass.run::<V>(&whole(from, self.length), &mut target);
            }
            std::mem::swap(&mut from, &mut to);
        }
    }
}

#[inline(always)]
fn whole(numbers: &Complex, length: usize) -> Line<&[Lanes]> {
    Line { re: &numbers.re[..length], im: &numbers.im[..length], stride: 1 }
}

#[inline(always)]
fn whole_mut(numbers: &mut Complex, length: usize) -> Line<&mut [Lanes]> {
    Line { re: &mut numbers.re[..length], im: &mut numbers.im[..length], stride: 1 }
}

/// e^(−2πi·power/of).
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "small numbers")]
fn root_of_unity(power: usize, of: usize) -> [f32; 2] {
    let angle = std::f64::consts::TAU * (power % of) as f64 / of as f64;
    [libm::cos(angle) as f32, -libm::sin(angle) as f32]
}

impl Pass {
    #[inline(always)]
    fn run<V: F32Vector<8>>(&self, from: &Line<&[Lanes]>, to: &mut Line<&mut [Lanes]>) {
        match self.radix {
            2 => self.run_radix::<V, 2>(from, to),
            3 => self.run_radix::<V, 3>(from, to),
            4 => self.run_radix::<V, 4>(from, to),
            5 => self.run_radix::<V, 5>(from, to),
            other => unreachable!("radices are 2 to 5, not {other}"),
        }
    }

    #[inline(always)]
    fn run_radix<V: F32Vector<8>, const RADIX: usize>(
        &self,
        from: &Line<&[Lanes]>,
        to: &mut Line<&mut [Lanes]>,
    ) {
        // The first butterflies have no factors.
        for q in 0..self.stride {
            let values = butterfly::<V, RADIX>(self.load(from, q, 0));
            for (j, value) in values.into_iter().enumerate() {
                store(value, to, q + self.stride * j);
            }
        }
        let twiddles = self.twiddles.chunks_exact(RADIX - 1);
        for (p, twiddles) in (1..self.count).zip(twiddles) {
            for q in 0..self.stride {
                let values = butterfly::<V, RADIX>(self.load(from, q, p));
                let at = q + self.stride * RADIX * p;
                store(values[0], to, at);
                for j in 1..RADIX {
                    let [cos, sin] = twiddles[j - 1];
                    let value = product(values[j], V::splat(cos), V::splat(sin));
                    store(value, to, at + self.stride * j);
                }
            }
        }
    }

    #[inline(always)]
    fn load<V: F32Vector<8>, const RADIX: usize>(
        &self,
        from: &Line<&[Lanes]>,
        q: usize,
        p: usize,
    ) -> [(V, V); RADIX] {
        let mut values = [(V::splat(0.0), V::splat(0.0)); RADIX];
        for (k, value) in values.iter_mut().enumerate() {
            let at = (q + self.stride * (p + self.count * k)) * from.stride;
            *value = (V::load(&from.re[at]), V::load(&from.im[at]));
        }
        values
    }
}

#[inline(always)]
fn store<V: F32Vector<8>>((re, im): (V, V), to: &mut Line<&mut [Lanes]>, at: usize) {
    re.store(&mut to.re[at * to.stride]);
    im.store(&mut to.im[at * to.stride]);
}

#[inline(always)]
fn product<V: F32Vector<8>>((re, im): (V, V), cos: V, sin: V) -> (V, V) {
    (re.times(cos).minus(im.times(sin)), re.times(sin).plus(im.times(cos)))
}

#[inline(always)]
fn plus<V: F32Vector<8>>(a: (V, V), b: (V, V)) -> (V, V) {
    (a.0.plus(b.0), a.1.plus(b.1))
}

#[inline(always)]
fn minus<V: F32Vector<8>>(a: (V, V), b: (V, V)) -> (V, V) {
    (a.0.minus(b.0), a.1.minus(b.1))
}

#[inline(always)]
fn scaled<V: F32Vector<8>>(a: (V, V), factor: f32) -> (V, V) {
    let factor = V::splat(factor);
    (a.0.times(factor), a.1.times(factor))
}

/// a − i·b.
#[inline(always)]
fn minus_i<V: F32Vector<8>>(a: (V, V), b: (V, V)) -> (V, V) {
    (a.0.plus(b.1), a.1.minus(b.0))
}

/// a + i·b.
#[inline(always)]
fn plus_i<V: F32Vector<8>>(a: (V, V), b: (V, V)) -> (V, V) {
    (a.0.minus(b.1), a.1.plus(b.0))
}

/// The transform of a few numbers.
#[inline(always)]
fn butterfly<V: F32Vector<8>, const RADIX: usize>(x: [(V, V); RADIX]) -> [(V, V); RADIX] {
    let mut y = x;
    if RADIX == 2 {
        y[0] = plus(x[0], x[1]);
        y[1] = minus(x[0], x[1]);
    } else if RADIX == 3 {
        /// √3/2.
        const SIN: f32 = 0.866_025_4;
        let (sum, difference) = (plus(x[1], x[2]), scaled(minus(x[1], x[2]), SIN));
        let middle = minus(x[0], scaled(sum, 0.5));
        y[0] = plus(x[0], sum);
        y[1] = minus_i(middle, difference);
        y[2] = plus_i(middle, difference);
    } else if RADIX == 4 {
        let (even, odd) = (plus(x[0], x[2]), plus(x[1], x[3]));
        let (even_minus, odd_minus) = (minus(x[0], x[2]), minus(x[1], x[3]));
        y[0] = plus(even, odd);
        y[1] = minus_i(even_minus, odd_minus);
        y[2] = minus(even, odd);
        y[3] = plus_i(even_minus, odd_minus);
    } else {
        five(x, &mut y);
    }
    y
}

#[inline(always)]
fn five<V: F32Vector<8>, const RADIX: usize>(x: [(V, V); RADIX], y: &mut [(V, V); RADIX]) {
    /// Cosines and sines of 2π/5 and 4π/5.
    const COS: [f32; 2] = [0.309_017, -0.809_017];
    const SIN: [f32; 2] = [0.951_056_5, 0.587_785_24];
    let (outer, inner) = (plus(x[1], x[4]), plus(x[2], x[3]));
    let (outer_minus, inner_minus) = (minus(x[1], x[4]), minus(x[2], x[3]));
    y[0] = plus(x[0], plus(outer, inner));
    let first = plus(x[0], plus(scaled(outer, COS[0]), scaled(inner, COS[1])));
    let second = plus(x[0], plus(scaled(outer, COS[1]), scaled(inner, COS[0])));
    let first_turn = plus(scaled(outer_minus, SIN[0]), scaled(inner_minus, SIN[1]));
    let second_turn = minus(scaled(outer_minus, SIN[1]), scaled(inner_minus, SIN[0]));
    y[1] = minus_i(first, first_turn);
    y[4] = plus_i(first, first_turn);
    y[2] = minus_i(second, second_turn);
    y[3] = plus_i(second, second_turn);
}

#[cfg(test)]
mod tests {
    use super::*;
    use undertone_simd::{InstructionSet, Kernel, Simd};

    struct Transform<'a>(&'a Fft, &'a mut Complex, usize);

    impl Kernel for Transform<'_> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self) {
            let Transform(fft, Complex { re, im }, stride) = self;
            let mut scratch = FftScratch::new(fft.length);
            fft.transform::<S::F32x8>(re, im, stride, &mut scratch);
        }
    }

    fn signal(length: usize) -> Complex {
        let mut signal = Complex::zeros(length);
        for (k, (re, im)) in signal.re.iter_mut().zip(&mut signal.im).enumerate() {
            for lane in 0..8 {
                re[lane] = ((k * 8 + lane) as f32 * 0.37).sin();
                im[lane] = ((k * 8 + lane) as f32 * 0.71).cos();
            }
        }
        signal
    }

    /// The sum that defines the transform, in f64.
    fn by_definition(signal: &Complex, stride: usize, lane: usize, frequency: usize) -> [f64; 2] {
        let length = signal.re.len().div_ceil(stride);
        let mut sum = [0.0; 2];
        for k in 0..length {
            let (re, im) = (signal.re[k * stride][lane], signal.im[k * stride][lane]);
            let angle = -std::f64::consts::TAU * (k * frequency) as f64 / length as f64;
            let (sin, cos) = angle.sin_cos();
            sum[0] += f64::from(re) * cos - f64::from(im) * sin;
            sum[1] += f64::from(re) * sin + f64::from(im) * cos;
        }
        sum
    }

    #[test]
    fn the_transform_is_the_sum_that_defines_it_for_every_length_and_stride() {
        for length in (4..130).filter(|&length| is_supported(length)) {
            for stride in [1, 3] {
                let fft = Fft::new(length);
                let before = signal((length - 1) * stride + 1);
                let mut after = signal((length - 1) * stride + 1);
                InstructionSet::best().run(Transform(&fft, &mut after, stride));
                for frequency in 0..length {
                    let expected = by_definition(&before, stride, frequency % 8, frequency);
                    let (re, im) = (&after.re[frequency * stride], &after.im[frequency * stride]);
                    let found = [re[frequency % 8], im[frequency % 8]].map(f64::from);
                    let error = (found[0] - expected[0]).hypot(found[1] - expected[1]);
                    assert!(error < 2e-6 * length as f64, "{length}, {frequency}: {error}");
                }
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for length in [20, 36, 40, 30] {
            let fft = Fft::new(length);
            let mut expected = signal(length);
            InstructionSet::Portable.run(Transform(&fft, &mut expected, 1));
            for set in InstructionSet::available() {
                let mut found = signal(length);
                set.run(Transform(&fft, &mut found, 1));
                assert!(found.re == expected.re && found.im == expected.im, "{set:?}, {length}");
            }
        }
    }

    #[test]
    fn other_lengths_are_not_supported() {
        assert!([6, 36, 40, 240].into_iter().all(is_supported));
        assert!(![0, 1, 2, 5, 7, 28, 44].into_iter().any(is_supported));
    }
}
