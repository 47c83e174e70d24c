// A screenshot with few colours: what a page of text and lines needs, in a quarter of the bytes.
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS = 48;
const BYTES_PER_PIXEL = { 2: 3, 6: 4 };

/** The same picture as an indexed PNG. Takes what Chromium writes: 8 bits, RGB or RGBA, not interlaced. */
export function smallPng(png) {
  const { width, height, size, pixels } = decode(png);
  const counts = new Map();
  for (let at = 0; at < pixels.length; at += size) {
    const colour = (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = [...counts].sort((a, b) => b[1] - a[1]).slice(0, COLOURS).map(([colour]) => colour);
  const index = new Map(palette.map((colour, i) => [colour, i]));
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += size) {
      const colour = (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
      if (!index.has(colour)) {
        index.set(colour, nearest(palette, colour));
      }
      rows[y * (width + 1) + 1 + x] = index.get(colour);
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function nearest(palette, colour) {
  let best = 0;
  let least = Infinity;
  palette.forEach((candidate, i) => {
    const [r, g, b] = [16, 8, 0].map((shift) => ((candidate >> shift) & 255) - ((colour >> shift) & 255));
    const distance = r * r + g * g + b * b;
    if (distance < least) {
      [best, least] = [i, distance];
    }
  });
  return best;
}

function decode(png) {
  const data = [];
  let header;
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    const body = png.subarray(at + 8, at + 8 + length);
    if (type === 'IHDR') {
      header = body;
    } else if (type === 'IDAT') {
      data.push(body);
    }
    at += 12 + length;
  }
  const [width, height, size] = [header.readUInt32BE(0), header.readUInt32BE(4), BYTES_PER_PIXEL[header[9]]];
  if (header[8] !== 8 || size === undefined || header[12] !== 0) {
    throw new Error('not a picture of the kind that Chromium writes');
  }
  return { width, height, size, pixels: unfiltered(inflateSync(Buffer.concat(data)), width * size, height, size) };
}

/** Undoes PNG's five row filters: each byte was written as its difference from a guess. */
function unfiltered(raw, stride, height, size) {
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const left = x >= size ? pixels[y * stride + x - size] : 0;
      const up = y > 0 ? pixels[(y - 1) * stride + x] : 0;
      const corner = x >= size && y > 0 ? pixels[(y - 1) * stride + x - size] : 0;
      pixels[y * stride + x] = raw[y * (stride + 1) + 1 + x] + guess(filter, left, up, corner);
    }
  }
  return pixels;
}

function guess(filter, left, up, corner) {
  switch (filter) {
    case 0:
      return 0;
    case 1:
      return left;
    case 2:
      return up;
    case 3:
      return (left + up) >> 1;
    default: {
      const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
      return a <= b && a <= c ? left : b <= c ? up : corner;
    }
  }
}

function chunk(type, body) {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), body]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(body.length, 0);
  frame.writeUInt32BE(crc32(typed), 4);
  return Buffer.concat([frame.subarray(0, 4), typed, frame.subarray(4)]);
}
