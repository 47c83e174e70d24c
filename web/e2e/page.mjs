// The page in a real browser: rows, order, switches, hostile text, export, the points, healing, accessibility.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { expect, Grid, openBrowser, openPage, please, textOf, until } from './stage.mjs';

const { WEB_URL, VIEWER_KEY, OPERATOR_KEY, HOSTILE, SWITCHES = '30' } = process.env;
const address = (path) => `${WEB_URL}${path}#key=${encodeURIComponent(VIEWER_KEY)}`;
/** Two thousand, and the hostile ones once they were asked for. */
const ALL_ROWS = /^2,00[08] rows$/;
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');

const browser = await openBrowser();
try {
  await rowsAndOrder();
  await columnFilters();
  await overlayScrollbars();
  await hostileText();
  await switches();
  await thePoints();
  await newestFirst();
  await accessible();
  await embedded();
  await wrongKey();
  await topicsLate();
  await healing();
} finally {
  await browser.close();
}
console.log(JSON.stringify({ wish: 'done' }));
process.exit(0);

async function rowsAndOrder() {
  const { page, errors, context } = await openPage(browser, address('/'));
  const grid = new Grid(page);
  await until('the first rows come', () => grid.column('userId'), (ids) => ids.length > 10);
  expect(!page.url().includes('key='), 'the key is out of the address');
  await until('the rows are counted', () => grid.count(), (text) => ALL_ROWS.test(text));
  await grid.search('user 77');
  await until('the quick filter narrows on the server', () => grid.count(), (text) => /^\d+ of 2,00[08] rows$/.test(text));
  expect((await grid.column('name')).every((name) => name.includes('user 77')), 'every row matches');
  expect(page.url().includes('filter=user+77'), 'the filter can be shared');
  await grid.search('no such thing');
  await until('nothing matches, and it says so', () => page.textContent('.grid .over'), (text) => text === 'No row matches.');
  await grid.search('');
  await until('all rows are back', () => grid.count(), (text) => ALL_ROWS.test(text));
  await grid.sort('balance');
  await grid.sort('balance');
  await until('the highest balance is on top', () => grid.column('balance'), ([first]) => first === '1,999.5');
  expect(page.url().includes('sort=balance%3Adesc'), 'the sort can be shared');
  await page.reload();
  await until('a reload keeps the sort', () => grid.column('balance'), ([first]) => first === '1,999.5');
  await page.keyboard.press('2');
  await until('a key opens another table', () => page.textContent('.tab[aria-current]'), (text) => text.trim() === 'users');
  await until('its rows come', () => grid.column('email'), (cells) => cells.length > 10);
  expect(errors.length === 0, `no error in the console: ${errors.join(' | ')}`);
  await context.close();
}

async function overlayScrollbars() {
  for (const scrollbars of [true, false]) {
    const another = await openBrowser({ scrollbars });
    const { page } = await openPage(another, address('/'));
    const grid = new Grid(page);
    await until('the first rows come', () => grid.column('generation'), (cells) => cells.length > 10);
    expect((await grid.hiddenWidth()) < 1, `the last column is not under the scrollbar, ${scrollbars ? 'beside' : 'over'} the page`);
    await another.close();
  }
}

/** One column filter of each kind, set in the grid's own menus. */
async function columnFilters() {
  const { page, errors, context } = await openPage(browser, address('/?sort=userId:asc'));
  const grid = new Grid(page);
  await until('all rows are there', () => grid.count(), (text) => text === '2,000 rows');
  const filtered = async (column, choice, value, count) => {
    await grid.filter(column, choice, value);
    await until(`${column} ${choice.toLowerCase()} ${value}`, () => grid.count(), (text) => text === count);
    await grid.resetFilter();
    await until('and without it, all', () => grid.count(), (text) => text === '2,000 rows');
  };
  await filtered('name', 'Contains', 'USER 199', '11 of 2,000 rows');
  await filtered('email', 'Begins with', 'u7@', '1 of 2,000 rows');
  await filtered('balance', 'Less than', '10', '10 of 2,000 rows');
  await filtered('age', 'Equals', '20', '40 of 2,000 rows');
  await filtered('eventTime', 'Before', '2023-11-16', '1,995 of 2,000 rows');
  await filtered('eventTime', 'After', '2023-11-16', '5 of 2,000 rows');
  expect(errors.length === 0, `no error in the console: ${errors.join(' | ')}`);
  await context.close();
}

async function hostileText() {
  await please('hostile');
  const { page, errors, context } = await openPage(browser, address('/?filter=hostile'));
  const grid = new Grid(page);
  const texts = JSON.parse(HOSTILE);
  await until('the hostile rows come', () => grid.column('userId'), (ids) => ids.length === texts.length);
  for (const column of ['userId', 'name', 'email', 'accountType']) {
    const shown = await grid.column(column);
    expect(texts.every((text) => shown.some((cell) => text.startsWith(cell.replace(/…$/, '')))), `in ${column} each is shown as the text it is`);
  }
  await page.hover('.ag-cell[col-id=name]:has-text("<img")');
  await until('a tooltip shows it as text', () => textOf(page, '.ag-tooltip'), (text) => text === texts[0]);
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Export CSV')]);
  const csv = readFileSync(await download.path(), 'utf8');
  expect(csv.trimEnd().split('\r\n').length >= texts.length + 1, 'the export has what is filtered');
  expect(!/(^|,)"?[=+@-][a-zA-Z]/m.test(csv), 'no cell of the export starts a formula');
  expect(csv.split(`"'=cmd()`).length === 5, 'a formula is exported as text in every column');
  await page.keyboard.press('p');
  await until('a hostile verdict is text', () => textOf(page, 'pm-verdicts'), (text) => text.includes(texts[0]));
  await until('a hostile journal entry is text', () => textOf(page, 'pm-journal'), (text) => text.includes(texts[0]));
  await page.keyboard.press('4');
  await until('a hostile dead letter comes', () => grid.column('detail'), (cells) => cells.includes(texts[0]));
  await page.dblclick(`.ag-cell[col-id=detail]:has-text("<img")`);
  await until('its payload is text', () => textOf(page, 'pm-dead-letter pre'), (text) => text === texts[0]);
  expect((await page.$$('img[src=x], pm-root script, pm-root a')).length === 0, 'nothing became markup');
  expect(errors.length === 0, `nothing ran: ${errors.join(' | ')}`);
  await context.close();
}

async function switches() {
  const { page, errors, context } = await openPage(browser, address('/?sort=userId:asc'));
  const grid = new Grid(page);
  await until('rows come', () => grid.column('name'), (names) => names.length > 10);
  await grid.search('user');
  await until('the filter holds', () => grid.count(), (text) => text === '2,000 of 2,008 rows');
  await grid.scrollTo(9000);
  const before = { ids: await grid.settled('userId'), top: await grid.scrollTop() };
  expect(before.ids[0] !== 'u0', 'it has scrolled');
  await page.evaluate(() => (window.neverReloaded = true));
  let live = 1;
  for (let i = 0; i < Number(SWITCHES); i++) {
    live = 3 - live;
    await please('publish', { number: live });
    await until(`switch ${i + 1} is seen`, () => grid.column('name'), (names) => names.length > 10 && names.every((n) => n.endsWith(` of ${live}`)));
  }
  const after = { ids: await grid.settled('userId'), top: await grid.scrollTop() };
  expect(JSON.stringify(after) === JSON.stringify(before), `the same rows are on screen after all switches: ${JSON.stringify([before, after])}`);
  expect((await page.inputValue('.search input')) === 'user', 'the filter is still there');
  expect(await page.evaluate(() => window.neverReloaded), 'the page was never reloaded');
  await until('a notice told of the generation', () => page.textContent('.notice-place'), (text) => text.includes('Now showing generation'), 5);
  expect(errors.length === 0, `no error in the console: ${errors.join(' | ')}`);
  await context.close();
}

async function thePoints() {
  const { page, errors, context } = await openPage(browser, address('/'));
  await until('the status row comes', () => page.textContent('pm-status-strip'), (text) => text.includes('SERVING'));
  await page.keyboard.press('p');
  await until('the panel opens', () => page.$('pm-points-panel [role=combobox]'));
  expect(await page.isDisabled('#topic-users'), 'a viewer cannot edit the points');
  expect((await page.$('button.primary')) === null, 'a viewer has nothing to send with');
  await page.fill('#operator-key', OPERATOR_KEY);
  await page.click('text=Unlock');
  await page.fill('#topic-users', 'no.such.topic');
  await page.keyboard.press('Escape');
  await page.click('text=See the plan');
  await until('a refused topic is explained in the form', () => page.textContent('pm-points-panel'), (text) => text.includes("topic 'no.such.topic' does not exist"));
  await page.click('text=Undo');
  await page.click('.joins label:has-text("inner")');
  await page.click('text=See the plan');
  await until('the plan lists its steps', () => page.textContent('pm-points-panel .card ol'), (text) => text.includes('in one write'));
  await page.click('text=Set the points');
  await until('the verdict comes', () => page.textContent('pm-points-panel .card.good'), (text) => text.includes('applied'));
  await until('the verdict is in the list', () => page.textContent('pm-verdicts'), (text) => text.includes('applied'));
  await please('linger');
  await page.click('button:has-text("Roll back")');
  await until('a roll back is answered', () => page.$$('pm-verdicts li.applied'), (verdicts) => verdicts.length >= 2);
  const kept = await page.evaluate(() => JSON.stringify(localStorage) + document.cookie + location.href);
  expect(!kept.includes(OPERATOR_KEY) && !kept.includes(VIEWER_KEY), 'no key is kept beyond the tab');
  expect(errors.length === 0, `no error in the console: ${errors.join(' | ')}`);
  await context.close();
}

/** What happened last is on top: the hostile ones came after five dead letters, and before the verdicts of the form. */
async function newestFirst() {
  const { page, errors, context } = await openPage(browser, address('/?grid=activity'));
  const texts = (selector) => page.$$eval(selector, (found) => found.map(({ textContent }) => textContent));
  const hostile = JSON.parse(HOSTILE)[0];
  await until('the newest verdict is on top', () => texts('pm-verdicts .outcome'), (all) => all[0] === 'applied' && all.at(-1) === 'refused');
  await until('the newest entry is on top', () => texts('pm-journal .text'), (all) => JSON.stringify(all) === JSON.stringify([hostile, 'before all that']));
  await page.keyboard.press('4');
  await until('the newest dead letter is on top', () => new Grid(page).column('offset'), (all) => all.join(' ') === '1,000 4 3 2 1 0');
  expect(errors.length === 0, `no error in the console: ${errors.join(' | ')}`);
  await context.close();
}

async function accessible() {
  for (const colorScheme of ['light', 'dark']) {
    const { page, context } = await openPage(browser, address('/'), { colorScheme, bypassCSP: true });
    await until('the page is live', () => page.$('.live.on'));
    await page.evaluate(axeSource);
    for (const [view, key] of [['activity', '5'], ['dead letters', '4'], ['joined', '1'], ['points', 'p']]) {
      await page.keyboard.press(key);
      await page.waitForTimeout(500);
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
      const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
      const told = serious.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)} ${nodes[0].failureSummary}`);
      expect(serious.length === 0, `axe finds nothing serious in ${view}, ${colorScheme}: ${told.join(' | ')}`);
    }
    await context.close();
  }
}

async function embedded() {
  const { page, errors, context } = await openPage(browser, address('/embed/accounts_ui'));
  const grid = new Grid(page);
  await until('a single grid has rows', () => grid.column('accountType'), (cells) => cells.length > 10);
  expect((await page.$('header')) === null, 'and nothing else');
  expect(errors.length === 0, `no error in the console: ${errors.join(' | ')}`);
  await context.close();
}

async function wrongKey() {
  const { page, context } = await openPage(browser, `${WEB_URL}/#key=wrong`);
  await until('a wrong key is refused in words', () => page.textContent('pm-root'), (text) => text.includes('does not accept this key'));
  await page.fill('#viewer-key', VIEWER_KEY);
  await page.keyboard.press('Enter');
  await until('the right one opens the page', () => new Grid(page).column('userId'), (ids) => ids.length > 10);
  await context.close();
}

/** The panel of the points is opened while nobody can tell it the topics. */
async function topicsLate() {
  const { page, errors, context } = await openPage(browser, address('/'));
  await until('the page is live', () => page.$('.live.on'));
  await please('kill', { what: 'web' });
  await page.keyboard.press('p');
  const problem = () => textOf(page, 'pm-points-panel .problem');
  await until('the panel says that it has no topics, and asks again', problem, (text) => text.includes('topics cannot be listed') && text.includes('Asking again'));
  await please('revive', { what: 'web' });
  await until('the topics come', problem, (text) => text === '');
  expect(errors.length === 0, `no error in the console: ${errors.join(' | ')}`);
  await context.close();
}

async function healing() {
  const { page, errors, context } = await openPage(browser, address('/?filter=user&sort=userId:asc'));
  const grid = new Grid(page);
  await until('the page is live', () => page.$('.live.on'));
  await until('rows come', () => grid.column('userId'), (ids) => ids.length > 10);
  await grid.scrollTo(6000);
  const before = await grid.settled('userId');
  expect(before[0] !== 'u0', 'it has scrolled');
  await page.evaluate(() => (window.neverReloaded = true));
  for (const [what, banner] of [
    ['pipeline', 'No heartbeat from the pipeline'],
    ['web', 'The web server does not answer'],
    ['tables', 'The tables server does not answer'],
  ]) {
    await please('kill', { what });
    await until(`within 10 s a banner tells of the ${what}`, () => page.textContent('pm-banner'), (text) => text.includes(banner), 10);
    await please('revive', { what });
    await until(`the page heals after the ${what}`, () => page.textContent('pm-banner'), (text) => !text.includes(banner), 30);
    await until('it is live again', () => page.$('.live.on'));
  }
  await until('the same rows are on screen', () => grid.column('userId'), (ids) => JSON.stringify(ids) === JSON.stringify(before));
  await until('the rows are counted', () => grid.count(), (text) => text === '2,000 of 2,008 rows');
  await please('stranger');
  await until('a row that the filter hides is counted', () => grid.count(), (text) => text === '2,000 of 2,009 rows');
  await please('publish', { number: 2 });
  await until('the healed page follows a switch', () => grid.column('name'), (names) => names.every((name) => name.endsWith(' of 2')));
  expect(await page.evaluate(() => window.neverReloaded), 'the page was never reloaded');
  expect(errors.length === 0, `no error in the console: ${errors.join(' | ')}`);
  await context.close();
}
