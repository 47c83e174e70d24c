// Puts the built page where `pointsman web` serves it from, and says how much a browser will download.
import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const LIMIT = 1_500_000;
const built = fileURLToPath(new URL('../dist', import.meta.url));
const served = fileURLToPath(new URL('../../src/pointsman/web/page', import.meta.url));

rmSync(served, { recursive: true, force: true });
cpSync(built, served, { recursive: true, filter: (path) => extname(path) !== '.txt' && extname(path) !== '.json' });

const gzipped = readdirSync(served, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .reduce((sum, entry) => sum + gzipSync(readFileSync(join(entry.parentPath, entry.name))).length, 0);
console.log(`page: ${(gzipped / 1000).toFixed(0)} kB gzipped (limit ${LIMIT / 1000} kB)`);
if (gzipped > LIMIT) {
  console.error('the page is larger than it may be');
  process.exit(1);
}
