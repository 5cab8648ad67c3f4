"""Writes crates/undertone-models/tests/fixtures/scattering.toml: scattering features straight from the definition.

Filters are built in space (sampled, and repeated with the period of the torus) and applied with NumPy's FFT in float64; the
Rust code has their Fourier transforms by formula and works in float32. Only NumPy is needed:

    python scripts/scattering_fixtures.py > crates/undertone-models/tests/fixtures/scattering.toml
"""

import numpy as np

OCTAVES, ORIENTATIONS, STEP, PADDING, FIRST = 2, 8, 4, 8, 2
SLANT = 0.5


def torus(pixels):
    """The smallest multiple of four, 8 pixels larger or more, that has no prime factor above 5."""
    side = pixels + PADDING
    while True:
        rest = side
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return side
        side += STEP


def envelope(rows, columns, width, angle, wave, slant):
    """A Gaussian of this width along the angle and width/slant across it, times a wave; of sum 1 without the wave."""
    total = np.zeros((rows, columns), complex)
    reach = 4
    for row_period in range(-reach, reach + 1):
        for column_period in range(-reach, reach + 1):
            r, c = np.mgrid[:rows, :columns].astype(float)
            r, c = r + row_period * rows, c + column_period * columns
            along = r * np.cos(angle) + c * np.sin(angle)
            across = c * np.cos(angle) - r * np.sin(angle)
            bell = np.exp(-(along**2 + slant**2 * across**2) / (2 * width**2))
            total += bell * np.exp(1j * wave * along)
    return total * slant / (2 * np.pi * width**2)


def wavelet(rows, columns, octave, angle):
    width, wave = 0.8 * 2**octave, 0.75 * np.pi / 2**octave
    oscillating = envelope(rows, columns, width, angle, wave, SLANT)
    flat = envelope(rows, columns, width, angle, 0.0, SLANT)
    return np.fft.fft2(oscillating - oscillating.sum() / flat.sum() * flat)


def subsampled(spectrum, step):
    """The inverse transform, of which every `step`-th sample is kept."""
    return np.fft.ifft2(spectrum)[::step, ::step]


def scatter(image):
    """The 81 channels of an image with one colour."""
    height, width = image.shape
    rows, columns = torus(height), torus(width)
    top, left = (rows - height) // 2, (columns - width) // 2
    # NumPy's "reflect" does not repeat the border.
    padded = np.pad(image, ((top, rows - height - top), (left, columns - width - left)), mode="reflect")

    def average(plane, step):
        smooth = envelope(*plane.shape, 0.8 * 2 ** (OCTAVES - 1) / step, 0.0, 0.0, 1.0).real
        smooth /= smooth.sum()
        found = np.fft.ifft2(np.fft.fft2(plane) * np.fft.fft2(smooth)).real
        r = (top + FIRST + STEP * np.arange(height // STEP)) // step
        c = (left + FIRST + STEP * np.arange(width // STEP)) // step
        return found[np.ix_(r, c)]

    angles = [np.pi * k / ORIENTATIONS for k in range(ORIENTATIONS)]
    banks = [[wavelet(rows, columns, j, angle) for angle in angles] for j in range(OCTAVES)]
    spectrum = np.fft.fft2(padded)
    moduli = [np.abs(subsampled(spectrum * filter, 1)) for filter in banks[0]]
    coarse = [np.abs(subsampled(spectrum * filter, 2)) for filter in banks[1]]
    channels = [average(padded, 1)]
    channels += [average(modulus, 1) for modulus in moduli]
    channels += [average(modulus, 2) for modulus in coarse]
    for modulus in moduli:
        transformed = np.fft.fft2(modulus)
        for filter in banks[1]:
            channels.append(average(np.abs(subsampled(transformed * filter, 2)), 2))
    return np.array(channels)


def pixels(height, width, seed):
    """A synthetic image with values k/255, which the tests compute alike."""
    r, c = np.mgrid[:height, :width]
    wave = np.sin(0.9 * r + 0.4 * c + seed) * np.cos(0.3 * r - 0.7 * c * (seed + 1))
    stroke = (np.abs(r - c * 0.6 - seed) < 1.5) * 1.0
    return np.round(255 * np.clip(0.35 + 0.25 * wave + 0.5 * stroke, 0, 1)) / 255


def main():
    print("# Written by scripts/scattering_fixtures.py.")
    for height, width, seed in ((8, 8, 0), (12, 20, 1), (28, 28, 2), (32, 32, 3)):
        image = pixels(height, width, seed)
        values = scatter(image).ravel()
        # Every 7th value of the larger images is enough.
        step = 7 if values.size > 1500 else 1
        print("\n[[image]]")
        print(f"height = {height}\nwidth = {width}\nstep = {step}")
        print("pixels = [" + ", ".join(str(round(v * 255)) for v in image.ravel()) + "]")
        print("values = [" + ", ".join(f"{v:.8f}" for v in values[::step]) + "]")


if __name__ == "__main__":
    main()
