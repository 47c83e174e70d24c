// Figures of the page on one large table: how soon rows come, how far one can scroll, what it costs in memory.
import { readFileSync } from 'node:fs';

import { expect, Grid, openBrowser, openPage, please, until } from './stage.mjs';

const { WEB_URL, VIEWER_KEY, ROWS } = process.env;
const rows = Number(ROWS);
const ALL = `${rows.toLocaleString('en-GB')} rows`;
const PATIENCE = 120;
const JUMPS = 100;
/** The user on top while nothing is sorted. */
let first = '';

const browser = await openBrowser();
const { page, errors, context } = await openPage(browser, 'about:blank');
const grid = new Grid(page);
await page.addInitScript(watchTheGrid);
await page.goto(address('/'));
await until('the server has read all rows', () => page.$$eval('.count', ([count]) => count?.textContent.trim()), (text) => text === ALL, 300);

await firstRows('/', '', 1000);
await firstRows('/?sort=userId:asc', ', sorted');
await firstRows('/', ', again', 1000);
await scrolling();
await ordering();
expect(errors.length === 0, `no error in the console: ${errors.join(' | ')}`);
await browser.close();
console.log(JSON.stringify({ wish: 'done' }));
process.exit(0);

function address(path) {
  return `${WEB_URL}${path}#key=${encodeURIComponent(VIEWER_KEY)}`;
}

/** In the page: when it connected and first had rows, and what can be waited for, looked at once per frame. */
function watchTheGrid() {
  const cells = (column) =>
    [...document.querySelectorAll(`.ag-row .ag-cell[col-id="${column}"]`)]
      .map((cell) => [Number(cell.closest('.ag-row').getAttribute('row-index')), cell.textContent])
      .sort((a, b) => a[0] - b[0]);
  const settled = () => !document.querySelector('.count')?.textContent.startsWith('Asking');
  const holds = {
    top: (column, text) => settled() && cells(column)[0]?.join() === `0,${text}`,
    last: (index) => cells('userId').some(([at, text]) => at === index && text !== ''),
    counted: (pattern) => new RegExp(pattern).test(document.querySelector('.count')?.textContent ?? ''),
    filled: () => {
      const viewport = document.querySelector('.ag-grid-viewport');
      const box = viewport.getBoundingClientRect();
      const onScreen = [...viewport.querySelectorAll('.ag-row')].filter((row) => {
        const { top, bottom } = row.getBoundingClientRect();
        return bottom > box.top + 40 && top < box.bottom;
      });
      return onScreen.length > 10 && onScreen.every((row) => row.querySelector('.ag-cell[col-id=userId]')?.textContent);
    },
  };
  /** Milliseconds until it holds. An old picture that still fits does not count: two frames pass first. */
  window.millisecondsUntil = (name, ...how) =>
    new Promise((resolve) => {
      const began = performance.now();
      const look = () => (holds[name](...how) ? resolve(performance.now() - began) : requestAnimationFrame(look));
      requestAnimationFrame(() => requestAnimationFrame(look));
    });
  window.scrollGrid = (top) => document.querySelector('.ag-grid-viewport').scrollTo(0, top);
  const seen = (window.seen = {});
  const note = () => {
    const state = document.querySelector('.live')?.textContent;
    seen.connected ??= state && state.trim() !== 'Connecting' ? performance.now() : undefined;
    seen.rows ??= cells('userId')[0]?.[1] ? performance.now() : undefined;
    if (seen.rows === undefined || seen.connected === undefined) {
      requestAnimationFrame(note);
    }
  };
  note();
}

async function firstRows(path, how, limit) {
  await page.goto('about:blank');
  await page.goto(address(path));
  const { connected, rows: shown } = await until('the first rows', () => page.evaluate(() => window.seen), (seen) => seen.rows && seen.connected, PATIENCE);
  await figure(`from the page's address to the first rows${how}`, shown, 'ms');
  await figure(`from the connection to the first rows${how}`, Math.max(0, shown - connected), 'ms', limit);
}

async function scrolling() {
  await until('all rows are counted', () => grid.count(), (text) => text === ALL);
  first = (await grid.column('userId'))[0];
  const before = await memory();
  await figure('heap with the first rows', before.heap, 'MB');
  await figure('memory of the tab with the first rows', before.process, 'MB');
  await figure('to the last row', await scrolled(1e9, 'last', rows - 1), 'ms');
  await figure('and back to the first', await scrolled(0, 'top', 'userId', first), 'ms');
  const times = [];
  const height = await page.$eval('.ag-grid-viewport', ({ scrollHeight }) => scrollHeight);
  for (let jump = 0; jump < JUMPS; jump++) {
    times.push(await scrolled(Math.round(((jump * 7919) % JUMPS) * (height / JUMPS)), 'filled'));
  }
  times.sort((a, b) => a - b);
  await figure(`a jump to anywhere, median of ${JUMPS}`, times[JUMPS / 2], 'ms');
  await figure(`a jump to anywhere, 95 of 100`, times[Math.floor(JUMPS * 0.95)], 'ms');
  await figure(`a jump to anywhere, slowest of ${JUMPS}`, times.at(-1), 'ms');
  const after = await memory();
  await figure(`heap after ${JUMPS} jumps`, after.heap, 'MB', before.heap + 40);
  await figure(`memory of the tab after ${JUMPS} jumps`, after.process, 'MB', before.process + 100);
  await figure(`elements in the page after ${JUMPS} jumps`, after.elements, '', before.elements + 500);
  await grid.scrollTo(0);
}

async function ordering() {
  const highest = (rows - 0.5).toLocaleString('en-GB', { maximumFractionDigits: 1 });
  await figure('sort by balance, lowest first', await timed(() => grid.sort('balance'), 'top', 'balance', '0.5'), 'ms');
  await figure('sort by balance, highest first', await timed(() => grid.sort('balance'), 'top', 'balance', highest), 'ms');
  await figure('no sort again', await timed(() => grid.sort('balance'), 'top', 'userId', first), 'ms');
  await figure('sort by name', await timed(() => grid.sort('name'), 'top', 'name', 'user 0 of 1'), 'ms');
  await figure('quick filter in that order, one row matches', await timed(() => grid.search(`user ${rows - 1} of`), 'counted', '^1 of'), 'ms');
  await figure('quick filter in that order, a tenth matches', await timed(() => grid.search('9@example'), 'counted', '^[0-9,]{5,} of'), 'ms');
  await figure('no quick filter again', await timed(() => grid.search(''), 'counted', '^[0-9,]+ rows'), 'ms');
  await page.goto('about:blank');
  await page.goto(address('/'));
  await until('all rows are counted', () => grid.count(), (text) => text === ALL, PATIENCE);
  await figure('quick filter without a sort, a tenth matches', await timed(() => grid.search('9@example'), 'counted', '^[0-9,]{5,} of'), 'ms');
}

/** From a scroll to what it shows. */
function scrolled(top, ...condition) {
  return inTime(page.evaluate(([to, how]) => (window.scrollGrid(to), window.millisecondsUntil(...how)), [top, condition]), condition);
}

/** From a person's act, which the page is told of by the browser, to what it brings. */
async function timed(act, ...condition) {
  const began = performance.now();
  await act();
  await inTime(page.evaluate((how) => window.millisecondsUntil(...how), condition), condition);
  return performance.now() - began;
}

async function inTime(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not so within ${PATIENCE} s: ${what.join(' ')}`)), PATIENCE * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** What lives on after garbage was collected, and what the system says the tab's process takes. */
async function memory() {
  const session = await context.newCDPSession(page);
  await session.send('HeapProfiler.enable');
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  const whole = await browser.newBrowserCDPSession();
  const { processInfo } = await whole.send('SystemInfo.getProcessInfo');
  await whole.detach();
  const sizes = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => residentMegabytes(id));
  const elements = await page.evaluate(() => document.querySelectorAll('*').length);
  return { heap: Math.round(usedSize / 1e6), process: Math.max(...sizes), elements };
}

function residentMegabytes(pid) {
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [0, 0];
  return Math.round(Number(kilobytes) / 1000);
}

async function figure(name, value, unit, limit) {
  await please('figure', { name, value: Math.round(value), unit, ...(limit === undefined ? {} : { limit }) });
}
