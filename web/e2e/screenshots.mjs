// Pictures of every state, light and dark, into the folder that SHOTS names.
import { writeFileSync } from 'node:fs';

import { smallPng } from './small-png.mjs';
import { Grid, openBrowser, openPage, please, textOf, until } from './stage.mjs';

const { WEB_URL, VIEWER_KEY, OPERATOR_KEY, SHOTS } = process.env;
const address = (path) => `${WEB_URL}${path}#key=${encodeURIComponent(VIEWER_KEY)}`;
const DESK = { viewport: { width: 1120, height: 630 } };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
const BUILDING = { state: 'SWITCHING', progress: 'generation 3: 1,240,000 of 2,000,000 records, 15 s left' };

/** What is on the picture, where, and how to get there. */
const STATES = [
  ['key', DESK, WEB_URL, () => undefined],
  ['key-refused', DESK, `${WEB_URL}/#key=wrong`, (page) => until('the key is refused', () => page.$('.refused'))],
  ['joined', DESK, address('/?sort=balance:desc'), live],
  ['filtered', DESK, address('/?grid=users&filter=grace'), live],
  ['nothing-matches', DESK, address('/?filter=nobody'), live],
  ['column-filter', DESK, address('/'), columnFilter],
  ['viewer', DESK, address('/'), (page) => live(page).then(() => page.keyboard.press('p'))],
  ['topics', DESK, address('/'), (page) => operator(page).then(() => page.focus('#topic-users'))],
  ['plan', DESK, address('/'), plan],
  ['refused', DESK, address('/'), refused],
  ['building', DESK, address('/'), building],
  ['applied', DESK, address('/'), applied],
  ['switched', DESK, address('/'), switched],
  ['activity', DESK, address('/?grid=activity'), live],
  ['dead-letter', DESK, address('/?grid=dead_letters'), deadLetter],
  ['help', DESK, address('/'), (page) => live(page).then(() => page.keyboard.press('?'))],
  ['embedded', DESK, address('/embed/final_ui'), (page) => until('rows come', () => page.$('.ag-row .ag-cell'))],
  ['stale', DESK, address('/'), (page) => without(page, 'pipeline')],
  ['web-down', DESK, address('/'), (page) => without(page, 'web')],
  ['phone', PHONE, address('/'), live],
  ['phone-points', PHONE, address('/'), plan],
  ['phone-activity', PHONE, address('/?grid=activity'), live],
];
/** What a state left behind that the next must not see. */
const AFTERWARDS = {
  building: () => please('news', { status: {} }),
  stale: () => please('revive', { what: 'pipeline' }),
  'web-down': () => please('revive', { what: 'web' }),
};

const browser = await openBrowser();
for (const colorScheme of ['light', 'dark']) {
  for (const [name, options, url, prepare] of STATES) {
    const { page, context } = await openPage(browser, url, { ...options, colorScheme });
    await prepare(page);
    await page.waitForTimeout(800);
    writeFileSync(`${SHOTS}/${name}-${colorScheme}.png`, smallPng(await page.screenshot()));
    await context.close();
    await AFTERWARDS[name]?.();
  }
}
await browser.close();
console.log(JSON.stringify({ wish: 'done' }));
process.exit(0);

async function live(page) {
  await until('the page is live', () => page.$('.live.on'));
  if ((await page.$('pm-live-grid')) !== null) {
    await until('rows are counted', () => textOf(page, '.count'), (text) => /rows?$/.test(text));
  }
}

async function columnFilter(page) {
  await live(page);
  await new Grid(page).filter('balance', 'Greater than', '50000');
}

async function operator(page) {
  await please('linger');
  await live(page);
  await page.click('header button[aria-controls=points]');
  await page.fill('#operator-key', OPERATOR_KEY);
  await page.click('text=Unlock');
}

async function plan(page) {
  await operator(page);
  await page.fill('#topic-users', 'users.curated');
  await page.keyboard.press('Escape');
  await page.click('text=See the plan');
  await until('the plan comes', () => page.$('pm-points-panel .card ol'));
  await page.$eval('pm-points-panel .card:has(ol)', (card) => card.scrollIntoView({ block: 'nearest' }));
}

async function refused(page) {
  await operator(page);
  await page.fill('#topic-users', 'users.curatd');
  await page.keyboard.press('Escape');
  await page.click('text=See the plan');
  await until('it is refused', () => page.$('pm-points-panel .card.refusal'));
}

async function building(page) {
  await operator(page);
  await please('build', { number: 3 });
  await please('news', { status: BUILDING });
  await until('the build is followed', () => page.$('.card.following'));
  await until('its progress is told', () => textOf(page, 'pm-status-strip'), (text) => text.includes('records'));
}

async function applied(page) {
  await please('forget', { number: 3 });
  await operator(page);
  await page.click('.joins label:has-text("inner")');
  await page.click('text=Set the points');
  await until('the verdict comes', () => page.$('pm-points-panel .card.good'));
}

async function switched(page) {
  await live(page);
  const shown = await textOf(page, 'pm-status-strip dl > div:nth-child(2) dd');
  await page.waitForTimeout(1500);
  await please('publish', { number: shown === '1' ? 2 : 1 });
  await until('a notice comes', () => page.$('.notice'));
}

async function deadLetter(page) {
  await live(page);
  await until('letters come', () => page.$('.ag-row .ag-cell'));
  await page.dblclick('.ag-row .ag-cell');
}

async function without(page, what) {
  await live(page);
  await please('kill', { what });
  await until('the banner comes', () => page.$('.trouble'));
}
