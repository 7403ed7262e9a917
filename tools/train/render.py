"""Pictures of laid-out pages, made on the training device: glyph bitmaps are copied into ink masks, masks become
coloured, lit, noisy, skewed or JPEG-coded pictures. Nothing is drawn on the CPU, so the device does not wait.
"""

import math
import pathlib

import numpy
import torch
import torch.nn.functional as functional

from atlas import Metrics

IMAGE_MEAN = (0.48145466, 0.4578275, 0.40821073)  # of the package's preprocessor_config.json
IMAGE_STANDARD_DEVIATION = (0.26862954, 0.26130258, 0.27577711)

# The example quantisation tables of the JPEG standard (ITU-T T.81, annex K), luminance and chrominance.
LUMINANCE_TABLE = (
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51,
    87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101,
    72, 92, 95, 98, 112, 100, 103, 99)
CHROMINANCE_TABLE = (
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99,
    99, 99, 99) + (99,) * 32


class Renderer:
    """Holds the atlas' pixels on `device`. Random choices come from torch's default generators."""

    def __init__(self, folder, device):
        metrics = Metrics.load(folder)
        self.device = device
        self.pixels = torch.from_numpy(numpy.load(pathlib.Path(folder) / "pixels.npy")).to(device)
        self.width = torch.from_numpy(metrics.width.reshape(-1).astype(numpy.int32)).to(device)
        self.height = torch.from_numpy(metrics.height.reshape(-1).astype(numpy.int32)).to(device)
        self.offset = torch.from_numpy(metrics.offset.reshape(-1)).to(device)
        # Constants stay on the device: copying one there at each step would make the host wait for the device.
        self.mean, self.deviation = (torch.tensor(values, device=device).view(1, 3, 1, 1)
                                     for values in (IMAGE_MEAN, IMAGE_STANDARD_DEVIATION))
        self.jpeg_tables = torch.tensor([LUMINANCE_TABLE, CHROMINANCE_TABLE, CHROMINANCE_TABLE], device=device).float()

    def masks(self, glyphs, rectangles, pixel_count, pages, height, width):
        """Ink masks [pages, 1, height, width] in 0..1.

        glyphs: int32 [n, 5] of page, glyph number, x, y, ink 0..255; rectangles: float32 [m, 7] of page, x0, y0, x1,
        y1, value, invert; pixel_count: the sum of the glyphs' bitmap sizes, so that the host need not wait for it.
        """
        page, number, x, y, ink = (column.contiguous() for column in glyphs.unbind(1))
        glyph_width = self.width[number]
        counts = glyph_width * self.height[number]
        which = torch.repeat_interleave(torch.arange(len(counts), device=self.device, dtype=torch.int32), counts,
                                        output_size=pixel_count)
        inside = torch.arange(pixel_count, device=self.device, dtype=torch.int32)
        inside -= (counts.cumsum(0, dtype=torch.int32) - counts)[which]
        row = torch.div(inside, glyph_width[which], rounding_mode="floor")
        column = inside - row * glyph_width[which] + x[which]
        row += y[which]
        seen = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        target = torch.where(seen, (page[which] * height + row) * width + column, pages * height * width)
        value = self.pixels[self.offset[number][which] + inside] * (ink.float() / 255 ** 2)[which]
        canvas = torch.zeros(pages * height * width + 1, device=self.device)  # the last element takes what is outside
        canvas.index_add_(0, target, value)
        canvas = canvas[:-1].view(pages, height, width).clamp_(max=1)
        if len(rectangles):
            added, inverted = self.areas(rectangles, pages, height, width)
            canvas = torch.maximum(canvas, added)
            canvas = torch.where(inverted > 0.5, 1 - canvas, canvas)
        return canvas[:, None]

    def areas(self, rectangles, pages, height, width):
        """Two layers of filled rectangles: value and inversion. Corners are scattered, then summed along both axes."""
        corners = rectangles[:, 1:5].round().long()
        x0, x1 = corners[:, 0].clamp(0, width), corners[:, 2].clamp(0, width)
        y0, y1 = corners[:, 1].clamp(0, height), corners[:, 3].clamp(0, height)
        page = rectangles[:, 0].long()
        layers = torch.zeros(2, pages, height + 1, width + 1, device=self.device)
        for layer, value in zip(layers, (rectangles[:, 5], rectangles[:, 6])):
            for column, line, sign in ((x0, y0, 1), (x1, y0, -1), (x0, y1, -1), (x1, y1, 1)):
                layer.index_put_((page, line, column), sign * value, accumulate=True)
        filled = layers.cumsum(2).cumsum(3)[:, :, :height, :width]
        return filled[0].clamp(0, 1), filled[1]

    # ---- from ink to picture

    def uniform(self, count, low, high, channels=1):
        return torch.rand(count, channels, 1, 1, device=self.device) * (high - low) + low

    def some(self, count, share):
        return torch.rand(count, 1, 1, 1, device=self.device) < share

    def chance(self, share):
        return torch.rand(()).item() < share

    def smooth(self, count, height, width, cells=3):
        """A random field that varies slowly over the picture, about -1..1."""
        field = torch.randn(count, 1, cells, cells, device=self.device)
        return functional.interpolate(field, size=(height, width), mode="bicubic")

    def warp(self, masks):
        """Slight rotation, shear and waviness, with the page made smaller so that nothing leaves the picture."""
        count, _, height, width = masks.shape
        angle = self.uniform(count, -1, 1).flatten() ** 3 * math.radians(3.0)
        shear = self.uniform(count, -0.02, 0.02).flatten()
        cosine, sine = torch.cos(angle), torch.sin(angle)
        aspect = width / height
        zoom = cosine + sine.abs() * max(aspect, 1 / aspect) + 0.03
        # Output coordinates to input coordinates, both -1..1; the aspect keeps the rotation rigid.
        matrix = torch.stack([
            torch.stack([cosine, -sine / aspect + shear, torch.zeros_like(angle)], 1),
            torch.stack([sine * aspect, cosine, torch.zeros_like(angle)], 1)], 1) * zoom[:, None, None]
        grid = functional.affine_grid(matrix, list(masks.shape), align_corners=False)
        wave = self.smooth(count, height, width)[:, 0] * self.uniform(count, 0, 0.006)[:, 0]
        grid[..., 1] += wave
        return functional.grid_sample(masks, grid, mode="bilinear", padding_mode="zeros", align_corners=False)

    def reduce(self, masks, scale):
        if scale == 1:
            return masks
        if self.chance(0.5):
            return functional.avg_pool2d(masks, scale)
        size = (masks.shape[2] // scale, masks.shape[3] // scale)
        return functional.interpolate(masks, size=size, mode="bicubic", antialias=True).clamp(0, 1)

    def soften(self, masks):
        """What printing, scanning and resampling do to ink: blur by a detour over a smaller size, heavier or lighter."""
        height, width = masks.shape[2:]
        if self.chance(0.2):
            factor = 0.7 + 0.3 * torch.rand(()).item()
            small = functional.interpolate(masks, scale_factor=factor, mode="bilinear", antialias=True)
            masks = functional.interpolate(small, size=(height, width), mode="bicubic").clamp(0, 1)
        if self.chance(0.3):
            masks = masks.clamp_min(1e-4) ** torch.exp(self.uniform(len(masks), -0.5, 0.5))
        return masks

    def colour(self, masks, dark):
        """Ink and ground colours per picture: half plain black on white (or white on black), half coloured."""
        count = len(masks)
        plain = self.some(count, 0.5)
        ink = torch.where(plain, self.uniform(count, 0, 0.15), self.uniform(count, 0, 0.45, 3))
        ground = torch.where(plain, self.uniform(count, 0.94, 1.03).clamp(max=1), self.uniform(count, 0.7, 1.0, 3))
        dark = dark.view(count, 1, 1, 1)
        ink, ground = torch.where(dark, ground, ink), torch.where(dark, ink, ground)
        return ground + (ink - ground) * masks

    def photograph(self, images):
        """Uneven light, a shadow's edge and sensor noise, as on paper before a camera or in a scanner."""
        count, _, height, width = images.shape
        images = images * (1 + self.smooth(count, height, width) * self.uniform(count, 0, 0.12))
        across = torch.linspace(-1, 1, width, device=self.device).view(1, 1, 1, -1)
        down = torch.linspace(-1, 1, height, device=self.device).view(1, 1, -1, 1)
        direction = self.uniform(count, 0, 2 * math.pi)
        edge = across * torch.cos(direction) + down * torch.sin(direction) + self.uniform(count, -0.8, 0.8)
        depth = self.uniform(count, 0, 0.4) * self.some(count, 0.6)
        images = images * (1 - depth * torch.sigmoid(edge * self.uniform(count, 3, 30)))
        images = images * self.uniform(count, 0.75, 1.05)
        noise = torch.randn(count, 1, height, width, device=self.device)
        return images + noise * self.uniform(count, 0, 0.08)

    def jpeg(self, images, quality):
        """JPEG's loss at `quality` [count] 1..100: 8x8 cosine transform, quantisation; colour at full resolution."""
        count, _, height, width = images.shape
        position = torch.arange(8, device=self.device, dtype=torch.float32)
        basis = torch.cos((2 * position[None] + 1) * position[:, None] * math.pi / 16) * 0.5
        basis[0] *= math.sqrt(0.5)
        red, green, blue = (images * 255).unbind(1)
        luminance = 0.299 * red + 0.587 * green + 0.114 * blue
        planes = torch.stack([luminance, (blue - luminance) * 0.564, (red - luminance) * 0.713], 1)
        scale = torch.where(quality < 50, 5000 / quality, 200 - 2 * quality) / 100
        steps = (self.jpeg_tables.view(1, 3, 1, 8, 1, 8) * scale.view(-1, 1, 1, 1, 1, 1)).clamp(min=1)
        # Rows of blocks first, then blocks: [count, plane, block row, 8, block column, 8].
        rows, split = (count, 3, height // 8, 8, width), (count, 3, height // 8, 8, width // 8, 8)
        blocks = (basis @ (planes - 128).view(rows)).view(split) @ basis.T
        blocks = torch.round(blocks / steps) * steps
        luminance, first, second = ((basis.T @ (blocks @ basis).view(rows)).view(planes.shape) + 128).unbind(1)
        first, second = first / 0.564, second / 0.713
        red, blue = luminance + second, luminance + first
        green = (luminance - 0.299 * red - 0.114 * blue) / 0.587
        return torch.stack([red, green, blue], 1) / 255

    def pictures(self, masks, dark, scale, photograph=False, clean=False):
        """Normalised pictures [count, 3, height, width] of canvas masks.

        dark: bool [count], light print on dark; photograph: skew, light and noise; clean: no imperfection at all
        (used by evaluation).
        """
        count = len(masks)
        if clean:
            masks = functional.avg_pool2d(masks, scale) if scale > 1 else masks
            images = torch.where(dark.view(-1, 1, 1, 1), masks, 1 - masks).expand(-1, 3, -1, -1)
        else:
            if photograph:
                masks = self.warp(masks)
            masks = self.soften(self.reduce(masks, scale))
            images = self.colour(masks, dark)
            if photograph:
                images = self.photograph(images)
            elif self.chance(0.3):
                noise = torch.randn(count, 1, *masks.shape[2:], device=self.device)
                images = images + noise * self.uniform(count, 0, 0.05) * self.some(count, 0.7)
            if self.chance(0.6 if photograph else 0.15):
                images = self.jpeg(images.clamp(0, 1), self.uniform(count, 30, 95).flatten())
        images = (images.clamp(0, 1) * 255).round() / 255
        return (images - self.mean) / self.deviation
